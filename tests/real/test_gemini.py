"""The real Gemini CLI in a tmux pane: its dialogs are told by its hooks, shown once, and answered by one digit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kit.poll import until
from kit.turns import text, tool
from real.gemini_scene import bare, gemini_bin, home, model, shell, start, watch, yourcall

if TYPE_CHECKING:
    from kit.gemini import GeminiHome, GeminiModel
    from kit.turns import Block
    from kit.yourcall import Yourcall

__all__ = ["bare", "gemini_bin", "home", "model", "start", "yourcall"]  # fixtures


def states(yourcall: Yourcall, prompt_id: str) -> list[str]:
    return [moment["state"] for moment in yourcall.show(prompt_id)["history"]]


TALL = "\n".join(["rm -f precious", *(f"echo line {n} >> out" for n in range(60))])


def test_one_digit_allows_one_refuses_and_the_record_proves_both(
    start: Any, yourcall: Yourcall, model: GeminiModel, home: GeminiHome
) -> None:
    """A short command, one that is too tall for the window and cut at its top, and one that is refused."""
    (home.project / "precious").write_text("gold")
    words = model.script(
        "work", [shell("touch marker")], [shell(TALL)], [shell("touch second")], [text("Never said.")]
    )
    gemini = start(rows=30)
    gemini.say(words)
    first = yourcall.wait_prompt()
    assert (first["kind"], first["title"], first["held"]) == ("permission", "Run: touch marker", True)
    assert first["tool"]["name"] == "run_shell_command"
    assert first["tool"]["input"] == {"command": "touch marker", "description": "Do it"}
    assert not gemini.made("marker")
    said = yourcall.run("answer", first["id"], "allow")
    assert said.code == 0, said
    tall = until(lambda: [p for p in yourcall.prompts() if p["id"] != first["id"]])[0]
    assert gemini.made("marker")
    assert states(yourcall, first["id"]) == ["open", "answering", "sent", "accepted", "confirmed"]
    assert "rm -f precious" not in gemini.screen()
    assert tall["body"].startswith(TALL)
    assert {o["effect"] for o in tall["questions"][0]["options"]} == {"allow_once", "allow_session", "deny"}
    assert yourcall.run("answer", tall["id"], "allow").code == 0
    known = {first["id"], tall["id"]}
    last = until(lambda: [p for p in yourcall.prompts() if p["id"] not in known])[0]
    assert not gemini.made("precious")
    said = yourcall.run("answer", last["id"], "deny")
    assert said.code == 0, said
    gemini.wait_ready()
    assert not gemini.made("second")
    assert yourcall.show(last["id"])["outcome"] == "denied"
    assert yourcall.prompts() == []


def test_the_desk_is_first_and_the_record_tells_what_it_said(
    start: Any, yourcall: Yourcall, model: GeminiModel
) -> None:
    words = model.script("work", [shell("touch marker")], [shell("touch second")], [text("Never said.")])
    gemini = start()
    gemini.say(words)
    first = yourcall.wait_prompt()
    gemini.press("1")
    told = yourcall.wait_state(first["id"], "desk")
    second = until(lambda: [p for p in yourcall.prompts() if p["id"] != first["id"]])[0]
    status, late = yourcall.http("POST", f"/api/prompts/{first['id']}/answer", {"option": "deny", "wait": 5})
    assert (status, late["result"]) == (409, "too_late"), (late, told)
    until(lambda: yourcall.show(first["id"])["outcome"] == "allowed")
    gemini.press("Escape")
    until(lambda: yourcall.show(second["id"])["outcome"] == "denied")
    assert (gemini.made("marker"), gemini.made("second")) == (True, False)


def test_a_queue_is_answered_one_by_one_wherever_the_highlight_is(
    start: Any, yourcall: Yourcall, model: GeminiModel
) -> None:
    """Three calls at once, two of them alike. After a no, the next dialog opens with the no highlighted."""
    calls = [shell("touch p1"), shell("echo x >> p2"), shell("echo x >> p2")]
    words = model.script("work", calls, [text("Done.")])
    gemini = start()
    gemini.say(words)
    tried: dict[str, str] = {}

    def taken() -> list[str]:
        return [each for each in tried if yourcall.show(each)["state"] in ("accepted", "confirmed")]

    def answered() -> bool:
        """One more of the three. While they come up, one may take another's place: then nothing is pressed."""
        for prompt in yourcall.prompts():
            tried[prompt["id"]] = prompt["title"]
            answer = "deny" if prompt["title"].endswith(": touch p1") else "allow"
            yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", {"option": answer, "wait": 1})
        return len(taken()) == 3

    until(answered, every=0.1, show=lambda: (tried, gemini.screen()))
    done = taken()
    results = model.wait_results(3)
    # "Run" is what a hook told; of a call whose hook is late, the screen alone tells: "Shell".
    asked = sorted(tried[each].partition(": ")[2] for each in done)
    assert asked == ["echo x >> p2", "echo x >> p2", "touch p1"]
    assert not gemini.made("p1")
    assert (gemini.home.project / "p2").read_text() == "x\nx\n"
    assert ["denied" in str(result) for result in results] == [True, False, False]
    yourcall.pause("ready")
    assert yourcall.prompts() == []
    # Nothing runs before the last one is answered: only then does the record tell of the first.
    ended = [yourcall.wait_state(each, "confirmed") for each in done]
    assert sorted(each["outcome"] for each in ended) == ["allowed", "allowed", "denied"]


