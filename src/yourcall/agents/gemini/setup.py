"""The hooks we add to Gemini CLI's settings: the file's text in, its text out; and how to take them out again.

Rule: every hook informs and returns at once; none ever holds or answers anything. Every character that is not ours
stays as it is, comments too: `remove(add(text))` is `text`.
"""

from __future__ import annotations

from yourcall.agents.kit import hook_settings, json_edit
from yourcall.agents.kit import setup as kit
from yourcall.agents.kit.hook_settings import Hook
from yourcall.agents.kit.json_edit import Node
from yourcall.agents.setup_spec import Edited, Finding, Version
from yourcall.model.prompts import Refused

AGENT = "gemini"
NAME = "yourcall"

# Hooks are on by default, and called as measured, in this version; 0.28.2 has them under another switch.
OLDEST: Version = (0, 45, 0)

# No hook comes when a tool is over: the chat file tells the end of a call, and tells a refusal too.
EVENTS = ("SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "Notification")

# Calls that never ask anybody, so nothing needs to be told of them. Each hook costs the CLI some milliseconds.
SILENT = (
    "read_file",
    "read_many_files",
    "list_directory",
    "glob",
    "grep_search",
    "search_file_content",
    "google_web_search",
    "update_topic",
    "write_todos",
    "complete_task",
)
MATCHERS = {"BeforeTool": f"^(?!({'|'.join(SILENT)})$)"}

# The launcher answers within milliseconds; this bounds a machine that hangs. In this CLI it is in milliseconds.
INFORM_MS = 10_000

_AGAIN = "Run `yourcall setup gemini`."


def wanted(launcher: str) -> dict[str, Hook]:
    """The hook for each event. Its name is what the CLI shows while it runs."""
    return kit.informing(launcher, EVENTS, AGENT, INFORM_MS, NAME)


def add(text: str | None, launcher: str, versions: list[Version]) -> Edited | Refused:
    """The settings with our hooks; ours of another home or form are replaced."""
    # The CLI puts values in place of $GEMINI_… before the shell sees the command.
    if refused := kit.refused(_too_old(versions), launcher, forbidden="$"):
        return refused
    ours = wanted(launcher)
    notes: tuple[str, ...] = ()
    plain: str | None = None
    if text is not None and not hook_settings.is_blank(text):
        root = _parse(text)
        if isinstance(root, Refused):
            return root
        plain = hook_settings.uncommented(text)
        notes = tuple(f"{finding.says} {finding.do}" for finding in _blocking(plain, root))
        if kit.as_wanted(hook_settings.entries(plain, root), ours, MATCHERS):
            return Edited(text, False, notes)
        text = hook_settings.cut_out(text, root, plain)
    plain = hook_settings.uncommented(text) if text is not None else None
    new = hook_settings.put_in(text, ours, MATCHERS, plain)
    return new if isinstance(new, Refused) else Edited(new, True, notes)


def remove(text: str | None) -> Edited | Refused:
    """The settings without our hooks, whichever home they point to."""
    return kit.remove(text, comments=True)


def check(text: str | None, launcher: str, versions: list[Version]) -> list[Finding]:
    """What is wrong with our hooks in these settings; empty when prompts will reach us."""
    old = _too_old(versions)
    if old is not None:
        return [old]
    wished = wanted(launcher)
    return kit.check(
        hook_settings.uncommented(text) if text is not None else None,
        "Gemini CLI",
        _AGAIN,
        _blocking,
        lambda ours: kit.faults(ours, wished, launcher, _AGAIN, MATCHERS),
    )


def blocked(text: str | None) -> list[Finding]:
    """What in these settings (of any scope, or the administrator's) keeps hooks from running at all."""
    return kit.blocked(text, _blocking, comments=True)


def _parse(text: str) -> Node | Refused:
    return hook_settings.parse(hook_settings.uncommented(text))


def _too_old(versions: list[Version]) -> Finding | None:
    says = "was not tried with hooks; {} was the first."
    do = "Update it, or name the one you use with --cli. Without hooks its dialogs are still read in tmux."
    return kit.too_old("Gemini CLI", versions, OLDEST, says, do)


def _blocking(text: str, root: Node) -> list[Finding]:
    config = json_edit.member(root, "hooksConfig")
    if config is None or config.kind != "object":
        return []
    findings: list[Finding] = []
    enabled = json_edit.member(config, "enabled")
    if enabled is not None and text[enabled.start : enabled.end] == "false":
        says = "`hooksConfig.enabled` is false, so Gemini CLI calls no hook at all."
        findings.append(Finding("disabled", says, "Take it out of the settings to get prompts here."))
    disabled = json_edit.member(config, "disabled")
    names = disabled.items if disabled is not None and disabled.kind == "array" else ()
    if any(item.kind == "string" and json_edit.string(text[item.start : item.end]) == NAME for item in names):
        says = f"`hooksConfig.disabled` names {NAME}, so Gemini CLI does not call our hooks."
        findings.append(
            Finding("disabled", says, "Take it out there, or say /hooks enable yourcall in Gemini CLI.")
        )
    return findings
