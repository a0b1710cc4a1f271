"""`yourcall screen`: one screen, many screens, and input that is neither."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from yourcall.cli.commands.screen import command

CORPUS = Path(__file__).parents[1] / "corpus" / "claude"


def run(*args: str, typed: bytes = b"") -> Result:
    return CliRunner().invoke(command, list(args), input=typed)


def case(name: str) -> tuple[str, dict[str, object]]:
    folder = CORPUS / name
    return (folder / "screen.txt").read_text(), json.loads((folder / "expect.json").read_bytes())


def test_a_file_and_standard_input_give_the_same_object() -> None:
    screen, expect = case("bash-80x24")
    from_file = run("--agent", "claude", "--title", "✳ Claude Code", str(CORPUS / "bash-80x24" / "screen.txt"))
    from_input = run("--agent", "claude", typed=screen.encode())
    assert from_file.exit_code == 0
    assert from_file.output == from_input.output
    assert json.loads(from_file.output) == expect


def test_a_batch_answers_every_line_and_goes_on_after_a_bad_one() -> None:
    screen, expect = case("ask-single-80x24")
    lines = [
        msgspec.json.encode({"id": "a", "agent": "claude", "title": None, "screen": screen}),
        b"not json",
        msgspec.json.encode({"id": 7, "agent": "nobody", "screen": ""}),
        b"",
        b'{"id": {"n": [1]}, "agent": "claude"}',
        b'{"id": "bytes", "agent": "claude", "screen": "\xff"}',
        b"[" * 5000,
        msgspec.json.encode({"agent": "claude", "screen": ""}),
    ]
    done = run("--batch", typed=b"\n".join(lines))
    assert done.exit_code == 0
    answers = [json.loads(line) for line in done.output.splitlines()]
    assert answers[0] == {"id": "a", **expect}
    assert [answer["id"] for answer in answers] == ["a", None, 7, {"n": [1]}, "bytes", None, None]
    assert ["error" in answer for answer in answers] == [False, True, True, True, True, True, False]
    assert "claude" in answers[2]["error"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--agent", "nobody"], "known: aider, claude"),
        ([], "--agent NAME"),
        (["--batch", "--agent", "claude"], "names its own agent"),
        (["--agent", "claude", "no-such-file"], "no-such-file"),
    ],
)
def test_a_wrong_call_says_what_to_do(args: list[str], says: str) -> None:
    done = run(*args)
    assert done.exit_code == 2
    assert says in done.output


def test_bytes_that_are_no_text_are_read_all_the_same() -> None:
    done = run("--agent", "claude", typed=b"\xff\xfe\x00\x1b[31m\n\x80")
    assert done.exit_code == 0
    assert json.loads(done.output)["state"] == "idle"


def test_help_teaches() -> None:
    done = run("--help")
    assert "tmux capture-pane" in done.output
    assert "clipped" in done.output
