"""The inbox itself: the queue on the left, the whole of one prompt on the right, and the keys that answer it.

Rule: a key answers only what was on the screen, unchanged, for a second before it was pressed; one that does not
count says why. The cursor stays on its prompt whatever comes or goes, a prompt that ended stays until the person
leaves it, and nothing moves on to the next by itself.
"""

from __future__ import annotations

import time
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from yourcall.cli import panes
from yourcall.cli.commands import navigate
from yourcall.cli.inbox import card, feed, form
from yourcall.cli.inbox.answers import Room, answers
from yourcall.cli.inbox.body import body
from yourcall.cli.inbox.form import Ready
from yourcall.cli.inbox.state import InboxState
from yourcall.cli.inbox.widgets import Help, Rows, TextField, keys_line
from yourcall.cli.instance import Instance, Problem
from yourcall.cli.panes import Pane
from yourcall.cli.terminal.render import safe
from yourcall.cli.views import Prompt
from yourcall.core.option_keys import LETTERS, uniform

# Ages are read, not watched.
REDRAW_S = 5.0
# From here on the terminal fits under the card; below, it takes the card's place.
ROOMY = (100, 32)
NARROW = 72
PANE_ROWS = 12


def _may_answer(typed: str) -> bool:
    """Is this one of the keys that pick an option, of whatever prompt?"""
    return len(typed) == 1 and (typed in LETTERS or (typed.isdecimal() and typed.isascii() and typed != "0"))


