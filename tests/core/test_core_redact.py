"""What looks like a secret does not leave; what people need to decide does."""

from __future__ import annotations

import json
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.core.redact import LONGEST, MASK, masked, masked_json, masked_prompt
from yourcall.model.prompts import Option, Prompt, Question

# Made up, each in the shape its maker gives it; cut in two so that no scanner takes this file for a leak.
SHAPED = [
    "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a",
    "github" + "_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789",
    "glpat" + "-ABCdef123456GHIjkl78",
    "xoxb" + "-123456789012-abcdefGHIJKL",
    "sk-ant" + "-api03-AbCdEfGhIjKlMnOp_qrstuv",
    "sk" + "-proj-AbCdEfGh1234567890",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "npm" + "_abcdefghijklmnopqrstuvwxyz0123456789",
    "hf" + "_AbCdEfGhIjKlMnOpQrStUvWx",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "110201543" + ":AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    "yc" + "_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4",
]
SAID = [
    ("export DB_PASSWORD=%s", "hunter2!"),
    ("mysql --password=%s -h db", "hunter2"),
    ("curl -u admin:%s https://x.example", "hunter2"),
    ("psql postgres://app:%s@db.example/main", "hunter2"),
    ('{"apiKey": "%s"}', "abc123abc"),
    ("aws_secret_access_key = %s", "wJalrXUtnFEMI/K7MDENG"),
    ("curl -H 'Authorization: Bearer %s'", "abcdefgh12345"),
    ("http --auth-token %s get x", "abcdefgh"),
    ("token: %s", "abc-def"),
    ("GITHUB_TOKEN=%s gh pr list", "whatever"),
    ("client-secret => '%s'", "s3cr3t"),
    ("mysql -u root -p%s shop", "hunter22"),
    ("sshpass -p %s ssh host", "hunter22"),
    ("docker login -u me -p %s", "hunter22"),
    ("echo %s | docker login -u me --password-stdin", "hunter22"),
    ("redis-cli -h db -a %s ping", "hunter22"),
    ("openssl enc -aes256 -k %s -in x", "hunter22"),
    ("heroku config:set DB_PASS=%s", "hunter22"),
    ("STRIPE_KEY=%s node pay.js", "hunter22"),
    ("git clone https://%s@github.com/me/shop", "ghtoken123456"),
    ("curl -H 'Cookie: session=%s' https://x", "hunter22"),
    ("curl --cookie sid=%s https://x", "hunter22"),
    ('{"Authorization":"Bearer %s"}', "abcdefgh12345"),
    ('{"Authorization": "token %s"}', "abcdefgh12345"),
    ("psql 'postgres://app:%s@db.example/main'", "p$ssw0rd!"),
]
HARMLESS = [
    "rm -rf build && npm test",
    "git show 3f2a9c1e8b7d6c5a4f3e2d1c0b9a8f7e6d5c4b3a",
    "docker pull app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "cat src/auth/tokens/refresh_token_store.py",
    "pytest tests/auth/test_password_reset.py -k expired",
    "author: Ada Lovelace",
    "max_tokens: 4096",
    "mkdir -p build/out && docker run -p 8080:80 app",
    "mysql -h db shop < dump.sql",
    "git clone ssh://git@github.com/me/shop",
    "primary_key: id",
    "echo done | tee log.txt",
    "https://example.com/a/b?page=2",
    "The secret of a good kite is its tail.",
    "a-very-long-branch-name-that-somebody-really-did-choose-once",
]


@pytest.mark.parametrize("secret", SHAPED, ids=lambda secret: secret[:6])
@pytest.mark.parametrize("around", ["%s", "run %s now", "x='%s'", "url/%s/y", "(%s)", "a\n%s\nb"])
def test_a_key_with_a_shape_is_masked_wherever_it_stands(secret: str, around: str) -> None:
    shown = masked(around % secret)
    assert secret[10:] not in shown
    assert MASK in shown


@pytest.mark.parametrize(("text", "secret"), SAID)
def test_what_is_called_a_secret_is_masked(text: str, secret: str) -> None:
    shown = masked(text % secret)
    assert secret not in shown
    assert shown.startswith(text[:4]), "the rest is there to decide on"


def test_a_private_key_is_masked_whole() -> None:
    inner = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7"
    key = f"-----BEGIN PRIVATE KEY-----\n{inner}\n-----END PRIVATE KEY-----"
    shown = masked(f"echo '{key}' > key.pem")
    assert not any(line in shown for line in inner.splitlines())
    assert "key.pem" in shown


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_needed_to_decide_stays(text: str) -> None:
    assert masked(text) == text


def test_a_long_run_of_chance_is_masked() -> None:
    assert masked("deploy Zx8Kq2Lm9Pv4Rt7Wy1Bn6Hd3Fj5Gs0Ac") == f"deploy {MASK}"


@given(st.text(st.sampled_from("ab1A:=-_ @/.'\"\n•") | st.characters(), max_size=200))
def test_masking_twice_is_masking_once(text: str) -> None:
    once = masked(text)
    assert masked(once) == once


@given(st.text(st.sampled_from(string.ascii_letters + string.digits), min_size=12, max_size=40))
def test_no_password_survives_its_name(secret: str) -> None:
    for text in (f"PASSWORD={secret}", f'"api_key": "{secret}"', f"https://me:{secret}@host/x"):
        assert secret not in masked(text)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "token=",
        "token=a ",
        "-",
        "a.a-",
        "eyJ",
        "://a:",
        "-----BEGIN ",
        "\"'",
        "A1b",
        "mysql -",
        "echo aaa",
        "A_KEY",
        "cookie: ",
        "a://b",
    ],
)
def test_no_text_takes_long(unit: str) -> None:
    began = time.monotonic()
    masked(unit * (2 * LONGEST // len(unit)))
    assert time.monotonic() - began < 5


def test_a_prompt_is_masked_in_every_word_of_the_agent() -> None:
    leak = SHAPED[0]
    option = Option("o", f"Use {leak}", "choose", f"d {leak}", f"p {leak}")
    question = Question("q", f"Is {leak} right?", (option,))
    prompt = Prompt(
        "p1", "question", "claude", "s1", "/x", f"t {leak}", 1.0, body=f"b {leak}", questions=(question,)
    )
    shown = masked_prompt(prompt)
    assert leak not in repr(shown)
    assert (shown.id, shown.questions[0].options[0].id) == ("p1", "o")


def test_a_tools_input_stays_json() -> None:
    given_ = {
        "command": f"echo {SHAPED[0]}",
        "env": {"password": "x", "n": 3},
        "list": ["token=abcdef", None, True],
    }
    shown = json.loads(masked_json(json.dumps(given_).encode()))
    assert shown["env"] == {"password": MASK, "n": 3}
    assert shown["list"] == [f"token={MASK}", None, True]
    assert SHAPED[0] not in shown["command"]
    assert masked_json(b"{") == masked_json(None) == masked_json(b"[" * 5000) == ""
