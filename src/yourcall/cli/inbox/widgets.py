"""The pieces of the inbox that are widgets of their own: the rows, the field to write in, the list of keys.

Rule: none of them knows the daemon; they say what happened, and the app decides.
"""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from yourcall.cli.inbox import card
from yourcall.cli.terminal.render import clip
from yourcall.cli.views import Prompt
from yourcall.core.option_keys import uniform

_KEYS = """\
j k ↓ ↑        another prompt; g G the first, the last
its key        answer, or mark in a form
← → h l Space  point at an answer, and choose it
t              write: an answer, or why not
e              edit the command before you allow it
Tab            the next question of a form
Enter          send what is filled in; go on to the next
y              yes, where it asks again

PgDn PgUp      read on and back; also Ctrl-D, Ctrl-U
r              as it was sent, without our layout
z              the card alone, or with the queue
p              look at the session's own terminal
o              go there: to its tmux pane
q              leave; nothing is answered by leaving"""


class Rows(Static):
    """The queue, two lines each; a click chooses."""

    class Chosen(Message):
        def __init__(self, prompt_id: str) -> None:
            super().__init__()
            self.prompt_id = prompt_id

    _ids: tuple[str, ...] = ()

    def draw(self, prompts: list[Prompt], at: str, room: int, risks: dict[str, str]) -> None:
        self._ids = tuple(prompt.id for prompt in prompts)
        text = Text(no_wrap=True)
        for number, prompt in enumerate(prompts):
            text.append("\n" if number else "")
            text.append(card.row(prompt, room, risks.get(prompt.id, ""), here=prompt.id == at))
        self.update(text)

    def on_click(self, event: events.Click) -> None:
        place = event.y // 2
        if 0 <= place < len(self._ids):
            self.post_message(self.Chosen(self._ids[place]))


class TextField(TextArea):
    """Where a person writes; Enter ends it, Ctrl-J makes a line, Esc leaves what was written behind."""

    class Done(Message):
        def __init__(self, prompt_id: str, question_id: str, text: str | None, at: float) -> None:
            """`at`: when the key that ended it went down."""
            super().__init__()
            self.prompt_id, self.question_id, self.text, self.at = prompt_id, question_id, text, at

    BINDINGS: ClassVar[list[BindingType]] = []
    _about: tuple[str, str] = ("", "")
    _last: events.Key | None = None

    def on_mount(self) -> None:
        self.display = False
        self.show_line_numbers = False
        self.highlight_cursor_line = False

    def open(self, prompt_id: str, question_id: str, title: str, how: str, text: str) -> None:
        self._about = (prompt_id, question_id)
        room = max(self.screen.size.width - 10, 20)
        self.border_title = Text(clip(title.split("\n")[0], room)).markup
        self.border_subtitle = how
        self.text = text
        self.move_cursor(self.document.end)
        self.display = True
        self.focus()

    def again(self, why: str) -> None:
        """What was written is not sent yet."""
        self.border_subtitle = Text(why).markup
        self.display = True
        self.focus()

    async def type_ahead(self, event: events.Key) -> None:
        """A key that was pressed before the field had the focus; not one that it let pass."""
        if event is not self._last:
            event.stop()
            await self._on_key(event)

    async def _on_key(self, event: events.Key) -> None:
        self._last = event
        if event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()
            text = self.text if event.key == "enter" else None
            self.display = False
            self.screen.set_focus(None)
            self.post_message(self.Done(*self._about, text, event.time))
        elif event.key in ("ctrl+j", "shift+enter", "alt+enter"):
            event.stop()
            event.prevent_default()
            self.insert("\n")
        else:
            await super()._on_key(event)


class Help(ModalScreen[None]):
    """All keys; any key closes it."""

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield Static(_KEYS)

    _answered = False

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if not self._answered:  # a second key may come before it is gone
            self._answered = True
            self.dismiss()


def _answer_keys(prompt: Prompt) -> list[tuple[str, str]]:
    keys = [key for question in prompt.questions[:1] for key in uniform(question.options) if key]
    return [("/".join(keys[:4]) + ("…" if len(keys) > 4 else ""), "answer")] if keys else []


def keys_line(prompt: Prompt | None, room: int, *, writing: bool, pane: bool) -> Text:
    """What can be pressed now, the most useful first, as far as it fits."""
    if writing:
        pairs = [("Enter", "done"), ("Ctrl-J", "new line"), ("Esc", "back")]
    else:
        there = [("p", "terminal"), ("o", "go there")] if pane else []
        pairs = [("j/k", "move"), *there, ("z", "zoom"), ("?", "keys"), ("q", "leave")]
        if prompt is not None and prompt.state == "open" and prompt.held:
            pairs = [*_answer_keys(prompt), ("t", "write"), *pairs]
        elif prompt is not None and prompt.state in card.OVER:
            pairs = [("Enter", "next"), *pairs]
    out = Text(no_wrap=True)
    for key, does in pairs:
        if len(out.plain) + len(key) + len(does) + 3 > room:
            break
        out.append(f" {key} ", "bold")
        out.append(f"{does} ", "dim")
    return out
