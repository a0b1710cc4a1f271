"""The client that blocks: what waits, answering it, and raising a hand.

Rule: a question is asked once, under an id of our own; whatever ends the wait for its answer withdraws it.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import msgspec

from yourcall.agents.kit.prompts import LETTERS
from yourcall.cli.views import Prompt, Result, Session
from yourcall.client.connection import PATIENCE, Wire
from yourcall.client.messages import (
    Answered,
    Asked,
    Choice,
    Interrupted,
    News,
    NotAnswered,
    NotRunning,
    Refused,
    Withdrawn,
    YourcallError,
    read,
)

HOLD = 20.0  # one wait; shorter than any proxy's patience
AGAIN = 0.5


class Yourcall(Wire):
    """A daemon: the one in `home` (`$YOURCALL_HOME`, or `~/.yourcall`), or at `url` with a device's `token`."""

    # --- what waits, and answering it -----------------------------------------------------------------------

    def prompts(self) -> list[Prompt]:
        """What waits now, in the order of every list: what blocks an agent first, then by age."""
        return read(self.call("GET", "/api/prompts"), list[Prompt])

    def prompt(self, id: str) -> Prompt:
        return read(self.call("GET", f"/api/prompts/{quote(id, safe='')}"), Prompt)

    def sessions(self) -> list[Session]:
        return read(self.call("GET", "/api/sessions"), list[Session])

    def answer(
        self,
        id: str,
        option: str | None = None,
        *,
        text: str | None = None,
        choices: Mapping[str, Sequence[str]] | None = None,
        texts: Mapping[str, str] | None = None,
        input: Mapping[str, Any] | None = None,
        wait: float = 10.0,
    ) -> Result:
        """Answer a prompt and stay for up to `wait` seconds; `result` says what became of it."""
        body: dict[str, Any] = {"wait": min(wait, 60.0), "choices": choices or {}, "texts": texts or {}}
        given = {"option": option, "text": text, "input": input}
        body |= {name: value for name, value in given.items() if value is not None}
        return read(self.call("POST", f"/api/prompts/{quote(id, safe='')}/answer", body, wait + PATIENCE), Result)

    def watch(self, after: int | None = None) -> Iterator[News]:
        """Every change as it happens, for ever; with `after`, everything since that number first."""
        while True:
            try:
                for message in self.feed(after):
                    after, one = heard(message, after)
                    if one is not None:
                        yield one
            except NotRunning:
                if after is None:
                    raise  # at the very start that is said; later on it comes back
            time.sleep(AGAIN)

    # --- raising a hand -------------------------------------------------------------------------------------

    def ask(
        self,
        question: str,
        options: Sequence[str | Choice] = (),
        *,
        text: bool = False,
        multi: bool = False,
        body: str = "",
        name: str = "",
        timeout: float | None = None,
        **more: Any,
    ) -> Answered:
        """Ask, and wait for the answer. `text`: a free answer will do. Whatever ends the wait withdraws it."""
        request = self.raise_hand(question, options, text=text, multi=multi, body=body, name=name, **more)
        return self.wait(request, timeout)

    def raise_hand(
        self,
        question: str,
        options: Sequence[str | Choice] = (),
        *,
        text: bool = False,
        multi: bool = False,
        body: str = "",
        name: str = "",
        attended: bool = True,
        **more: Any,
    ) -> dict[str, Any]:
        """Ask without waiting; what is returned is waited for with `wait`. `attended=False`: nobody will."""
        request: dict[str, Any] = {
            "question": question,
            "options": msgspec.to_builtins(list(options)),
            "free_text": text or not options,
            "multi_select": multi,
            "body": body,
            "name": name,
            "cwd": _folder(),
            "id": "".join(secrets.choice(LETTERS) for _ in range(10)),
            "attended": attended,
            **more,
        }
        try:
            self.call("POST", "/api/asks", request)
        except (NotRunning, Refused):
            raise
        except BaseException:
            self.withdraw(str(request["id"]))  # it may have been asked all the same
            raise
        return request

    def wait(
        self, wish: Mapping[str, Any], timeout: float | None = None, away: Callable[[bool], None] = lambda _: None
    ) -> Answered:
        """The answer to a raised hand. `away` is told when the daemon goes away, and when it is back."""
        deadline = None if timeout is None else time.monotonic() + timeout
        gone = False
        try:
            while True:
                left = HOLD if deadline is None else min(HOLD, deadline - time.monotonic())
                if left <= 0:
                    raise NotAnswered("Nobody answered in time; the question was withdrawn.")
                try:
                    asking = self.look(wish, left)
                except (NotRunning, Interrupted):
                    if not gone:
                        away(True)
                    gone = True
                    time.sleep(AGAIN)
                    continue
                if gone:
                    away(False)
                    gone = False
                if asking.state != "waiting":
                    return self.take(asking)
        except BaseException as error:
            if not isinstance(error, Withdrawn):
                self.withdraw(str(wish["id"]))
            raise

    def look(self, wish: Mapping[str, Any], hold: float = 0.0) -> Asked:
        """How a raised hand stands, after at most `hold` seconds; a daemon that forgot it is asked anew."""
        path = f"/api/asks/{wish['id']}/wait"
        try:
            return read(self.call("POST", path, {"wait": hold}, hold + PATIENCE), Asked)
        except Refused as error:
            if error.status != 404:
                raise
        return read(self.call("POST", "/api/asks", dict(wish)), Asked)

    def asked(self, id: str, hold: float = 0.0) -> Asked:
        """How the question with this id stands."""
        return read(self.call("POST", f"/api/asks/{quote(id, safe='')}/wait", {"wait": hold}), Asked)

    def take(self, asked: Asked) -> Answered:
        """The answer, once the daemon knows that we have it."""
        given = asked.answer
        if given is None:
            raise Withdrawn(f"Nobody answered: {asked.detail or 'the question was withdrawn'}.")
        if asked.prompt.state != "confirmed":
            with suppress(NotRunning, Interrupted):  # we have it all the same; on record it stays unproven
                self.call("POST", f"/api/asks/{asked.id}/taken", {"answer": given.id})
        return Answered(given.id, given.by, given.options, given.text, given.input)

    def withdraw(self, id: str) -> None:
        """Take a question back; if the daemon is not there, it will see by itself that nobody waits."""
        with suppress(YourcallError):
            self.call("DELETE", f"/api/asks/{quote(id, safe='')}")


def heard(message: dict[str, Any], after: int | None) -> tuple[int | None, News | None]:
    """Where the feed goes on after this message, and the news in it."""
    if message.get("type") in ("prompt", "session"):
        return int(message["seq"]), read(message, News)
    # A hello that promises what was missed names the end of it: until that came, we are not there.
    return (int(message["seq"]) if message.get("snapshot") else after), None


def _folder() -> str:
    try:
        return os.getcwdb().decode("utf-8", "replace")  # a name may be no text, and the question is one
    except OSError:
        return ""
