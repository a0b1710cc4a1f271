import json
import re
import shutil
import subprocess

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from yourcall.agents.claude.setup import (
    EVENTS,
    OLDEST,
    RULED,
    Edited,
    Version,
    add,
    blocked,
    check,
    parse_version,
    remove,
    wanted,
)
from yourcall.model.prompts import Refused

NOW: list[Version] = [(2, 1, 325)]
OLD: list[Version] = [(2, 0, 76)]
HOOK = "/home/ada/.yourcall/hook"


def added(text: str | None, launcher: str = HOOK, versions: list[Version] = NOW) -> str:
    edited = add(text, launcher, versions)
    assert isinstance(edited, Edited), edited
    assert edited.text is not None
    return edited.text


def removed(text: str | None) -> str | None:
    edited = remove(text)
    assert isinstance(edited, Edited), edited
    return edited.text


def commands(text: str) -> list[str]:
    hooks = json.loads(text).get("hooks", {})
    return [hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]]


# --- settings files as people have them: any keys, any hooks of theirs, any formatting, keys written twice

Pairs = list[tuple[str, object]]
SPACE = st.text(alphabet=" \t\n\r", max_size=3)
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
THEIR_HOOK = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.text(max_size=12)}, optional={"timeout": st.integers(1, 9)}
)
THEIR_GROUP = st.fixed_dictionaries(
    {"hooks": st.lists(THEIR_HOOK, max_size=2)}, optional={"matcher": st.text(max_size=5)}
)
THEIR_EVENTS = st.sampled_from([*EVENTS, "PreToolUse", "PreCompact"])
THEIR_HOOKS = st.lists(st.tuples(THEIR_EVENTS, st.lists(THEIR_GROUP, max_size=2)), max_size=4)
OTHERS = st.tuples(st.text(max_size=6).filter(lambda key: key != "hooks"), SCALARS | st.lists(SCALARS, max_size=2))


class Object(list[tuple[str, object]]):
    """The members of a JSON object as written: order and repetition matter."""


def written(value: object, space: "list[str]", turn: "list[int]") -> str:
    def s() -> str:
        turn[0] += 1
        return space[turn[0] % len(space)]

    if isinstance(value, dict):
        value = Object(value.items())
    if isinstance(value, Object):
        inside = [f"{json.dumps(k)}{s()}:{s()}{written(v, space, turn)}" for k, v in value]
        return "{" + s() + f"{s()},{s()}".join(inside) + (s() if inside else "") + "}"
    if isinstance(value, list):
        inside = [written(item, space, turn) for item in value]
        return "[" + s() + f"{s()},{s()}".join(inside) + (s() if inside else "") + "]"
    return json.dumps(value, ensure_ascii=False)


@st.composite
def settings_texts(draw: st.DrawFn) -> str:
    members: Pairs = list(draw(st.lists(OTHERS, max_size=3)))
    for hooks in draw(st.lists(THEIR_HOOKS, max_size=2)):
        members.insert(draw(st.integers(0, len(members))), ("hooks", Object(hooks)))
    style = draw(st.sampled_from(["pretty", "compact", "wild"]))
    if style != "wild":
        value = {key: dict(inner) if isinstance(inner, Object) else inner for key, inner in members}
        text = json.dumps(value, indent=draw(st.sampled_from([0, 1, 2, 4, "\t"])) if style == "pretty" else None)
        text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    else:
        text = written(Object(members), draw(st.lists(SPACE, min_size=1, max_size=9)), [0])
    return draw(st.sampled_from(["", "\ufeff", "\n"])) + text + draw(st.sampled_from(["", "\n", "\r\n", " \n\n"]))


ANY_FILE = st.none() | settings_texts() | st.text(alphabet=" \t\r\n", max_size=3)
ANY_VERSIONS = st.lists(st.sampled_from([(2, 0, 45), (2, 0, 76), (2, 1, 20), (2, 1, 70), (2, 1, 325)]), max_size=2)


