"""The agents that speak the Agent Client Protocol, and in what they differ: data, in this one table.

Rule: nothing outside this file names one of them. A row says only what was seen on the version it names; an agent
without a row is `OTHER`, for which nothing is assumed. How to add one: docs/how-to/add-an-agent.md.
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from yourcall.model.prompts import Kind

# What yourcall calls a mode -> the same, for an agent that calls it so, too.
PLAIN_MODES = {"default": "default", "manual": "default", "plan": "plan"}


class Row(Struct, frozen=True):
    """One agent.

    `name`: what it is called in yourcall; `info`: what it calls itself when it is asked. `program` and `arguments`
    start it. `install`, `sign_in`: what a person does if it is missing, or not signed in.
    `modes`: what yourcall calls a mode -> the agent's own id of it. `read_only`: the one of those in which it only
    reads.
    `command`: where in a call's raw input the exact command stands; empty: it does not tell it exactly.
    `folder`: where the folder stands that the command runs in, if not the session's own.
    `unboxed`: what in the raw input says that the command leaves the agent's sandbox.
    `for_session`: options it calls `allow_always` that end with the session.
    `reason`: where the raw input says what a command is for.
    `stops`: options that refuse and end the turn, too.
    `queues`: an instruction given while it works waits for its turn; else it would end the turn that runs.
    `replays_until`: the update that ends the replay of a loaded session, if the reply to the load does not.
    `mode_echo`: how a message begins that only tells of another mode.
    `plan_title`: how the title of a call begins that asks for approval of a plan in the file it goes on to name.
    `tool_ends`: what stands behind the tool's name in the id of a call.
    `noise`: how messages begin that a replay tells and nobody said.
    `asks`: the kinds of prompt that were seen, besides the end of a turn.
    """

    name: str
    title: str
    program: str = ""
    arguments: tuple[str, ...] = ()
    info: str = ""
    tested: str = ""
    install: str = ""
    sign_in: str = ""
    modes: dict[str, str] = field(default_factory=lambda: dict(PLAIN_MODES))
    read_only: str = ""
    command: str = ""
    folder: str = ""
    unboxed: str = ""
    reason: str = ""
    for_session: frozenset[str] = frozenset()
    stops: frozenset[str] = frozenset()
    queues: bool = False
    replays_until: str = ""
    mode_echo: str = ""
    plan_title: str = ""
    tool_ends: str = ""
    noise: tuple[str, ...] = ()
    asks: tuple[Kind, ...] = ("permission",)

    def own(self, what: str, value: str) -> str:
        """What the agent calls a mode that we call by another name; anything else is called alike."""
        return self.modes.get(value, value) if what == "mode" else value


ROWS = (
    Row(
        name="gemini-acp",
        title="Gemini CLI",
        program="gemini",
        arguments=("--acp",),
        info="gemini-cli",
        tested="0.61.0",
        install="npm install -g @google/gemini-cli",
        sign_in="Run `gemini` once in a terminal and sign in there.",
        modes={**PLAIN_MODES, "acceptEdits": "autoEdit", "bypassPermissions": "yolo"},
        read_only="plan",
        for_session=frozenset({"proceed_always", "proceed_always_server", "proceed_always_tool"}),
        replays_until="available_commands_update",
        mode_echo="[MODE_UPDATE] ",
        plan_title="Requesting plan approval for: ",
        tool_ends="__",
        noise=("<session_context>", "[Function Response: "),
        asks=("permission", "plan"),
    ),
    Row(
        name="claude-agent-acp",
        title="Claude Agent",
        program="claude-agent-acp",
        info="@agentclientprotocol/claude-agent-acp",
        tested="0.49.0",
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        sign_in="Run `claude` once in a terminal and sign in there.",
        modes={
            **PLAIN_MODES,
            "acceptEdits": "acceptEdits",
            "dontAsk": "dontAsk",
            "auto": "auto",
            "bypassPermissions": "bypassPermissions",
        },
        read_only="plan",
        command="command",
        unboxed="dangerouslyDisableSandbox",
        reason="description",
        queues=True,
        asks=("permission", "question", "plan", "elicitation"),
    ),
    Row(
        name="codex-acp",
        title="Codex",
        program="codex-acp",
        info="codex-acp",
        tested="0.16.0",
        install="npm install -g @zed-industries/codex-acp",
        sign_in="Run `codex login` in a terminal.",
        modes={
            "default": "read-only",
            "manual": "read-only",
            "acceptEdits": "auto",
            "bypassPermissions": "full-access",
        },
        read_only="default",
        command="command",
        folder="cwd",
        reason="reason",
        stops=frozenset({"abort"}),
    ),
    Row(
        name="opencode",
        title="opencode",
        program="opencode",
        arguments=("acp",),
        info="OpenCode",
        tested="1.18.33",
        install="npm install -g opencode-ai",
        sign_in="Run `opencode auth login` in a terminal.",
        modes={"default": "build", "manual": "build", "plan": "plan"},
        read_only="plan",
        command="command",
        folder="cwd",
        reason="description",
        stops=frozenset({"reject"}),
    ),
    Row(
        name="qwen",
        title="Qwen Code",
        program="qwen",
        arguments=("--acp",),
        info="qwen-code",
        tested="0.15.10",
        install="npm install -g @qwen-code/qwen-code",
        sign_in="Run `qwen` once in a terminal and sign in there.",
        modes={**PLAIN_MODES, "acceptEdits": "auto-edit", "bypassPermissions": "yolo"},
        read_only="plan",
        command="command",
        folder="directory",
        reason="description",
    ),
    Row(
        name="kilo",
        title="Kilo Code",
        program="kilo",
        arguments=("acp",),
        info="Kilo",
        tested="7.7.7",
        install="npm install -g @kilocode/cli",
        sign_in="Run `kilo auth login` in a terminal.",
        modes={"default": "code", "manual": "code", "plan": "plan"},
        read_only="plan",
        command="command",
        folder="cwd",
        reason="description",
        stops=frozenset({"reject"}),
    ),
)

OTHER = Row(name="acp", title="the agent")


def named(word: str) -> Row | None:
    """The row a person means: by its name, or by its program."""
    return next((row for row in ROWS if word in (row.name, row.program)), None)


def of_program(program: str) -> Row:
    """The row for a command that a person typed; what it says of itself later on counts for more."""
    name = program.rsplit("/", 1)[-1]
    return next((row for row in ROWS if row.program == name), OTHER)


def introduced(info: str, title: str, guess: Row) -> Row:
    """The row of an agent that has said who it is; one that nobody has looked at goes by the title it gives."""
    unknown = replace(OTHER, title=title or OTHER.title)
    return next((row for row in ROWS if info and row.info == info), guess if not info else unknown)
