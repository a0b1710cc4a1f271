"""The real Qwen Code in a tmux pane: permissions by their ids over its own channel, questions by verified keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.poll import until
from kit.qwen import ask, question, shell
from kit.turns import text, tool
from real.qwen_scene import home, model, qwen_bin, start, yourcall

if TYPE_CHECKING:
    from kit.chat_server import ChatServer
    from kit.qwen import QwenHome
    from kit.yourcall import Yourcall

__all__ = ["home", "model", "qwen_bin", "start", "yourcall"]  # fixtures


def states(yourcall: Yourcall, prompt_id: str) -> list[str]:
    return [moment["state"] for moment in yourcall.show(prompt_id)["history"]]


def prompt_besides(yourcall: Yourcall, *known: str) -> dict[str, Any]:
    """The next prompt that can be answered."""
    return until(
        lambda: next((p for p in yourcall.prompts() if p["id"] not in known and p["held"]), None),
        what="a prompt",
        show=lambda: yourcall.prompts(),
    )


def test_a_yes_and_a_no_go_by_id_and_both_are_proved(
    start: Any, yourcall: Yourcall, model: ChatServer, home: QwenHome
) -> None:
    """A command that the narrow screen wraps, and cuts there; a change that is refused; what comes next."""
    long = "touch marker && " + "echo a-long-enough-argument-to-be-wrapped-somewhere && " * 6 + "touch end"
    write = tool("write_file", file_path=str(home.project / "a.py"), content="x = 1\n")
    words = model.script("work", [shell(long)], [write], [text("Never said.")])
    qwen = start(cols=50, rows=30)
    qwen.say(words)
    first = prompt_besides(yourcall)
    assert first["kind"] == "permission"
    assert first["body"].startswith(long)
    assert first["tool"]["input"]["command"] == long
    assert [o["effect"] for o in first["questions"][0]["options"]] == ["allow_once", "deny"]
    assert not qwen.made("marker")
    done = yourcall.run("answer", first["id"], "allow")
    assert done.code == 0, done
    second = prompt_besides(yourcall, first["id"])
    assert (qwen.made("marker"), qwen.made("end")) == (True, True)
    assert states(yourcall, first["id"]) == ["open", "answering", "sent", "accepted", "confirmed"]
    assert second["action"]["changes"][0]["new"] == "x = 1\n"
    done = yourcall.run("answer", second["id"], "deny")
    assert done.code == 0, done
    until(lambda: yourcall.show(second["id"])["outcome"] == "denied")
    assert not qwen.made("a.py")
    ready = yourcall.pause("ready")
    follow = model.script("more", [text("On it.")])
    said = yourcall.run("answer", ready["id"], "--text", follow)
    assert said.code == 0, said
    until(lambda: "On it." in qwen.screen(), show=qwen.screen)


def test_questions_are_shown_exactly_and_answered_by_verified_keys(
    start: Any, yourcall: Yourcall, model: ChatServer
) -> None:
    """Words of one's own for the first, and of two the second with boxes to tick."""
    database = question("Which database?", "DB", "SQLite", "Postgres")
    features = question("Which features?", "Feat", "Login", "Search", "Export", several=True)
    qwen = start()
    qwen.say(model.script("ask", [ask(database)], [ask(database, features)], [text("Chosen.")]))
    first = prompt_besides(yourcall)
    assert (first["kind"], first["title"]) == ("question", "Which database?")
    assert [(o["label"], o["description"]) for o in first["questions"][0]["options"]] == [
        ("SQLite", "About SQLite"),
        ("Postgres", "About Postgres"),
    ]
    done = yourcall.run("answer", first["id"], "--text", "Neither: use DuckDB.")
    assert done.code == 0, done
    second = prompt_besides(yourcall, first["id"])
    assert [q["text"] for q in second["questions"]] == ["Which database?", "Which features?"]
    done = yourcall.run("answer", second["id"], "q1=o2", "q2=o1,o3")
    assert done.code == 0, done
    qwen.wait_ready()
    screen = qwen.screen()
    assert "**DB**: Neither: use DuckDB." in screen
    assert "**DB**: Postgres" in screen
    assert "**Feat**: Login, Export" in screen
