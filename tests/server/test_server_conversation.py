"""A session's conversation over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

from server_house import House

DATA = Path(__file__).resolve().parent.parent / "data" / "claude"
URL = "/api/sessions/s1/conversation"


def told(house: House) -> Path:
    path = house.folder / "s1.jsonl"
    path.write_bytes((DATA / "conversation-tools.jsonl").read_bytes())
    below = house.folder / "s1" / "subagents"
    below.mkdir(parents=True)
    (below / "agent-ad76113d413214e98.jsonl").write_bytes((DATA / "conversation-subagent.jsonl").read_bytes())
    house.session("s1", transcript=str(path))
    return path


def test_pages_from_the_end_and_what_is_added(house: House) -> None:
    path = told(house)
    golden = [json.loads(line) for line in (DATA / "conversation-tools.entries.jsonl").read_text().splitlines()]
    with house.http(house.token()) as phone:
        whole = phone.get(URL, params={"limit": 500}).json()
        assert [{**entry, "offset": 0} for entry in whole["entries"]] == golden
        assert whole["next_before"] is None
        last = phone.get(URL, params={"limit": 3}).json()
        shown = len(last["entries"])
        assert 0 < shown <= 3
        assert last["entries"] == whole["entries"][-shown:]
        back = {"limit": 500, "before": last["next_before"], "file": last["file"]}
        assert phone.get(URL, params=back).json()["entries"] == whole["entries"][:-shown]

        ahead = {"after": last["end"], "file": last["file"]}
        assert phone.get(URL, params=ahead).json()["entries"] == []
        with path.open("a") as file:
            file.write(json.dumps({"type": "user", "message": {"content": "more"}}) + "\n")
        added = phone.get(URL, params=ahead).json()
        assert [(entry["type"], entry["text"]) for entry in added["entries"]] == [("user", "more")]
        assert added["end"] == path.stat().st_size


def test_a_subagents_conversation_is_its_own(house: House) -> None:
    told(house)
    with house.http(house.token()) as phone:
        page = phone.get(URL, params={"subagent": "ad76113d413214e98"}).json()
        assert {entry["subagent"] for entry in page["entries"]} == {"ad76113d413214e98"}
        assert phone.get(URL, params={"subagent": "none"}).json()["entries"] == []
        refused = phone.get(URL, params={"subagent": "../../s1"})
        assert refused.status_code == 404
        assert "not known" in refused.json()["error"]


def test_a_session_may_be_named_by_its_beginning_and_may_be_over(house: House) -> None:
    told(house)
    house.session("s22")
    house.session("s23")
    with house.http(house.token()) as phone:
        assert phone.get("/api/sessions/s1/conversation").status_code == 200
        assert phone.get("/api/sessions/s/conversation").status_code == 404
        both = phone.get("/api/sessions/s2/conversation")
        assert both.status_code == 404
        assert "s22" in both.json()["error"]
        assert phone.get("/api/sessions/none/conversation").status_code == 404


def test_nobody_reads_it_without_a_key(house: House) -> None:
    told(house)
    with house.http() as stranger:
        assert stranger.get(URL).status_code == 401


def test_a_path_that_is_no_transcript_is_not_read(house: House) -> None:
    secret = house.folder / "secret.txt"
    secret.write_text(json.dumps({"type": "user", "message": {"content": "secret"}}) + "\n")
    house.session("s9", transcript=str(secret))
    house.session("s8", transcript="")
    with house.http(house.token()) as phone:
        for name in ("s9", "s8"):
            refused = phone.get(f"/api/sessions/{name}/conversation")
            assert refused.status_code == 404
            assert "secret" not in refused.text


def test_what_is_asked_wrongly_is_told(house: House) -> None:
    told(house)
    with house.http(house.token()) as phone:
        for query in ("before=-1", "before=1.5", "after=x", "limit=0", "limit=501", "before=1&after=2"):
            refused = phone.get(f"{URL}?{query}")
            assert refused.status_code == 400, query
            assert refused.json()["error"].endswith(".")