@given(ANY_FILE, ANY_VERSIONS)
@example(None, NOW)
@example("", NOW)
@example("\n", NOW)
@example("\ufeff", NOW)
@example("{}", NOW)
@example("{}\r\n", NOW)
@example("{ }", NOW)
@example("{\n}\n", NOW)
@example('{"hooks":{}}', NOW)
@example('{"hooks": { }}', NOW)
@example('{\n  "hooks": {\n  }\n}', NOW)
@example('{"hooks":{"Stop":[]}}', NOW)
@example('{"hooks":{"Stop":[ ]}, "a": 1}', NOW)
@example('{"hooks": 1, "hooks": {}}', NOW)
@example('{"a": "\u00e9\U0001f600\\ud800"}', NOW)
@settings(max_examples=400, deadline=None)
def test_what_was_added_comes_out_again_byte_for_byte(text: str | None, versions: list[Version]) -> None:
    new = added(text, versions=versions)
    assert removed(new) == text
    assert len(commands(new.removeprefix("\ufeff"))) >= len(wanted(HOOK, versions))


@given(settings_texts())
@settings(max_examples=200, deadline=None)
def test_nothing_of_theirs_changes(text: str) -> None:
    before, after = (json.loads(each.removeprefix("\ufeff")) for each in (text, added(text)))
    hooks = before.pop("hooks", {})
    for event, groups in after.pop("hooks").items():
        theirs = hooks.pop(event, [])
        assert groups[: len(theirs)] == theirs
        ours = {"hooks": [wanted(HOOK, NOW)[event]]} if event in EVENTS else None
        assert groups[len(theirs) :] == ([ours] if ours else [])
    assert (before, hooks) == (after, {})


@given(ANY_FILE, ANY_VERSIONS, ANY_VERSIONS)
@settings(max_examples=200, deadline=None)
def test_setting_up_again_replaces_and_never_adds_twice(
    text: str | None, versions: list[Version], later: list[Version]
) -> None:
    once = added(text, versions=versions)
    again = add(once, HOOK, versions)
    assert isinstance(again, Edited)
    assert (again.text, again.changed) == (once, False)
    moved = added(once, "/elsewhere/hook", later)
    assert moved == added(text, "/elsewhere/hook", later)
    assert HOOK not in moved


@given(settings_texts())
@settings(max_examples=200, deadline=None)
def test_after_the_agent_rewrote_the_file_exactly_ours_go(text: str) -> None:
    def without_empty(settings: dict[str, object]) -> dict[str, object]:
        hooks = settings.pop("hooks", {})
        assert isinstance(hooks, dict)
        kept = {event: groups for event, groups in hooks.items() if groups}
        return settings | ({"hooks": kept} if kept else {})

    rewritten = json.dumps(json.loads(added(text).removeprefix("\ufeff")), indent=2) + "\n"
    left = removed(rewritten)
    assert without_empty(json.loads(left or "{}")) == without_empty(json.loads(text.removeprefix("\ufeff")))
    assert "yourcall" not in (left or "") or "yourcall" in text


def test_how_it_looks() -> None:
    text = '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  }\n}\n'
    assert re.sub(r'\{"type".*?\}', "OURS", added(text, versions=OLD)) == (
        """\
{
  "model": "opus",
  "hooks": {
    "Stop": [
      {"hooks": []},
      {"hooks": [OURS]}
    ],
    "SessionStart": [ {"hooks": [OURS]} ],
    "SessionEnd": [ {"hooks": [OURS]} ],
    "UserPromptSubmit": [ {"hooks": [OURS]} ],
    "Notification": [ {"hooks": [OURS]} ],
    "PermissionRequest": [ {"hooks": [OURS]} ]
  }
}
"""
    )
    for found in (None, "{}", '{"a": 1}'):
        lines = added(found).splitlines()
        assert len(lines) == (len(EVENTS) + 4 if found != '{"a": 1}' else 1)


@pytest.mark.parametrize(
    "text", ['{\n"a": 1\n}', "{}\n", '{\n  "hooks": {}\n}', '{\n "hooks": {\n  "Stop": []\n }\n}']
)
def test_lines_end_as_the_others_do(text: str) -> None:
    new = added(text.replace("\n", "\r\n"))
    assert new == added(text).replace("\n", "\r\n")


