"""A device that may answer, but not make rules, allows once and no more: by every way in, on a real daemon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from scripted_claude import ScriptedClaude
from websockets.sync.client import connect as websocket

from kit.agent_world import World, tell
from kit.poll import until
from kit.yourcall import Yourcall

SUGGESTIONS = {
    # What Claude Code offers as "don't ask again": for good, and until the session ends.
    "allow_always": {
        "type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}],
        "behavior": "allow", "destination": "localSettings",
    },
    "allow_session": {
        "type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}],
        "behavior": "allow", "destination": "session",
    },
}  # fmt: skip


def device(yc: Yourcall, name: str, scopes: str) -> dict[str, str]:
    made = yc.run("devices", "add", name, "--scopes", scopes, "--json").json
    return {"Authorization": f"Bearer {made['token']}"}


def asked(yc: Yourcall, claude: ScriptedClaude, effect: str) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The prompt, its option of this effect, and the request that is held."""
    held = claude.asks("Bash", suggestions=[SUGGESTIONS[effect]], command="ls -la")
    prompt = yc.wait_prompt()
    (option,) = [each for each in prompt["questions"][0]["options"] if each["effect"] == effect]
    return prompt, option, held


def is_open(yc: Yourcall, prompt: dict[str, Any]) -> bool:
    return yc.show(prompt["id"])["state"] == "open"


@pytest.mark.parametrize("effect", SUGGESTIONS)
def test_http_refuses_a_lasting_grant_without_rules(yc: Yourcall, claude: ScriptedClaude, effect: str) -> None:
    prompt, option, held = asked(yc, claude, effect)
    narrow, wide = device(yc, "narrow", "read,answer"), device(yc, "wide", "read,answer,rules")
    url = f"{yc.url}/api/prompts/{prompt['id']}/answer"
    question = prompt["questions"][0]["id"]
    ways: list[dict[str, Any]] = [
        {"option": option["id"]},
        {"option": effect},
        {"option": option["label"]},
        {"choices": {question: [option["id"]]}},
        {"option": option["id"], "sure": True, "text": "go on"},
    ]
    for body in ways:
        reply = httpx.post(url, json=body, headers=narrow, trust_env=False)
        assert reply.status_code == 403, (body, reply.text)
        assert "it needs `rules`" in reply.json()["error"]
        assert "allowed once" in reply.json()["error"]
        assert is_open(yc, prompt)
    assert httpx.post(url, json={"option": option["id"]}, headers=wide, trust_env=False).status_code == 202
    decided = held.answer()
    assert decided is not None
    assert decided["hookSpecificOutput"]["decision"]["updatedPermissions"]


def test_once_is_still_allowed_without_rules(yc: Yourcall, claude: ScriptedClaude) -> None:
    prompt, _, held = asked(yc, claude, "allow_always")
    url = f"{yc.url}/api/prompts/{prompt['id']}/answer"
    reply = httpx.post(url, json={"option": "allow"}, headers=device(yc, "n", "read,answer"), trust_env=False)
    assert reply.status_code == 202, reply.text
    decided = held.answer()
    assert decided is not None
    assert decided["hookSpecificOutput"]["decision"]["behavior"] == "allow"
    assert "updatedPermissions" not in decided["hookSpecificOutput"]["decision"]


@pytest.mark.parametrize("effect", SUGGESTIONS)
def test_interactive_prompts_refuse_it_too(yc: Yourcall, claude: ScriptedClaude, effect: str) -> None:
    prompt, option, _ = asked(yc, claude, effect)
    narrow = device(yc, "narrow", "read,answer")
    response = {"requestId": prompt["id"], "selectedOption": option["id"]}
    url = f"{yc.url}/api/interactive-prompts/respond"
    reply = httpx.post(url, json=response, headers=narrow, trust_env=False)
    assert (reply.status_code, reply.json()["result"]) == (422, "refused"), reply.text
    assert "it needs `rules`" in reply.json()["detail"]
    feed = yc.url.replace("http", "ws") + "/api/interactive"
    with websocket(feed, proxy=None, additional_headers=narrow) as talk:
        talk.send(json.dumps(response))
        said = until(
            lambda: (word := json.loads(talk.recv(timeout=20)))["type"] == "prompt-response" and word,
            what="what became of it",
        )
    assert said["result"] == "refused"
    assert is_open(yc, prompt)


@pytest.mark.parametrize("effect", SUGGESTIONS)
@pytest.mark.parametrize("by", ["key", "label", "keys"])
def test_json_rpc_refuses_it_too(yc: Yourcall, claude: ScriptedClaude, effect: str, by: str) -> None:
    prompt, option, _ = asked(yc, claude, effect)
    place = prompt["questions"][0]["options"].index(option)
    inputs: dict[str, list[dict[str, str]]] = {
        "key": [{"input": "b"}],  # the first letter that no allow, deny or stop has
        "label": [{"input": option["label"]}],
        "keys": [*({"key": "down"} for _ in range(place)), {"key": "enter"}],
    }
    narrow = device(yc, "narrow", "read,answer")

    def call(method: str, **params: str) -> dict[str, Any]:
        talk.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        return until(
            lambda: (word := json.loads(talk.recv(timeout=20))).get("id") == 1 and word,
            what=f"a reply to {method}",
        )

    with websocket(yc.url.replace("http", "ws") + "/api/rpc", proxy=None, additional_headers=narrow) as talk:
        assert "result" in call("workspace/session/watch", session_id=claude.session_id)
        said: dict[str, Any] = {}
        for each in inputs[by]:
            said = call("session/input", session_id=claude.session_id, **each)
    assert said["error"]["code"] == -32002, said
    assert "it needs `rules`" in said["error"]["message"]
    assert is_open(yc, prompt)


# Answers over the socket of the command line; the status goes into a file.
ANSWER = """
import http.client, json, os, socket, sys
home, prompt, option, out = sys.argv[1:5]
os.chdir(home)
line = http.client.HTTPConnection("localhost")
line.sock = socket.socket(socket.AF_UNIX)
line.sock.connect("api.sock")
line.request("POST", f"/api/prompts/{prompt}/answer", json.dumps({"option": option}))
reply = line.getresponse()
with open(out + ".new", "w") as file:
    json.dump([reply.status, json.loads(reply.read())["detail"]], file)
os.rename(out + ".new", out)
"""


def test_a_supervisor_agent_allows_once_and_no_more(yc: Yourcall, tmp_path: Path) -> None:
    yc.configure(f'[supervisors.boss]\nagent = "claude"\nfolder = "{tmp_path}"\n')
    world = World(tmp_path, yc)
    (tmp_path / "answer.py").write_text(ANSWER)
    try:
        with ScriptedClaude(tmp_path, yc) as claude:
            boss = world.runner()
            tell(boss, world.greeting(boss.pid, "boss-session"))
            world.heard("boss-session")
            prompt, option, held = asked(yc, claude, "allow_always")

            def answers(word: str) -> tuple[int, str]:
                out = tmp_path / f"{word}.reply"
                tell(boss, f"{world.script('answer')} {yc.home} {prompt['id']} {word} {out}")
                until(out.exists, what="a reply")
                status, detail = json.loads(out.read_text())
                return status, detail

            status, detail = answers(option["id"])
            assert (status, "supervisor agent may allow this once" in detail) == (422, True), detail
            assert is_open(yc, prompt)
            assert answers("allow")[0] == 202
            decided = held.answer()
            assert decided is not None
            assert "updatedPermissions" not in decided["hookSpecificOutput"]["decision"]
    finally:
        world.close()
