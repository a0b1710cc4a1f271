"""The shape of `claude_agent_sdk`, for a host that is built on it.

The rule it keeps: what claude_agent_sdk.types of 0.2.182 declares, and nothing more. The package itself is some
hundred megabytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class PermissionResultAllow:
    behavior: str = "allow"
    updated_input: dict[str, Any] | None = None
    updated_permissions: list[Any] | None = None


@dataclass
class PermissionResultDeny:
    behavior: str = "deny"
    message: str = ""
    interrupt: bool = False
