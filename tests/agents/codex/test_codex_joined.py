"""Which thread of a shared server a pane shows: by who was there when it began, and never by a guess."""

from __future__ import annotations

from yourcall.agents.codex.live.threads import CONTROL, began, server_of, shown
from yourcall.agents.sightings import Process
from yourcall.model.sessions import Link, Session

HOME = "/home/ann"
SOCKET = f"{HOME}/.codex/{CONTROL}"
START = 1_794_759_000.0


def client(pid: int, after: float, *argv: str, cwd: str = "/srv/shop", **more: str) -> Process:
    return Process(pid, str(pid), ("codex", *argv), cwd, "", START + after, {"HOME": HOME, **more})


def thread(after: float, last: str = "0", *, cwd: str = "/srv/shop", place: str = SOCKET, mode: str = "terminal"):
    ms = f"{int((START + after) * 1000):012x}"
    id = f"{ms[:8]}-{ms[8:]}-7000-8000-00000000000{last}"
    return Session(id, "codex", cwd, mode=mode, links=(Link("socket", id, place),))


def test_a_threads_id_says_when_it_was_made() -> None:
    assert began(thread(2.5)) == START + 2.5
    assert began(Session("other", "codex", "/", started_at=7.0)) == 7.0


def test_a_client_is_known_by_its_home_or_by_the_server_it_was_given() -> None:
    assert server_of(client(1, 0)) == SOCKET
    assert server_of(client(1, 0, CODEX_HOME="/else/")) == f"/else/{CONTROL}"
    assert server_of(client(1, 0, "--remote", "unix:///run/a.sock", "do")) == "/run/a.sock"
    assert server_of(client(1, 0, "--remote", "ws://127.0.0.1:1")) == ""
    assert server_of(client(1, 0, "--no-daemon")) == ""
    own = Process(1, "1", ("codex",), "/srv/shop", env={"HOME": HOME}, holds=("/h/thread-writer-locks/a.lock",))
    assert server_of(own) == ""


def test_one_pane_shows_what_was_begun_since_it_started_and_of_that_the_latest() -> None:
    before, first, second = thread(-60), thread(2), thread(500)
    assert shown([client(1, 0)], [before]) == {}  # its own is not there yet: a page of the start-up is open
    assert shown([client(1, 0)], [before, first]) == {1: first.id}
    assert shown([client(1, 0)], [second, before, first]) == {1: second.id}  # after `/new`


def test_two_panes_in_one_folder_are_told_apart_by_their_start() -> None:
    first, second = thread(2), thread(62)
    both = [client(1, 0), client(2, 60)]
    assert shown(both, [first, second]) == {1: first.id, 2: second.id}
    late = thread(300)  # begun by either of them with `/new`
    assert shown(both, [first, second, late]) == {1: first.id, 2: second.id}


def test_two_that_start_at_once_are_not_guessed() -> None:
    assert shown([client(1, 0), client(2, 1)], [thread(3), thread(4, "1")]) == {}


def test_other_folders_servers_and_clients_without_a_terminal_do_not_count() -> None:
    others = [thread(2, cwd="/srv/app"), thread(2, place="/else"), thread(2, mode="headless")]
    assert shown([client(1, 0)], others) == {}


def test_one_that_was_resumed_is_named_or_the_only_one_left() -> None:
    old, other = thread(-900), thread(-800)
    assert shown([client(1, 0, "resume", old.id)], [old, other]) == {1: old.id}
    assert shown([client(1, 0, "resume", "--last")], [old]) == {1: old.id}
    assert shown([client(1, 0, "resume", "--last")], [old, other]) == {}
