"""The desk and the phone answer at the same moment: one outcome each time, and nothing else moves."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import start_claude
from kit.poll import until
from kit.turns import text, tool

if TYPE_CHECKING:
    from kit.claude import Claude
    from kit.scene import Scene

GAPS_MS = (0, 5, 10, 20, 35, 50)


def rounds(short: int, long: int) -> list[object]:
    """The same race a few times in `make test`, and many times in `make soak`."""
    patient = (pytest.mark.soak, pytest.mark.timeout(20 * long))  # a race takes about two seconds
    return [pytest.param(short, id=str(short)), pytest.param(long, id=str(long), marks=patient)]


@pytest.mark.parametrize("first", ["desk", "phone"])
@pytest.mark.parametrize("count", rounds(6, 200))
def test_a_yes_at_the_desk_against_a_no_from_afar(scene: Scene, first: str, count: int) -> None:
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model)
    won = {"desk": 0, "phone": 0}
    for number in range(count):
        winner = race(scene, claude, number, first, GAPS_MS[number % len(GAPS_MS)])
        won[winner] += 1
    print(f"{first} first, {count} races: {won}")
    assert sum(won.values()) == count
    # Claude reads a key in about 15 ms and a hook's answer when the hook has left: who is first mostly wins.
    assert won[first] > 0


def race(scene: Scene, claude: Claude, number: int, first: str, gap_ms: int) -> str:
    marker, decoy = f"marker{number}", f"decoy{number}"
    words = scene.model.script(
        f"race{number}",
        [tool("Bash", command=f"touch {marker}", description=f"Make {marker}")],
        [tool("Bash", command=f"touch {decoy}", description=f"Make {decoy}")],
        [text("Done.")],
    )
    claude.say(words)
    prompt = scene.next_prompt()
    claude.wait_dialog()

    def answer() -> None:
        scene.yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", {"option": "deny"})

    def press() -> None:
        claude.terminal.key("1")

    acts = (press, answer) if first == "desk" else (answer, press)
    threads = [threading.Thread(target=act) for act in acts]
    threads[0].start()
    time.sleep(gap_ms / 1000)  # the gap is what is being tried, not a wait for anything
    threads[1].start()
    for thread in threads:
        thread.join()

    shown = scene.yourcall.wait_state(prompt["id"], "confirmed", "desk")
    shown = until(lambda: (s := scene.yourcall.show(prompt["id"]))["outcome"] and s)
    ran = scene.made(marker)
    (line,) = until(lambda: scene.home.tool_result_lines(call_of(scene, marker)))
    source = line["permissionDecision"]["source"]
    if shown["state"] == "confirmed":
        assert (shown["outcome"], ran, source) == ("denied", False, "hook"), shown
    else:
        assert (shown["outcome"], ran, source) == ("allowed", True, "user_temporary"), shown
        late = [m for m in shown["history"] if m["state"] in ("answering", "sent", "desk")]
        assert late, shown

    # The next prompt is touched by nobody but us now, unless the desk's key, having lost, fell into its dialog.
    second = until(lambda: asked_for(scene, f"touch {decoy}"), what="the next prompt")
    said = scene.yourcall.run("answer", second["id"], "deny")
    (line,) = until(lambda: scene.home.tool_result_lines(call_of(scene, decoy)))
    source, states = line["permissionDecision"]["source"], scene.states(second["id"])
    if scene.made(decoy):
        assert shown["state"] == "confirmed", "whoever won with the key has none left"
        assert (said.code, source, states[-1]) == (3, "user_temporary", "desk"), said
    else:
        assert (said.code, source, states[:2]) == (0, "hook", ["open", "answering"]), said
    claude.wait_status("idle")
    claude.wait_ready()
    claude.terminal.key("C-u")  # the loser's key may lie in the input box as a draft
    return "phone" if shown["state"] == "confirmed" else "desk"


def asked_for(scene: Scene, command: str) -> dict[str, Any] | None:
    """The prompt for this command, whatever became of it."""
    _, prompts = scene.yourcall.http("GET", "/api/prompts?all=1&limit=10")
    return next((p for p in prompts if p["tool"] and p["tool"]["input"].get("command") == command), None)


def call_of(scene: Scene, marker: str) -> str:
    """The model hears of a call a moment after Claude's own record does."""
    found = until(lambda: [r for r in scene.model.tool_results() if r.input.get("command") == f"touch {marker}"])
    return found[0].id


def test_many_answers_at_once_are_one(scene: Scene) -> None:
    """Twenty taps from everywhere: one is taken, all the others hear who was first."""
    scene.ask([tool("Bash", command="touch marker", description="Make it")], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    replies: list[tuple[int, dict[str, object]]] = []

    def tap(option: str) -> None:
        path = f"/api/prompts/{prompt['id']}/answer"
        replies.append(scene.yourcall.http("POST", path, {"option": option, "wait": 20}))

    taps = [threading.Thread(target=tap, args=("allow" if n % 2 else "deny",)) for n in range(20)]
    for thread in taps:
        thread.start()
    for thread in taps:
        thread.join()
    results = sorted(str(reply["result"]) for _, reply in replies)
    assert results == ["confirmed"] + ["too_late"] * 19
    (winner,) = [reply for _, reply in replies if reply["result"] == "confirmed"]
    outcome = scene.yourcall.show(prompt["id"])["outcome"]
    assert scene.made("marker") == (outcome == "allowed")
    assert winner["prompt"]["outcome"] == outcome  # type: ignore[index]
    assert all(reply["by"] == "cli" for _, reply in replies)