class Inbox(App[Pane]):
    """Ends with a pane if the person went there and is not in tmux: then this process becomes its client."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    CSS_PATH = "inbox.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+c", "quit", "Leave"), ("ctrl+q", "quit", "Leave")]

    def __init__(self, place: Instance, first: str = "") -> None:
        super().__init__(ansi_color=True)
        self._place = place
        self._book = InboxState(first)
        self._line = ""
        self._peek: bool | None = None
        self._zoomed = False
        self._raw = False
        self._screens: dict[str, tuple[str, str]] = {}
        self._eye: feed.FeedReader | None = None

    # -- what is on the screen

    def compose(self) -> ComposeResult:
        with Horizontal(id="main"):
            with Vertical(id="queue"):
                yield Static(id="count")
                with VerticalScroll(id="list", can_focus=False):
                    yield Rows(id="rows")
            with Vertical(id="card"):
                yield Static(id="head")
                with VerticalScroll(id="read", can_focus=False):
                    yield Static(id="body")
                yield Static(id="pane")
                with VerticalScroll(id="foot", can_focus=False):
                    yield Static(id="answers")
                    yield Static(id="standing")
                yield TextField(id="words")
        yield Static(id="keys")

    def on_mount(self) -> None:
        self._eye = feed.FeedReader(self._place.home, self.post_message)
        feed.follow(self._place.home, self.post_message)
        self.set_interval(REDRAW_S, self._draw_all)
        self._draw_all()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_all)

    def _draw_all(self) -> None:
        self._draw_queue()
        self._draw_card()

    def _draw_queue(self) -> None:
        order = self._book.order()
        waiting = sum(p.state == "open" for p in order)
        count = self.query_one("#count", Static)
        count.update(f"{waiting} waiting" if waiting else "Nothing waits")
        count.set_class(not waiting, "calm")
        narrow = self.size.width < NARROW
        self.set_class(narrow, "narrow")
        self.set_class(self._zoomed and self._book.here() is not None, "zoomed")
        rows = self.query_one(Rows)
        room = (self.size.width if narrow else rows.container_size.width) - 1
        rows.draw(order, self._book.at, max(room, 12), {p.id: p.warning for p in order})
        place = next((n for n, p in enumerate(order) if p.id == self._book.at), 0)
        scroll = self.query_one("#list", VerticalScroll)
        top, height = int(scroll.scroll_y), scroll.size.height
        if height and not top <= place * 2 <= top + height - 2:
            scroll.scroll_to(y=max(place * 2 - height // 2, 0), animate=False)

    def _draw_card(self) -> None:
        prompt = self._book.here()
        face = self._book.drawn()
        self.call_after_refresh(lambda: self._book.painted(face, time.monotonic()))
        self.query_one("#head").display = prompt is not None
        # Who writes has chosen already: the card gets the room.
        self.query_one("#foot").display = prompt is not None and not self.query_one(TextField).display
        if prompt is None:
            self._draw_nothing()
            return
        risk = prompt.warning
        self.query_one("#head", Static).update(card.head(prompt, risk))
        shown = body(prompt, raw=self._raw)
        self.query_one("#body", Static).update(shown)
        columns = max(self.query_one("#card").size.width - 3, 30)
        lines = self.console.render_lines(shown, self.console.options.update_width(columns), pad=False)
        long = len(lines) if any(segment.text.strip() for line in lines for segment in line) else 0
        self.query_one("#card").set_class(not long, "bare")
        drawn = answers(prompt, self._book.draft(prompt), Room(columns, True, risk))
        # The card, its head and the edges around it come first; what the answers do takes the lines that are left.
        if drawn.plain.count("\n") + min(long, self.size.height // 2) + 7 > self.size.height:
            drawn = answers(prompt, self._book.draft(prompt), Room(columns, False, risk))
        pressed = self._book.pressed.get(prompt.id)
        busy = pressed is not None and prompt.state == "open"
        choices, standing = self.query_one("#answers", Static), self.query_one("#standing", Static)
        choices.update(drawn)
        choices.display = bool(drawn.plain) and not busy
        words = card.standing(
            prompt, mine=pressed is not None, busy=busy, note=self._book.notes.get(prompt.id, "")
        )
        standing.update(words)
        standing.display = bool(words.plain)
        self._draw_pane(prompt)
        self._draw_keys()

    def _draw_nothing(self) -> None:
        self.query_one("#pane").display = False
        self.query_one("#read").display = True
        self.query_one("#card").remove_class("bare")
        words = "All caught up. New prompts appear here." if self._book.heard else "Listening…"
        self.query_one("#body", Static).update(words)
        self._look("")
        self._draw_keys()

    def _draw_pane(self, prompt: Prompt) -> None:
        there = self._book.pane_of(prompt) is not None
        roomy = self.size.width >= ROOMY[0] and self.size.height >= ROOMY[1]
        wanted = there and (roomy if self._peek is None else self._peek) and prompt.state not in card.OVER
        pane = self.query_one("#pane", Static)
        pane.display = wanted
        self.query_one("#read").display = (roomy or not wanted) and not self.query_one("#card").has_class("bare")
        pane.set_class(not roomy, "alone")
        self._look(prompt.session_id if wanted else "")
        if wanted:
            screen, problem = self._screens.get(prompt.session_id, ("", "Looking…"))
            pane.border_title = "its terminal, live"
            rows = PANE_ROWS if roomy else max(pane.size.height, 1)
            pane.update(card.pane(safe(problem) if problem else screen, rows))

    def _look(self, session_id: str) -> None:
        if self._eye is not None:
            self._eye.look(session_id)

    def _draw_keys(self) -> None:
        line = self.query_one("#keys", Static)
        line.set_class(self._book.armed is not None, "armed")
        line.set_class(bool(self._line) and self._book.armed is None, "broken")
        if self._book.armed is not None:
            ready = self._book.armed[1]
            line.update(Text(f"{safe(ready.label)}? {ready.why}  Press y for yes; any other key goes back."))
        elif self._line:
            line.update(Text(safe(self._line)))
        else:
            prompt = self._book.here()
            pane = prompt is not None and self._book.pane_of(prompt) is not None
            writing = self.query_one(TextField).display
            line.update(keys_line(prompt, self.size.width, writing=writing, pane=pane))

    # -- what comes from the daemon

    def on_whole(self, message: feed.Whole) -> None:
        self._book.whole(message.prompts, message.sessions)
        self._draw_all()

    def on_prompt_came(self, message: feed.PromptCame) -> None:
        self._book.came(message.prompt)
        self._draw_all()

    def on_session_came(self, message: feed.SessionCame) -> None:
        self._book.sessions[message.session.id] = message.session

    def on_connection_changed(self, message: feed.ConnectionChanged) -> None:
        self._line = message.problem
        self._draw_keys()

    def on_outcome_received(self, message: feed.OutcomeReceived) -> None:
        self._book.told(message.prompt_id, message.result)
        self._draw_all()

    def on_edit_judged(self, message: feed.EditJudged) -> None:
        """The daemon has judged an edited command: the person hears its reason before they say yes to it."""
        prompt = self._open()
        if message.prompt_id not in self._book.prompts:
            return
        if prompt is None or prompt.id != message.prompt_id or self.query_one(TextField).display:
            self._book.notes[message.prompt_id] = "Not sent: something else was done before it was judged."
        elif message.judged is None:
            self._book.notes[prompt.id] = f"Not sent: it could not be judged. {message.problem}"
        else:
            self._offer(prompt, form.edited(prompt, message.command, message.judged))
        self._draw_card()

    def on_looked(self, message: feed.Looked) -> None:
        self._screens = {message.session_id: (message.screen, message.problem)}
        prompt = self._book.here()
        if prompt is not None and prompt.session_id == message.session_id:
            self._draw_pane(prompt)

    # -- what the person does

    async def on_key(self, event: events.Key) -> None:
        if self.screen is not self.screen_stack[0]:
            return
        field = self.query_one(TextField)
        if field.display:
            await field.type_ahead(event)
            return
        event.stop()
        event.prevent_default()
        if self._book.armed is not None:
            self._book.key_down(event.time)
            self._confirm(event.character == "y")
            return
        typed = event.character or ""
        if _may_answer(typed) or event.key in ("space", "enter"):
            self._book.key_down(event.time)
        self._press(event.key, typed)

    def _press(self, key: str, typed: str) -> None:
        prompt = self._book.here()
        if _may_answer(typed):
            self._choose_by_key(typed)
            return
        match key:
            case "q":
                self.exit()
            case "question_mark":
                self.push_screen(Help(), lambda _: self._book.uncovered(time.monotonic()))
            case "j" | "down":
                self._move(1)
            case "k" | "up":
                self._move(-1)
            case "g" | "home":
                self._move(-len(self._book.prompts))
            case "G" | "end":
                self._move(len(self._book.prompts))
            case "ctrl+d" | "pagedown" | "ctrl+f":
                self._scroll(1)
            case "ctrl+u" | "pageup" | "ctrl+b":
                self._scroll(-1)
            case "z":
                self._zoomed = not self._zoomed
                self._draw_all()
                self.call_after_refresh(self._draw_all)
            case "r":
                self._raw = not self._raw
                self._draw_card()
            case "p" if prompt is not None:
                self._peek = not self.query_one("#pane").display
                self._draw_card()
                self.call_after_refresh(self._draw_card)
            case "o" if prompt is not None:
                self._go(prompt)
            case "tab" | "shift+tab" if prompt is not None:
                form.step(prompt, self._book.draft(prompt), 1 if key == "tab" else -1)
                self._draw_card()
            case "l" | "right":
                self._point(1)
            case "h" | "left":
                self._point(-1)
            case "space":
                self._choose(self._book.draft(prompt).cursor if prompt is not None else -1)
            case "enter":
                self._enter()
            case "t" | "i":
                self._write()
            case "e":
                self._edit()
            case _:
                pass

    def _move(self, by: int) -> None:
        self._select(self._book.beside(by))

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        if not self.query_one(TextField).display:
            self._select(message.prompt_id)

    def _select(self, prompt_id: str) -> None:
        if not self._book.select(prompt_id):
            return
        self._raw = False
        self.query_one("#read", VerticalScroll).scroll_home(animate=False)
        self.query_one("#foot", VerticalScroll).scroll_home(animate=False)
        self._draw_all()

    def _scroll(self, by: int) -> None:
        read = self.query_one("#read", VerticalScroll)
        read.scroll_relative(y=by * max(read.size.height - 2, 1), animate=False)

    def _open(self) -> Prompt | None:
        """The prompt here, if it takes an answer from here now, and we can bring it."""
        return None if self._line else self._book.answerable()

    def _point(self, by: int) -> None:
        prompt = self._open()
        question = form.question_in_hand(prompt, self._book.draft(prompt)) if prompt is not None else None
        if prompt is not None and question is not None and question.options:
            draft = self._book.draft(prompt)
            draft.cursor = (draft.cursor + by) % len(question.options) if draft.cursor >= 0 else 0
            self._draw_card()

    def _takes(self, prompt: Prompt, *, marks: bool = False) -> bool:
        """Whether the key that was just pressed counts; if not, the card says why."""
        why = self._book.too_early(marks=marks)
        if why:
            self._book.notes[prompt.id] = why
            self._draw_card()
        return not why

    def _choose_by_key(self, key: str) -> None:
        prompt = self._open()
        question = form.question_in_hand(prompt, self._book.draft(prompt)) if prompt is not None else None
        keys = uniform(question.options) if question is not None else ()
        if key in keys:
            self._choose(keys.index(key))
        elif prompt is not None and keys and key.isdecimal():
            self._book.notes[prompt.id] = f"No answer here has the key {key}."
            self._draw_card()

    def _choose(self, number: int) -> None:
        prompt = self._open()
        question = form.question_in_hand(prompt, self._book.draft(prompt)) if prompt is not None else None
        if prompt is not None and question is not None and 0 <= number < len(question.options):
            marks = question.multi_select and question != form.decision(prompt)
            if self._takes(prompt, marks=marks):
                self._offer(prompt, form.choose(prompt, self._book.draft(prompt), number))

    def _enter(self) -> None:
        prompt = self._open()
        if prompt is None:
            here = self._book.here()
            if here is not None and here.state in card.OVER:
                self._select(self._book.following())
            return
        draft = self._book.draft(prompt)
        question = form.question_in_hand(prompt, draft)
        if question is None:
            return
        if draft.cursor >= 0 and not question.multi_select:
            self._choose(draft.cursor)
            return
        written = bool(draft.texts.get(question.id, "").strip())
        if not question.options and not (len(prompt.questions) > 1 and written and form.decision(prompt) is None):
            self._write()
            return
        form_like = form.decision(prompt) is None and (len(prompt.questions) > 1 or question.multi_select)
        if form_like and self._takes(prompt):
            self._offer(prompt, form.submit(prompt, draft))

    def _write(self) -> None:
        """Words of one's own: an answer, a field, or the reason of a no."""
        prompt = self._open()
        question = form.question_in_hand(prompt, self._book.draft(prompt)) if prompt is not None else None
        if prompt is None or question is None or not question.free_text:
            return
        no = form.refusal(prompt) if question == form.decision(prompt) else None
        if question == form.decision(prompt) and no is None:
            return
        title = f"{safe(no[1].label)}, and say why" if no is not None else safe(question.text)
        ends = "Enter sends" if no is not None or len(prompt.questions) == 1 else "Enter keeps it"
        self._type(prompt.id, question.id, title, ends, self._book.draft(prompt).texts.get(question.id, ""))

    def _edit(self) -> None:
        """Another command than the one that was asked for."""
        prompt = self._open()
        if prompt is not None and form.edits(prompt) is not None:
            self._type(prompt.id, "", "Allow this command instead", "Enter goes on", prompt.command)

    def _type(self, prompt_id: str, question_id: str, title: str, ends: str, text: str) -> None:
        how = f"{ends} · Ctrl-J new line · Esc back"
        self.query_one(TextField).open(prompt_id, question_id, title, how, text)
        self._draw_card()

    def on_text_field_done(self, message: TextField.Done) -> None:
        if message.text is not None:
            self._book.key_down(message.at)
        self._draw_card()
        prompt = self._book.here()
        if message.text is None or prompt is None or prompt.id != message.prompt_id or self._open() is None:
            if message.text and prompt is not None:
                self._book.notes[prompt.id] = "Not sent: it no longer takes an answer from here."
                self._draw_card()
            return
        if not self._takes(prompt):
            self.query_one(TextField).again(self._book.notes[prompt.id])
            self._draw_card()
            return
        if not message.question_id:
            if message.text.strip():
                self._book.notes[prompt.id] = "The edited command is being judged…"
                feed.judge(self._place.home, prompt, message.text, self.post_message)
                self._draw_card()
            return
        draft = self._book.draft(prompt)
        draft.texts[message.question_id] = message.text
        draft.wrong.pop(message.question_id, None)
        no = form.refusal(prompt)
        if no is not None and no[0].id == message.question_id:
            self._offer(prompt, form.decide(prompt, draft, *no))
        elif len(prompt.questions) == 1:
            self._offer(prompt, form.submit(prompt, draft))
        else:
            if message.text.strip():
                form.step(prompt, draft, 1)
            self._draw_card()

    def _offer(self, prompt: Prompt, ready: Ready | None) -> None:
        """Send it, or ask once more; None: something is still missing, and the card says what."""
        self._book.notes.pop(prompt.id, None)
        if ready is not None and ready.why:
            self._book.armed = (prompt.id, ready)
        elif ready is not None:
            self._send(prompt, ready)
            return
        self._draw_card()

    def _confirm(self, yes: bool) -> None:
        prompt = self._open()
        if yes and prompt is not None and not self._takes(prompt):
            return  # it is asked as before
        armed, self._book.armed = self._book.armed, None
        if prompt is not None:
            self._book.notes.pop(prompt.id, None)
        if yes and armed is not None and prompt is not None and prompt.id == armed[0]:
            self._send(prompt, Ready(armed[1].label, armed[1].fields | {"sure": "true"}))
        else:
            self._draw_card()

    def _send(self, prompt: Prompt, ready: Ready) -> None:
        self._book.pressed[prompt.id] = ready.label
        feed.answer(self._place.home, prompt.id, ready.fields, self.post_message)
        self._draw_all()

    def _go(self, prompt: Prompt) -> None:
        """To the pane of its session; outside tmux this ends the inbox and shows the pane in its place."""
        session, pane = self._book.sessions.get(prompt.session_id), self._book.pane_of(prompt)
        try:
            if session is None or pane is None:
                raise Problem("Its session runs in no tmux pane: there is nowhere to go.")
            if not panes.alive(pane, session.pid):
                raise Problem("Its pane is gone.")
            at = panes.here()
            if at is None:
                self.exit(pane)
                return
            stop = navigate.Stop(session.id, pane, prompt.title, prompt.opened_at, prompt.kind)
            navigate.jump(self._place, at, stop, "switch")
        except Problem as problem:
            self._book.notes[prompt.id] = problem.message
            self._draw_card()
