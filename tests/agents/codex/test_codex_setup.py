"""Our hooks in Codex's hooks file: put in, found again, taken out to the byte; and the trust that Codex keeps."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.codex.setup import EVENTS, add, blocked, check, remove, untrusted
from yourcall.agents.setup_spec import Edited, parse_version
from yourcall.model.prompts import Refused

LAUNCHER = "/home/ann/.yourcall/hook"
NEW = [(0, 166, 0)]
PATH = "/home/ann/.codex/hooks.json"

THEIRS = """{
  // not allowed in JSON, so not here
}
"""
FILES = [
    None,
    "",
    "{}",
    "{ }\n",
    '{"hooks":{}}',
    '{"hooks":{"Stop":[]},"description":"a  b"}\n',
    '{\r\n\t"description": "b",\r\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}\r\n}',
    '{"hooks": {"PermissionRequest": [{"matcher": "Bash", "hooks": [{"type":"command","command":"x"}]}]}}',
]


def added(text: str | None, launcher: str = LAUNCHER) -> str:
    edited = add(text, launcher, NEW)
    assert isinstance(edited, Edited)
    assert edited.text is not None
    return edited.text


def taken_out(text: str) -> str | None:
    edited = remove(text)
    assert isinstance(edited, Edited)
    return edited.text


@pytest.mark.parametrize("text", FILES)
def test_what_is_put_in_comes_out_to_the_byte(text: str | None) -> None:
    assert taken_out(added(text)) == text


words = st.text(alphabet='ab "\\é', max_size=6)
hook = st.fixed_dictionaries({"type": st.just("command"), "command": words, "timeout": st.integers(1, 99)})
group = st.fixed_dictionaries({"hooks": st.lists(hook, max_size=2)}, optional={"matcher": words})
events = st.dictionaries(
    st.sampled_from([*EVENTS, "PreToolUse", "Made up"]), st.lists(group, max_size=2), max_size=4
)
files = st.fixed_dictionaries({}, optional={"hooks": events, "description": words})


@given(files, st.sampled_from([None, 2, 4, "\t"]), st.booleans())
def test_any_file_gets_its_bytes_back(value: object, indent: int | str | None, newline: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False) + ("\n" if newline else "")
    new = added(text)
    assert taken_out(new) == text
    assert check(new, LAUNCHER, NEW) == []
    assert add(new, LAUNCHER, NEW) == Edited(new, False)


@given(files)
def test_other_peoples_hooks_keep_their_place_so_that_codex_still_trusts_them(
    value: dict[str, dict[str, list[object]]],
) -> None:
    before, after = value.get("hooks", {}), json.loads(added(json.dumps(value)))["hooks"]
    for event, groups in before.items():
        assert after[event][: len(groups)] == groups


def test_each_hook_informs_in_the_background_and_names_the_caller() -> None:
    hooks = json.loads(added(None))["hooks"]
    assert set(hooks) == set(EVENTS)
    for event, groups in hooks.items():
        ((only,),) = ([group["hooks"] for group in groups],)
        (one,) = only
        assert one["command"] == f"{LAUNCHER} -b codex {event} $PPID 2>/dev/null || : yourcall"
        assert one["timeout"] <= 3  # more, and Codex warns


def test_the_person_is_told_of_the_review() -> None:
    edited = add(None, LAUNCHER, NEW)
    assert isinstance(edited, Edited)
    assert any("Trust all and continue" in note for note in edited.notes)


@pytest.mark.parametrize(
    "text", ["{", "[]", '"x"', THEIRS, '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"a":1,}']
)
def test_a_broken_file_is_reported_and_never_written(text: str) -> None:
    refused = add(text, LAUNCHER, NEW)
    assert isinstance(refused, Refused)
    assert "nothing was changed" in refused.reason


@pytest.mark.parametrize(
    "text",
    [
        '{"$schema": "x"}',
        '\ufeff{"hooks": {}}',
        '{"hooks": {"Stop": [], "Stop": []}}',
        '{"hooks": {}, "hooks": {}}',
    ],
)
def test_a_file_that_codex_skips_is_reported_and_never_written(text: str) -> None:
    """Measured on 0.166.0: each of these is one warning, and no hook of the file runs."""
    refused = add(text, LAUNCHER, NEW)
    assert isinstance(refused, Refused)
    assert "Codex skips" in refused.reason
    assert [finding.code for finding in check(text, LAUNCHER, NEW)] == ["unaccepted", "missing"]


def test_a_description_is_for_new_versions_only() -> None:
    assert isinstance(add('{"description": "x"}', LAUNCHER, NEW), Edited)
    assert isinstance(add('{"description": "x"}', LAUNCHER, [(0, 142, 5), *NEW]), Refused)


def test_an_old_codex_is_refused_with_what_to_do() -> None:
    refused = add(None, LAUNCHER, [(0, 166, 0), (0, 98, 0)])
    assert isinstance(refused, Refused)
    assert "0.98.0" in refused.reason
    assert [finding.code for finding in check(None, LAUNCHER, [(0, 98, 0)])] == ["too_old"]


def test_what_is_wrong_is_named() -> None:
    assert [finding.code for finding in check(None, LAUNCHER, NEW)] == ["missing"]
    assert [finding.code for finding in check("{", LAUNCHER, NEW)] == ["broken"]
    moved = added(None, "/elsewhere/hook")
    assert [finding.code for finding in check(moved, LAUNCHER, NEW)] == ["moved"]
    fewer = json.loads(added(None))
    del fewer["hooks"]["Stop"]
    assert [finding.code for finding in check(json.dumps(fewer), LAUNCHER, NEW)] == ["partial"]
    longer = added(None).replace('"timeout": 3', '"timeout": 600')
    assert [finding.code for finding in check(longer, LAUNCHER, NEW)] == ["outdated"]
    assert [finding.code for finding in blocked("[features]\nhooks = false\n")] == ["disabled"]
    assert blocked("[features]\nhooks = true\n") == blocked("not [ toml") == blocked(None) == []


def trusted(text: str, *, path: str = PATH) -> str:
    """What Codex writes into config.toml when all hooks were trusted: measured on 0.166.0."""
    found = []
    for event, groups in json.loads(text)["hooks"].items():
        name = re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()
        found += [
            f'[hooks.state."{path}:{name}:{number}:{place}"]\ntrusted_hash = "sha256:00"\n'
            for number, each in enumerate(groups)
            for place, _ in enumerate(each["hooks"])
        ]
    return "\n".join(found)


def test_trust_is_looked_up_at_the_place_of_our_hook() -> None:
    text = added(FILES[-1])
    assert untrusted(text, "", PATH) == list(json.loads(text)["hooks"])
    assert untrusted(text, trusted(text), PATH) == []
    assert untrusted(text, trusted(text, path="/other/hooks.json"), PATH) != []
    first_only = trusted(text).replace("permission_request:1:0", "permission_request:7:0")
    assert untrusted(text, first_only, PATH) == ["PermissionRequest"]
    assert untrusted(None, None, PATH) == untrusted("{", "x", PATH) == []


def test_the_version_is_read_as_codex_says_it() -> None:
    assert parse_version("codex-cli 0.166.0\n") == (0, 166, 0)
