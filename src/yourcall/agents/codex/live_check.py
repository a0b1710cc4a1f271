"""How Codex is proved in a sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from yourcall.agents.live_spec import LiveCheck, Place
from yourcall.agents.model_turns import Block, either, text, tool

_CONFIG = """model = "gpt-5.5"
model_provider = "scripted"
{policy}check_for_update_on_startup = false
suppress_unstable_features_warning = true

[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[model_providers.scripted]
name = "scripted"
base_url = "{model}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[features]
default_mode_request_user_input = true
request_permissions_tool = true

[mcp_servers.demo]
command = {command}
args = {arguments}

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
"""
# What settles the question whether a folder is trusted.
_POLICY = 'approval_policy = "on-request"\nsandbox_mode = "workspace-write"\n'


def _files(place: Place, *, trusted: bool) -> Mapping[str, str]:
    config = _CONFIG.format(
        policy=_POLICY if trusted else "",
        model=place.model,
        command=json.dumps(place.server[0]),
        arguments=json.dumps(place.server[1:]),
    )
    trust = f'\n[projects.{json.dumps(place.project)}]\ntrust_level = "trusted"\n'
    return {".codex/config.toml": config + (trust if trusted else "")}


def _question(text: str, labels: Sequence[str]) -> Block:
    options = [{"label": label, "description": f"About {label}."} for label in labels]
    asked = {"id": "pick", "header": "Pick", "question": text, "options": options}
    return tool("request_user_input", questions=[asked])


def _command(command: str) -> Block:
    """One that has to be asked for; older versions call the tool `shell`."""
    why = "Allow this command to run outside the sandbox?"
    new = tool("exec_command", cmd=command, sandbox_permissions="require_escalated", justification=why)
    old = tool("shell", command=["bash", "-c", command], with_escalated_permissions=True, justification=why)
    return either(new, old)


CHECKS = (
    LiveCheck(
        "codex",
        "responses",
        lambda place: _files(place, trusted=True),
        lambda place: {"CODEX_HOME": f"{place.home}/.codex", "SCRIPTED_KEY": "dummy"},
        ready=r"\? for shortcuts|\d% context left|(?m:^  gpt-\S+ \S+ · )",
        command=_command,
        question=_question,
        plan=lambda plan: ((text(f"<proposed_plan>\n{plan}\n</proposed_plan>"),),),
        form=((tool("mcp__demo/book_table"),),),
        untrusted=lambda place: _files(place, trusted=False),
        planning_keys=("BTab",),
        config=lambda place: f'[codex]\nhomes = ["{place.home}/.codex"]\n',
        first=(("Hooks need review", ("2", "Enter")),),
    ),
)