def test_a_command_cut_at_its_top_and_told_by_nobody_can_only_be_refused(
    start: Any, bare: Yourcall, model: GeminiModel, home: GeminiHome
) -> None:
    (home.project / "precious").write_text("gold")
    gemini = start(rows=30)
    watch(bare, gemini)
    gemini.say(model.script("work", [shell(TALL)], [text("Done.")]))
    prompt = bare.wait_prompt()
    assert [o["effect"] for o in prompt["questions"][0]["options"]] == ["deny"]
    assert "not allowed" in prompt["body"]
    refused = bare.run("answer", prompt["id"], "allow")
    assert refused.code == 2, refused
    assert bare.run("answer", prompt["id"], "deny").code == 0
    gemini.wait_ready()
    assert gemini.made("precious")


def ask(*questions: dict[str, Any]) -> Block:
    return tool("ask_user", questions=list(questions))


def choice(question: str, *labels: str, multi: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"About {label}"} for label in labels]
    return {
        "question": question,
        "header": labels[0][:12],
        "type": "choice",
        "options": options,
        "multiSelect": multi,
    }


def test_questions_of_every_sort_are_answered(start: Any, yourcall: Yourcall, model: GeminiModel) -> None:
    text_question = {"question": "What name?", "header": "Name", "type": "text", "placeholder": "for example, x"}
    yes_no = {"question": "Deploy now?", "header": "Deploy", "type": "yesno"}
    words = model.script(
        "work",
        [ask(choice("Which database?", "PostgreSQL", "SQLite", "MySQL", "Redis"))],
        [ask(choice("Which features?", "Login", "Search", "Export", multi=True))],
        [ask(text_question)],
        [ask(choice("Which colour?", "Red", "Green"))],
        [ask(choice("Which db?", "A", "B"), choice("Which parts?", "C", "D", multi=True), text_question, yes_no)],
        [text("Fine.")],
    )
    gemini = start()
    gemini.say(words)
    answers: list[dict[str, Any]] = [
        {"choices": {"q1": ["o4"]}},
        {"choices": {"q1": ["o1", "o3"]}},
        {"texts": {"q1": "line one\nligne déux 😀"}},
        {"texts": {"q1": "a very dark blue"}},
        {"choices": {"q1": ["o2"], "q2": ["o2"], "q4": ["o1"]}, "texts": {"q3": "shop"}},
    ]
    seen: set[str] = set()
    for number, answer in enumerate(answers):
        (prompt,) = until(lambda: [p for p in yourcall.prompts() if p["id"] not in seen], show=gemini.screen)
        seen.add(prompt["id"])
        assert prompt["kind"] == "question"
        status, said = yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", {**answer, "wait": 20})
        assert (status, said["result"]) in ((200, "confirmed"), (200, "accepted")), (said, gemini.screen())
        model.wait_results(number + 1)
    told = [json.loads(result["response"]["output"])["answers"] for result in model.wait_results(5)]
    assert told == [
        {"0": "Redis"},
        {"0": "Login, Export"},
        {"0": "line one\nligne déux 😀"},
        {"0": "a very dark blue"},
        {"0": "B", "1": "D", "2": "shop", "3": "Yes"},
    ]
