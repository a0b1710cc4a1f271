"""For all tests: a busy machine makes a test slow, never red; chance is for `make soak`, which explores anew."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ours",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("YOURCALL_SOAK") != "1",
)
settings.load_profile("ours")
