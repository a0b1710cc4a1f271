"""Rules and the real Codex: allowed runs at once, denied gets its message, another folder or shell is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kit.codex_scene import CodexScene, joined
from kit.poll import until
from kit.responses_server import escalated, patch, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.terminal import Tmux

RULES = """
[inside]
do = "allow"
effect = ["read", "write_inside"]

[no-deleting]
do = "deny"
effect = "delete"
message = "Nothing is deleted here; move it to the folder old instead."
"""


@pytest.fixture
def scene(tmp_path: Path, fetched: Callable[..., Path], tmux: Tmux) -> Iterator[CodexScene]:
    with joined(tmp_path, fetched("codex"), tmux) as made:
        (made.yourcall.home / "rules.toml").write_text(RULES)
        yield made


def by_rule(scene: CodexScene) -> list[tuple[str, str, str]]:
    lines = scene.yourcall.http("GET", "/api/log")[1]
    return [(line["by"], line["title"], line["outcome"]) for line in lines if line["via"] == "rule"]


def asks(scene: CodexScene, title: str) -> dict[str, Any]:
    """The prompt that waits for a person; one that a rule answers is open for a moment, too."""
    (found,) = until(
        lambda: [p for p in scene.yourcall.prompts() if title in p["title"] and p["state"] == "open"],
        40,
        what=title,
        show=scene.yourcall.waiting,
    )
    return found


def test_rules_answer_codex_and_what_they_cannot_vouch_for_waits(scene: CodexScene) -> None:
    other = scene.home.path / "other"
    other.mkdir()
    scene.begin(
        [escalated("touch elsewhere", "There?", workdir=str(other))],
        [escalated("touch marker && ls", "Make it?")],
        [escalated("[[ a || ./other ]]", "With this shell?", shell="sh")],
        [escalated("rm -rf marker", "Clean up?")],
        [say("Done.")],
    )
    # The folder of a command is the model's to choose: it is no project for that.
    elsewhere = asks(scene, "touch elsewhere")
    assert elsewhere["cwd"] == str(other)
    assert by_rule(scene) == []
    said = scene.yourcall.run("rules", "explain", elsewhere["id"])
    assert (said.code, "write outside" in said.out) == (4, True)
    scene.answer(elsewhere, "deny")
    # And so is the shell that runs it: to bash this compares, `sh` may run ./other.
    shell = asks(scene, "sh -lc")
    assert scene.made("marker")
    until(
        lambda: by_rule(scene) == [("rule inside", "touch marker && ls", "allowed")], 30, what="the first record"
    )
    scene.answer(shell, "deny")
    scene.model.wait_for(
        lambda m: any("Nothing is deleted here" in each for each in (*m.outputs(), *m.user_texts()))
    )
    assert scene.made("marker")
    until(
        lambda: ("rule no-deleting", "rm -rf marker", "denied") in by_rule(scene), 30, what="the denial's record"
    )
    assert scene.yourcall.run("log", "verify").code == 0


def test_a_patch_is_judged_by_every_file_it_touches(scene: CodexScene) -> None:
    (scene.yourcall.home / "rules.toml").write_text(RULES.split("[no-deleting]")[0])
    (scene.home.project / "notes.txt").write_text("one\n")
    hook = scene.home.project / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(parents=True, exist_ok=True)
    moved = patch("*** Update File: notes.txt", f"*** Move to: {hook}", "@@", "-one", "+two")
    scene.begin([moved], [say("Done.")])
    prompt = asks(scene, "notes.txt")
    assert not hook.exists()
    assert by_rule(scene) == []
    scene.answer(prompt, "deny")
    until(lambda: (scene.home.project / "notes.txt").exists(), what="the file, still there")