# --- ours and theirs


def test_only_ours_go_even_from_another_home_and_out_of_a_shared_group() -> None:
    ours = wanted("/old place/hook", OLD)["Stop"]
    theirs = [
        {"type": "command", "command": "/home/ada/.yourcall/hook claude Stop 2>/dev/null || :"},
        {"type": "command", "command": f"{ours['command']} more"},
        {"type": "command", "command": "echo yourcall"},
        {"type": "http", "url": "http://127.0.0.1", "command": ours["command"]},
        {"type": "command", "command": [ours["command"]]},
        {"type": 5, "command": 5},
        "2>/dev/null || : yourcall",
    ]
    before = {"hooks": {"Stop": [{"matcher": "x", "hooks": [theirs[0], ours, *theirs[1:]]}]}, "b": 1}
    before["hooks"]["PreToolUse"] = [
        {"hooks": [ours, ours]},
        7,
        {"hooks": 3},
        {"hooks": [ours], "matcher": "Bash"},
    ]
    left = removed(json.dumps(before, indent=3))
    assert json.loads(left or "") == {
        "hooks": {"Stop": [{"matcher": "x", "hooks": theirs}], "PreToolUse": [7, {"hooks": 3}]},
        "b": 1,
    }


def test_a_group_never_stays_without_its_list() -> None:
    text = json.dumps(
        {"hooks": {"Stop": [{"matcher": "*", "hooks": [wanted(HOOK, NOW)["Stop"]]}]}, "a": 1}, indent=1
    )
    assert json.loads(removed(text) or "") == {"a": 1}


def test_settings_without_ours_are_not_touched() -> None:
    for text in (
        None,
        "",
        "{}",
        '{"hooks": 5}',
        '{"hooks": {"Stop": {}}}',
        '{"hooks": {"Stop": []}, "x": [1 ,2]}',
    ):
        assert remove(text) == Edited(text, False)


@pytest.mark.parametrize(
    "launcher", ["/a b/it's/hook", '/q"uo\\te/hook', "/$HOME/`x`/hook", "/é/☎/hook", "/a -b/hook"]
)
@pytest.mark.parametrize("versions", [NOW, OLD])
def test_any_path_reaches_the_shell_as_it_is(launcher: str, versions: list[Version]) -> None:
    new = added('{"a": 1}', launcher, versions)
    assert removed(new) == '{"a": 1}'
    assert check(new, launcher, versions) == []
    sh = shutil.which("sh")
    assert sh
    for command in commands(new):
        shown = command.replace(" 2>/dev/null", "").removesuffix(" || : yourcall")
        said = subprocess.run([sh, "-c", f"printf '%s\\n' {shown}"], capture_output=True, text=True, check=True)
        assert said.stdout.splitlines()[0] == launcher
        assert said.stdout.splitlines()[-2] == "claude"


# --- refusing


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1,}', "line 1, column 9"),
        ('{\n  // mine\n  "a": 1\n}', "line 2, column 3"),
        ("[]", "not a JSON object"),
        ('"hooks"', "not a JSON object"),
        ('{"hooks": []}', '"hooks" in the settings file is not an object'),
        ('{"hooks": null}', '"hooks" in the settings file is not an object'),
        ('{"hooks": {"Stop": {}}}', '"Stop" below "hooks" in the settings file is not a list'),
        ('{"hooks": {"PermissionRequest": "x"}}', '"PermissionRequest" below "hooks"'),
        ('{"a": ' + "[" * 100_000, "nested more than"),
        ('{"a": "' + "x" * 2_000_000 + '"}', "longer than"),
        ("hooks = true", "line 1, column 1"),
    ],
)
def test_what_cannot_be_edited_is_refused_with_a_sentence(text: str, says: str) -> None:
    refused = add(text, HOOK, NOW)
    assert isinstance(refused, Refused)
    assert says in refused.reason
    assert "nothing was changed" in refused.reason


