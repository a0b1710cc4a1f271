"""The configuration file: what it may say, and what is told when it says something else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.daemon.config import Config, Refused, parse, read_config, with_environment

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "config.md"


def test_nothing_is_needed(tmp_path: Path) -> None:
    assert read_config(tmp_path) == Config()
    assert parse("") == Config()


def test_what_is_said_counts(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[discovery]\nmode = "all"\n[keep]\ndays = 7\n')
    config = read_config(tmp_path)
    assert isinstance(config, Config)
    assert (config.discovery.mode, config.discovery.root_pid, config.keep.days) == ("all", 0, 7)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[discovery]\nmode = "x"\n', "line 2: [discovery] mode: invalid enum value 'x'; it can be off, tmux"),
        ("[server]\n\nprot = 1\n", "line 3: [server] knows no 'prot'; there are: port, bind, public_url."),
        ("\n[sever]\nport = 1\n", "line 2: the file knows no 'sever'; there are: discovery, claude, server"),
        ('[server]\nport = "x"\n', "line 2: [server] port: expected `int`, got `str`."),
        ("[server]\nport = 70000\n", "line 2: [server] port: expected `int` <= 65535."),
        ("[keep]\ndays = 0\n", "line 2: [keep] days: expected `float` > 0.0."),
        ('[claude]\nallowed_tools = ["a", 3]\n', "line 2: [claude] allowed_tools[1]: expected `str`, got `int`."),
        ("[a]\n[a]\n", "is not TOML: Cannot declare ('a',) twice (at line 2, column 3)"),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_told_with_its_line(text: str, says: str) -> None:
    refused = parse(text)
    assert isinstance(refused, Refused)
    assert says in refused.reason


def test_one_run_may_look_for_other_sessions() -> None:
    config = with_environment(Config(), {"YOURCALL_DISCOVERY": "off"})
    assert isinstance(config, Config)
    assert config.discovery.mode == "off"
    assert with_environment(Config(), {}) == Config()
    refused = with_environment(Config(), {"YOURCALL_DISCOVERY": "maybe"})
    assert refused == Refused("YOURCALL_DISCOVERY is 'maybe'; it can be off, tmux or all.")


@given(st.text(max_size=60))
def test_no_text_raises(text: str) -> None:
    assert isinstance(parse(text), Config | Refused)


def test_every_setting_is_in_the_reference() -> None:
    page = REFERENCE.read_text()
    for section in Config.__struct_fields__:
        for name in getattr(getattr(Config(), section), "__struct_fields__", ()):
            assert f"`{section}.{name}`" in page
    example = page.split("```toml\n")[1].split("```")[0]
    assert parse(example) == Config(), "the example in the reference is said to change nothing"
