"""A mask never swallows shell syntax: what stands behind a masked value is shown, whatever it looks like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.core.redact import MASK, masked

# Made up, cut in two so that no scanner takes this file for a leak.
GHP = "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"

# Everything that makes a mask begin, up to the value.
BEGINNINGS = [
    "npm test --cookie ",
    "npm test --cookie=",
    "npm test --cookie '",
    'curl -H "Cookie: ',
    "curl -H 'Cookie: sid=",
    "Cookie: ",
    "cookie:",
    "npm test --token ",
    "npm test --token=",
    "npm test --password='",
    'npm test --api-key "',
    "npm test --auth-token ",
    "PASSWORD=",
    "export DB_PASSWORD='",
    'export DB_PASSWORD="',
    "token: ",
    "token = ",
    "client-secret => '",
    '{"apiKey": "',
    "Authorization: Bearer ",
    "Authorization: ",
    "auth: basic ",
    "bearer ",
    "basic ",
    "curl -u me:",
    "curl --user=me:",
    "curl -u 'me:",
    "psql postgres://app:",
    "mysql -u root -p",
    "sshpass -p ",
    "docker login -u me -p '",
    "redis-cli -a ",
    "openssl enc -k ",
    "STRIPE_KEY=",
    "heroku config:set DB_PASS=",
    "echo ",
    "printf '",
]
VALUES = ["hunter22", "hunter22hunter22", GHP, JWT, "Zx8Kq2Lm9Pv4Rt7Wy1Bn6Hd3Fj5Gs0Ac", "sk-" + "abcdefgh1234"]
# What may stand right behind the value and run something.
BEHIND = [
    "; python3 evil.py; git push origin main",
    ";python3 evil.py",
    "&& python3 evil.py",
    "&python3 evil.py",
    "| python3 evil.py",
    "|python3 evil.py",
    "\npython3 evil.py",
    "\r\npython3 evil.py",
    "$(python3 evil.py)",
    "`python3 evil.py`",
    "${x:-`python3 evil.py`}",
    "> evil.py",
    ">evil.py",
    "< evil.py",
    "<(python3 evil.py)",
    "(python3 evil.py)",
    "';python3 evil.py;'",
    "' ; python3 evil.py ; echo '",
    '";python3 evil.py;"',
    '" ; python3 evil.py ; echo "',
    "\\\npython3 evil.py",
    "\x1b[2K; python3 evil.py",
    "\u2028; python3 evil.py",
]


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("begins", BEGINNINGS)
def test_what_stands_behind_a_masked_value_is_shown(begins: str, behind: str) -> None:
    for value in VALUES:
        shown = masked(begins + value + behind)
        assert shown.endswith(behind), (value, shown)


@pytest.mark.parametrize(
    "text",
    [
        "npm test --cookie x; python3 evil.py; cat ~/.ssh/id_ed25519 | tee public/k.txt; git push origin main",
        "TOKEN= ./evil.sh",
        "DB_PASSWORD=\n./evil.sh",
        "STRIPE_KEY= ./evil.sh --now",
        "STRIPE_KEY=\n./evil.sh",
        "token=basic ./evil.sh",
        "token=token ./evil.sh",
        "X='token='token ./evil.sh",
        "X=token:basic ./evil.sh",
        "X='token:'basic ./evil.sh",
        "X=basic /tmp/evil.sh",
        "X='a'basic /tmp/evil.sh",
        "bearer\n./evil.sh.long-enough",
        "mysql \n-pevil.sh",
        "openssl enc -k\n./evil.sh",
        "echo 'token=';./evil.sh;'x'",
        'echo "token=\'" ; ./evil.sh ; echo "\'"',
        "client-secret => ./evil.sh",
        "--cookie\n./evil.sh",
    ],
)
def test_a_command_is_no_value(text: str) -> None:
    assert "evil.sh" in masked(text) or "python3 evil.py" in masked(text), masked(text)
    assert all(part in masked(text) for part in text.split("; ")[1:])


@pytest.mark.parametrize("kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"])
@pytest.mark.parametrize(
    "inside",
    [
        "\n; python3 evil.py ;\n",
        "\npython3 evil.py\n",
        "\nevil\n",
        "\n/tmp/evil\n",
        " && python3 evil.py && echo ",
        "$(python3 evil.py)",
        "\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n'; python3 evil.py; echo '\n",
    ],
)
@pytest.mark.parametrize("ends", [True, False])
def test_a_command_between_the_lines_of_a_key_is_shown(kind: str, inside: str, ends: bool) -> None:
    text = f"echo '-----BEGIN {kind}-----'{inside}" + (f"-----END {kind}-----" if ends else "")
    shown = masked(text)
    assert "evil" in shown
    assert shown.count("\n") == text.count("\n"), "a line is syntax"


def test_the_lines_of_a_key_are_masked_one_by_one() -> None:
    lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7aaaaaaaaaaaa", "q2Lm9Pv4Rt7Wy1Bn6Hd3Fj5Gs0Ac=="]
    for feed in ("\n", "\\n", "\r\n"):
        key = feed.join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])
        shown = masked(f"printf '{key}' > key.pem")
        assert not any(line in shown for line in lines)
        assert shown.endswith("-----END RSA PRIVATE KEY-----' > key.pem")


def test_each_cookie_of_a_header_is_masked_and_each_stays_visible() -> None:
    shown = masked("curl -H 'Cookie: sid=hunter22; user=ada-lovelace; theme=dark' https://x && make")
    assert shown == f"curl -H 'Cookie: sid={MASK}; user={MASK}; theme={MASK}' https://x && make"


@given(
    st.sampled_from(BEGINNINGS),
    st.text(st.sampled_from("abcXYZ0123456789.-_/=+:@,{}%*?~#!^[]"), max_size=60),
    st.sampled_from(";&|<>()`\n\"'\\"),
    st.text(st.sampled_from("abc ./-_;&|<>()$`\n\"'"), max_size=40),
)
def test_no_sign_of_the_shells_is_ever_masked(begins: str, value: str, sign: str, behind: str) -> None:
    text = begins + value + sign + behind
    signs = ";&|<>()`\n\"'\\"
    assert [c for c in masked(text) if c in signs] == [c for c in text if c in signs]
