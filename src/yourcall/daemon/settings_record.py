"""Changes of rules, channels and paired people that nobody told us of: compared with what is on record.

Who changes a rule or a channel through the API is recorded there, by name. A file can also be edited by hand, by
`yourcall pause`, or while no daemon runs, and Telegram pairs people by itself.

Rule: the last recorded state of an area is what it is compared with, so a change is recorded once, and also if it
was made while we did not run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from yourcall.daemon.rules.lazy_rules import FILE, PAUSED
from yourcall.daemon.rules.organisation import FILE as ORGANISATION
from yourcall.daemon.rules.organisation import KEY, SIGNATURE, folder_of
from yourcall.model.events import SettingsChanged

log = logging.getLogger(__name__)

LOOK_S = 1.0
LONGEST_DETAIL = 500

Area = Literal["rules", "pause", "channels", "people", "policy"]


class Journal(Protocol):
    def note(self, event: SettingsChanged, /) -> object: ...
    def settings_log(self, before: int | None, limit: int, /) -> list[tuple[int, SettingsChanged]]: ...


class _PausedBy(Struct, frozen=True):
    by: str = ""


def rules_state(home: Path) -> str:
    """A digest of the rules file; empty if there is none."""
    try:
        return sha256((home / FILE).read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def organisation_state(home: Path) -> str:
    """A digest of an organisation's key and rules; empty if none holds here."""
    folder = folder_of(home)
    if folder is None:
        return ""
    told = sha256()
    for name in (KEY, ORGANISATION, SIGNATURE):
        try:
            told.update((folder / name).read_bytes())
        except OSError as error:
            told.update(str(error.errno).encode())
    return told.hexdigest()


def pause_state(home: Path) -> str:
    return "paused" if (home / PAUSED).exists() else ""


def listed(names: Mapping[str, str]) -> str:
    """Channels with their kinds, or people with their names, as one string that can be read again."""
    return msgspec.json.encode(dict(sorted(names.items()))).decode() if names else ""


def _unknown() -> Mapping[str, str] | None:
    return None


class SettingsRecord:
    """`channels`: each configured channel's kind, by name. `people`: the name of each paired person, by
    `channel/id`. None: that is not known now, and nothing is compared."""

    def __init__(self, home: Path, journal: Journal) -> None:
        self.channels: Callable[[], Mapping[str, str] | None] = _unknown
        self.people: Callable[[], Mapping[str, str] | None] = _unknown
        self._home = home
        self._journal = journal
        self._changing = 0
        self._known: dict[str, str] = {}
        for _, event in reversed(journal.settings_log(None, -1)):
            self._known[event.area] = event.state

    async def run(self) -> None:
        while True:
            try:
                if not self._changing:
                    self.look()
            except Exception:  # the record of settings must not stop the daemon; the next look tries again
                log.exception("changed settings could not be recorded")
            await asyncio.sleep(LOOK_S)

    @contextmanager
    def changing(self) -> Generator[None]:
        """While a change is under way whose author is known: whoever makes it records it."""
        self._changing += 1
        try:
            yield
        finally:
            self._changing -= 1

    def state(self, area: str) -> str:
        """How the area stood when a change of it was last recorded."""
        return self._known.get(area, "")

    def note(self, event: SettingsChanged) -> object:
        """Record a change that was told to us; the next look finds nothing new."""
        self._known[event.area] = event.state
        return self._journal.note(event)

    def look(self) -> None:
        if self._new("rules", rules := rules_state(self._home)):
            what = "changed" if "rules" in self._known else "found"
            self._changed("rules", what, FILE, "a file", "", rules)
        if self._new("pause", pause := pause_state(self._home)):
            what, by = ("paused", self._paused_by()) if pause else ("resumed", "a file")
            self._changed("pause", what, "rules", by, "", pause)
        if self._new("policy", signed := organisation_state(self._home)):
            self._changed("policy", "changed" if signed else "removed", "organisation", "a file", "", signed)
        self.compare_channels("a file")
        self.compare_people("the channel")

    def compare_channels(self, by: str) -> None:
        self._compare("channels", self.channels(), "added", "removed", by)

    def channel_changed(self, name: str, by: str) -> None:
        """Its settings are others now; they may hold secrets, so they are not recorded."""
        self._changed("channels", "changed", name, by, "", self._known.get("channels", ""))

    def compare_people(self, by: str) -> None:
        self._compare("people", self.people(), "paired", "unpaired", by)

    def _compare(self, area: Area, now: Mapping[str, str] | None, came: str, went: str, by: str) -> None:
        if now is None or not self._new(area, state := listed(now)):
            return
        before = _read_listed(self._known.get(area, ""))
        for name in sorted(now.keys() - before.keys()):
            self._changed(area, came, name, by, now[name], state)
        for name in sorted(before.keys() - now.keys()):
            self._changed(area, went, name, by, before[name], state)
        for name in sorted(name for name in now.keys() & before.keys() if now[name] != before[name]):
            self._changed(area, "changed", name, by, now[name], state)

    def _new(self, area: Area, state: str) -> bool:
        return self._known.get(area, "") != state

    def _changed(self, area: Area, what: str, about: str, by: str, detail: str, state: str) -> None:
        self.note(SettingsChanged(time.time(), area, what, about, by, detail[:LONGEST_DETAIL], state))

    def _paused_by(self) -> str:
        try:
            found = msgspec.json.decode((self._home / PAUSED).read_bytes(), type=_PausedBy)
        except (OSError, ValueError):
            return "a file"
        return found.by[:100] or "a file"


def _read_listed(state: str) -> dict[str, str]:
    try:
        return msgspec.json.decode(state or "{}", type=dict[str, str])
    except ValueError:
        return {}
