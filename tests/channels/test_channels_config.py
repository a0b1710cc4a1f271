"""The channels' part of the configuration, and where their secrets are: what is wrong is said, with its line."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import Struct

from yourcall.channels import ntfy
from yourcall.channels.config import Configured, with_push
from yourcall.channels.push import channel
from yourcall.channels.secrets import read_secrets, secrets_of, variable, write_secret
from yourcall.cli.commands.channels import put_channel
from yourcall.core.notify_policy import When
from yourcall.daemon.config import Config, parse, read_config
from yourcall.model.prompts import Refused

NTFY = '[channels.phone]\ntype = "ntfy"\ntopic = "abc"\n'
LADDER = """
[notify]
quiet = "22:00-07:00"
quiet_lets = ["trust"]

[[notify.when]]
project = "*/x"
tell = []
"""
B = '[channels.b]\ntype = "ntfy"\n'


def test_channels_and_the_ladder_are_read() -> None:
    config = parse(LADDER + NTFY)
    assert isinstance(config, Config)
    assert config.channels == {"phone": Configured("ntfy", ntfy.Settings("abc"))}
    assert config.notify.when == (When((), project="*/x"),)
    assert with_push(config.channels)["push"].settings == channel.Settings()
    named = parse('[channels.push]\nservices = ["https://push.example"]\n')
    assert isinstance(named, Config)
    settings: Struct = with_push(named.channels)["push"].settings
    assert settings == channel.Settings(services=("https://push.example",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (NTFY + "\n[channels.b]\ntype = 3\n", "line 6: [channels.b] `type` must be one of: push, ntfy"),
        ('[channels.b]\ntopic = "x"\n', "line 1: [channels.b] `type` must be one of: push, ntfy"),
        (B, "line 1: [channels.b] 'topic' is missing."),
        (B + '\ntopic = "a b"\n', "line 4: [channels.b] topic: expected `str` matching regex"),
        (B + 'topic = "x"\ncolor = 1\n', "line 4: [channels.b] it knows no 'color'; there are: type, topic"),
        (
            B + 'topic = "x"\nrung = "roof"\n',
            "line 4: [channels.b] rung: invalid enum value 'roof'; it can be desk",
        ),
        ('[channels.b]\ntype = "push"\n', "line 2: [channels.b] the phone app's push is one channel"),
        ('[channels."B b"]\ntype = "ntfy"\n', "a channel's name is small letters"),
        ("[channels]\nx = 1\n", "[channels.x] channels are sections: [channels.NAME]."),
        ("channels = 1\n", "line 1: [channels] channels are sections"),
        ('[notify]\nquiet = "22-7"\n', "line 2: [notify] quiet: expected `str` matching regex"),
        (
            '[notify]\nquiet_lets = ["x"]\n',
            "line 2: [notify] quiet_lets[0]: invalid enum value 'x'; it can be perm",
        ),
        ('[[notify.when]]\ntell = ["push", "fone"]\n' + NTFY, "line 1: [notify] when: there is no channel 'fone'"),
        ("[notify]\ndesk_s = -1\n", "line 2: [notify] desk_s: expected `float` >= 0.0."),
        (
            '[keep]\ndays = 1\n[[notify.when]]\nproject = "x"\n',
            "line 3: [notify] when[0]: object missing required",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, says: str) -> None:
    refused = parse(text)
    assert isinstance(refused, Refused)
    assert says in refused.reason


def test_a_secret_in_the_wrong_file_is_refused_and_not_repeated() -> None:
    refused = parse(NTFY + 'token = "tk_hushhush"\n')
    assert isinstance(refused, Refused)
    assert (
        "line 4: [channels.phone] 'token' is a secret: put it into secrets.toml, under [phone]" in refused.reason
    )
    assert "hush" not in refused.reason


def test_secrets_come_from_the_file_or_before_it_from_the_environment(tmp_path: Path) -> None:
    assert read_secrets(tmp_path) == {}
    assert write_secret(tmp_path, "phone", "token", 'a"b\\c') is None
    kept = read_secrets(tmp_path)
    assert kept == {"phone": {"token": 'a"b\\c'}}
    assert secrets_of("phone", ("token",), kept, {}) == {"token": 'a"b\\c'}
    assert secrets_of("my-phone", ("token",), {}, {"YOURCALL_MY_PHONE_TOKEN": "t"}) == {"token": "t"}
    assert secrets_of("phone", ("token",), kept, {variable("phone", "token"): "t"}) == {"token": "t"}
    assert secrets_of("phone", (), kept, {}) == {}
    assert write_secret(tmp_path, "phone", "", None) is None
    assert read_secrets(tmp_path) == {}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_secrets_that_others_may_read_are_not_used(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "secrets.toml"
    path.write_text('[phone]\ntoken = "hush"\n')
    path.chmod(mode)
    refused = read_secrets(tmp_path)
    assert isinstance(refused, Refused)
    assert "chmod 600" in refused.reason


@pytest.mark.parametrize("text", ["[phone\nhush", "[phone]\ntoken = hush", "[phone]\ntoken = 3", 'hush = "x"'])
def test_secrets_that_cannot_be_read_are_not_repeated(tmp_path: Path, text: str) -> None:
    path = tmp_path / "secrets.toml"
    path.write_text(text)
    path.chmod(0o600)
    refused = read_secrets(tmp_path)
    assert isinstance(refused, Refused)
    assert "cannot be understood" in refused.reason
    assert "= hush" not in refused.reason


def test_channels_that_are_added_at_once_are_all_there(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("# mine\n")
    names = [f"n{number}" for number in range(8)]
    begin = threading.Barrier(len(names))

    def add(name: str) -> None:
        begin.wait()
        put_channel(tmp_path, name, "ntfy", {"topic": name}, {"token": f"tk-{name}"})

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(add, names))
    config = read_config(tmp_path)
    assert isinstance(config, Config)
    assert set(config.channels) == set(names)
    kept = read_secrets(tmp_path)
    assert kept == {name: {"token": f"tk-{name}"} for name in names}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "secrets.toml"]


def test_the_first_channel_may_come_before_the_first_start(tmp_path: Path) -> None:
    home = tmp_path / "home"
    put_channel(home, "phone", "ntfy", {"topic": "abc"}, {"token": "tk"})
    assert read_secrets(home) == {"phone": {"token": "tk"}}
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("typed", ["sword\x7ffish", "sword\udcfffish", "sword\nfish"])
def test_a_secret_with_a_key_that_was_no_letter_is_refused_and_costs_no_other(tmp_path: Path, typed: str) -> None:
    """Where a terminal and its shell do not agree on Backspace, a hidden field takes it for a letter."""
    assert write_secret(tmp_path, "phone", "token", "tk") is None
    refused = write_secret(tmp_path, "bot", "token", typed)
    assert isinstance(refused, Refused)
    assert "fish" not in refused.reason
    assert read_secrets(tmp_path) == {"phone": {"token": "tk"}}
