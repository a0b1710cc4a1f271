"""Whom ping, dig, nslookup, host, whois and tracepath talk to.

Rule: every word is an option that is known, a kind of record, or a machine; each machine that is named counts as a
host, a name server too, so that a rule for one host allows no other. Anything else makes it `unknown`.
"""

from __future__ import annotations

import re

from yourcall.rules.effects.arguments import refs_of
from yourcall.rules.effects.options import spec, understood
from yourcall.rules.effects.parts import Effect, Ref
from yourcall.rules.effects.piping import operands
from yourcall.rules.effects.table import words
from yourcall.rules.shell.items import Places
from yourcall.rules.shell.words import Word

_OPTIONS = {
    "ping": spec("-46nqvDOAa -c= -i= -W= -w= -s= -t="),
    "ping6": spec("-46nqvDOAa -c= -i= -W= -w= -s= -t="),
    "tracepath": spec("-46nb -m= -l="),
    "dig": spec("-46uv -t= -c= -q= -x="),
    "nslookup": spec(""),
    "host": spec("-46adrsTvwCl -t= -c= -W= -R="),
    "whois": spec("-HVv -h="),
}
PROGRAMS = frozenset(_OPTIONS)
_RECORDS = words(
    "a aaaa any caa cname dname dnskey ds https loc mx naptr ns nsec ptr soa spf srv sshfp svcb tlsa txt in ch hs"
)
_PLUS = re.compile(
    r"\+(?:no)?(?:short|all|answer|question|authority|additional|comments|stats|cmd|multiline|recurse|tcp|vc|dnssec|"
    r"qr|ttlid|identify|crypto)|\+(?:time|timeout|tries|retry|bufsize|ndots)=\d+"
)
_ASKED = re.compile(r"-(?:type|query|querytype|q|ty)=[A-Za-z]+|-(?:timeout|retry)=\d+|-debug|-nodebug")
_MACHINE = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.:-]*[A-Za-z0-9_.:])?")


def asks(
    name: str, args: list[Word], effects: set[Effect], refs: list[Ref], hosts: list[str], places: Places
) -> None:
    effects.add("network")
    refs += refs_of([word for word in args if (word.value or "").startswith("-f")], "read", places)
    known = _OPTIONS[name]
    rest: list[Word] = []
    for word in args:
        value = word.value or ""
        if (name == "dig" and _PLUS.fullmatch(value)) or (name == "nslookup" and _ASKED.fullmatch(value)):
            continue
        rest.append(word)
    if not understood(known, rest) or any(word.glob for word in rest):
        effects.add("unknown")
    if name == "dig" and any(re.match(r"-\w*[fk]", word.value or "") for word in rest):
        refs += refs_of(rest, "read", places)  # every line of the file is asked for
    plain, _, said = operands(known, rest)
    if said & {"x", "q", "h"}:
        plain = [word for word in rest if not (word.value or "").startswith("-")]
        plain += [
            Word(tail[1], tail[1]) for word in rest if (tail := re.match(r"-[46uv]*[xqh](.+)", word.value or ""))
        ]
    for word in plain:
        value = (word.value or "").removeprefix("@") if name == "dig" else word.value or ""
        if name == "dig" and value.lower() in _RECORDS:
            continue
        if _MACHINE.fullmatch(value):
            hosts.append(value.rstrip(".").lower())
        elif word.value is not None:
            effects.add("unknown")
    if name == "whois" and "h" not in said:
        hosts.append("whois.iana.org")  # who asks nobody by name begins there
    if not hosts:
        effects.add("unknown")
