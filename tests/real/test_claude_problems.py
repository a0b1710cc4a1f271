"""What stops Claude besides a question: logins, limits, a service that fails; each with what to do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kit.claude import start_claude
from kit.poll import until
from kit.turns import error, text

if TYPE_CHECKING:
    from kit.scene import Scene

# What the service says -> what a person is told, and what to do about it.
FAILURES = {
    "login": (
        error(401, "authentication_error", "Invalid authentication credentials"),
        "not logged in",
        "setup-token",
    ),
    "revoked": (
        error(403, "permission_error", "OAuth token has been revoked. Please obtain a new token."),
        "not logged in",
        "/login",
    ),
    "limit": (
        error(429, "rate_limit_error", "This request would exceed your account's rate limit."),
        "usage limit",
        "Wait until the limit resets",
    ),
    "overloaded": (error(529, "overloaded_error", "Overloaded"), "overloaded", "Say `go on`"),
    "broken": (error(500, "api_error", "Internal server error"), "service failed", "Say `go on`"),
    "credit": (
        error(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        "no credit left",
        "plan or credit",
    ),
    "refused": (
        error(400, "invalid_request_error", "messages: at least one message is required"),
        "with an error",
        "Read the message",
    ),
}


def test_every_failure_is_a_problem_with_what_to_do(scene: Scene) -> None:
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model, env={"CLAUDE_CODE_MAX_RETRIES": "0"})
    before = None
    for name, (failure, title, advice) in FAILURES.items():
        claude.say(scene.model.script(name, [failure]))
        problem = until(
            lambda last=before: [
                p for p in scene.yourcall.waiting() if p["kind"] == "problem" and p["id"] != last
            ],
            40,
            what=name,
            show=scene.yourcall.waiting,
        )[0]
        assert title in problem["title"], (name, problem)
        assert advice in problem["body"], (name, problem)
        assert problem["questions"] == []
        if before:
            scene.yourcall.wait_state(before, "ended")
        before = problem["id"]
    claude.say(scene.model.script("again", [text("Back.")]))
    scene.yourcall.wait_state(before, "ended")
    assert scene.yourcall.pause("ready")["body"] == "Back."


def test_a_login_that_worked_closes_the_login_problem(scene: Scene) -> None:
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model, env={"CLAUDE_CODE_MAX_RETRIES": "0"})
    claude.say(scene.model.script("login", [FAILURES["login"][0]]))
    problem = scene.yourcall.pause("problem")
    # A browser's login cannot be had here: Claude's own word for it, through the hook that it would call.
    told = {
        "session_id": problem["session_id"],
        "hook_event_name": "Notification",
        "notification_type": "auth_success",
        "message": "Claude Code login successful",
        "cwd": str(scene.home.project),
    }
    settings = json.loads(scene.home.settings.read_text())
    (hook,) = [h["command"] for entry in settings["hooks"]["Notification"] for h in entry["hooks"]]
    scene.yourcall.as_hook(hook, told, claude.pid)
    scene.yourcall.wait_state(problem["id"], "ended")


def test_a_service_that_does_not_answer_is_told_while_claude_tries_again(scene: Scene) -> None:
    """No hook tells of retries; the screen does, and it is taken back when the service answers."""
    limit = error(429, "rate_limit_error", "Slow down, please.", times=1, retry_after="9")
    claude = scene.ask([limit], [text("Never said.")])
    claude.terminal.wait_until(lambda screen: "Retrying in" in screen)
    problem = scene.yourcall.pause("problem")
    assert "does not answer as it should" in problem["title"]
    assert problem["body"].startswith("API error")
    assert "tries again by itself" in problem["body"]
    scene.yourcall.wait_state(problem["id"], "ended")
    assert scene.yourcall.pause("ready")["body"] == "Recovered."