def test_a_huge_file_of_theirs_survives() -> None:
    text = json.dumps({str(n): "x" * 80 for n in range(18_000)} | {"big": 10**4000}, indent=2)
    assert removed(added(text)) == text


@given(st.text() | st.text(alphabet='{}[]:,"hoks \\u1'))
@settings(deadline=None)
def test_no_text_makes_it_fail(text: str) -> None:
    for result in (add(text, HOOK, NOW), remove(text)):
        assert isinstance(result, Edited | Refused)
    assert check(text, HOOK, NOW)
    assert blocked(text) == []


def test_a_path_that_no_settings_file_can_hold_is_refused() -> None:
    for launcher in ("/a\nb/hook", "/\udcff/hook", "/\x1b[2J/hook"):
        assert isinstance(add(None, launcher, NOW), Refused)


# --- versions


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("2.1.325 (Claude Code)\n", (2, 1, 325)),
        ("2.0.76", (2, 0, 76)),
        ("v10.0.1-beta", (10, 0, 1)),
        ("Claude", None),
        ("2.1", None),
        ("", None),
        ("9" * 5000 + ".1.1", None),
    ],
)
def test_reading_the_version(said: str, version: Version | None) -> None:
    assert parse_version(said) == version


# What each real version has in its own list of hook events (read in the published packages), of those we use.
ACCEPTED = {
    (2, 0, 45): set(EVENTS) - {"Elicitation", "ElicitationResult", "StopFailure"},
    (2, 0, 76): set(EVENTS) - {"Elicitation", "ElicitationResult", "StopFailure"},
    (2, 1, 62): set(EVENTS) - {"Elicitation", "ElicitationResult", "StopFailure"},
    (2, 1, 77): set(EVENTS) - {"StopFailure"},
    (2, 1, 325): set(EVENTS),
}


@pytest.mark.parametrize("version", ACCEPTED)
def test_only_events_that_the_version_accepts_are_written(version: Version) -> None:
    edited = add(None, HOOK, [(2, 1, 325), version])
    assert isinstance(edited, Edited)
    assert edited.text is not None
    assert set(json.loads(edited.text)["hooks"]) == ACCEPTED[version]
    left_out = set(EVENTS) - ACCEPTED[version]
    assert all(any(name in note for note in edited.notes) for name in left_out)
    assert bool(edited.notes) == bool(left_out)


def test_an_unknown_version_gets_the_least_and_says_so() -> None:
    edited = add(None, HOOK, [])
    assert isinstance(edited, Edited)
    assert edited.text == added(None, versions=[OLDEST])
    assert "is not known" in edited.notes[0]


def test_a_version_without_permission_hooks_is_refused() -> None:
    refused = add(None, HOOK, [(2, 1, 325), (2, 0, 44)])
    assert isinstance(refused, Refused)
    assert "2.0.44" in refused.reason
    assert "claude update" in refused.reason


def test_the_hook_that_asks_the_rules_has_longer_than_it_ever_takes() -> None:
    """Claude runs the tool when its patience with the hook is over: 2 s for the daemon and 5 s alone must fit."""
    for tools in (RULED, "Bash"):
        assert int(wanted(HOOK, [(2, 1, 325)], tools)["PreToolUse"]["timeout"]) > 30


def test_informing_never_blocks_the_agent_and_waiting_waits() -> None:
    for version in [(2, 0, 76), (2, 1, 14), (2, 1, 15), (2, 1, 325)]:
        for name, hook in wanted(HOOK, [version]).items():
            if EVENTS[name].waits:
                assert (hook["timeout"], "async" in hook, " -b " in str(hook["command"])) == (86400, False, False)
            else:
                assert hook["timeout"] == 10
                assert (hook.get("async", False), " -b " in str(hook["command"])) == (
                    version >= (2, 1, 15),
                    version < (2, 1, 15),
                )


# --- checking


def codes(text: str | None, launcher: str = HOOK, versions: list[Version] = NOW) -> list[str]:
    found = check(text, launcher, versions)
    assert all(finding.says.endswith(".") and finding.do.endswith(".") for finding in found)
    return [finding.code for finding in found]


def test_right_settings_have_no_finding() -> None:
    for versions in (NOW, OLD, [], [*NOW, *OLD]):
        assert codes(added('{"a": 1}', versions=versions), versions=versions) == []
    # Whatever is there, is right for a version that we cannot ask.
    assert codes(added(None, versions=NOW), versions=[]) == []


def test_what_keeps_prompts_away_is_found() -> None:
    new = json.loads(added(None))
    part = json.dumps(new | {"hooks": {k: v for k, v in new["hooks"].items() if k != "PermissionRequest"}})
    twice = json.dumps(new | {"hooks": new["hooks"] | {"Stop": new["hooks"]["Stop"] * 2}})
    short = json.dumps(new).replace("86400", "60")
    assert codes(None) == codes("") == codes("{}") == codes('{"hooks": {}}') == ["missing"]
    assert codes("{") == ["broken"]
    assert codes(part) == ["partial"]
    assert "PermissionRequest" in check(part, HOOK, NOW)[0].says
    assert codes(added(None), launcher="/new/hook") == ["moved"]
    assert codes(twice) == codes(short) == ["outdated"]
    assert codes(added(None), versions=OLD) == ["unaccepted"]
    assert "Elicitation, ElicitationResult, StopFailure" in check(added(None), HOOK, OLD)[0].says
    assert codes(added(None, versions=OLD)) == ["partial"]
    assert codes(added(None), versions=[(2, 0, 44)]) == ["too_old"]
    assert codes(json.dumps(new | {"disableAllHooks": True})) == ["disabled"]
    assert codes(json.dumps(new | {"allowManagedHooksOnly": True})) == [], "only an administrator can say that"
    assert codes(json.dumps(new | {"disableAllHooks": False})) == []
    assert codes('{"disableAllHooks": true}') == ["disabled", "missing"]


def test_every_finding_that_setup_can_mend_is_mended_by_it() -> None:
    new = json.loads(added(None))
    short = json.dumps(new).replace("86400", "60")
    hidden = '{"hooks": ' + json.dumps(new["hooks"]) + ', "hooks": {}}'
    for text in (None, short, added(None, "/old/hook"), added(None, versions=OLD), hidden):
        assert codes(text) != []
        assert codes(added(text)) == []


def test_settings_can_block_hooks() -> None:
    assert [finding.code for finding in blocked('{"disableAllHooks": true}')] == ["disabled"]
    assert blocked('{"allowManagedHooksOnly": true}') == [], (
        "without effect in a person's settings: agents/claude/managed.py"
    )
    assert blocked(None) == blocked("") == blocked("{") == blocked("[1]") == blocked("{}") == []
    edited = add('{"disableAllHooks": true}', HOOK, NOW)
    assert isinstance(edited, Edited)
    assert "disableAllHooks" in edited.notes[0]


@pytest.mark.parametrize("text", [None, "", "{}", '{"hooks":{"PreToolUse":[]}}', '{\n  "model": "opus"\n}\n'])
def test_asking_for_tools_goes_in_stays_and_comes_out_again(text: str | None) -> None:
    new = (2, 1, 325)
    asking = add(text, HOOK, [new], ("Bash", "mcp__demo__.*"))
    assert not isinstance(asking, Refused)
    assert '"matcher": "Bash|mcp__demo__.*"' in (asking.text or "")
    assert add(asking.text, HOOK, [new]) == msgspec.structs.replace(asking, changed=False)
    assert check(asking.text, HOOK, [new]) == []
    taken_back = add(asking.text, HOOK, [new], ())
    assert not isinstance(taken_back, Refused)
    assert taken_back.text == getattr(add(text, HOOK, [new]), "text", None)
    gone = remove(asking.text)
    assert not isinstance(gone, Refused)
    assert gone.text == text


def test_what_is_no_tools_name_is_refused() -> None:
    assert isinstance(add(None, HOOK, [(2, 1, 325)], ("Bash(rm *)",)), Refused)
