"""What curl and wget do (where they go, what they send, what they save), and whom ping, dig and their like ask.

Rule: an option that is not in the tables could lead elsewhere (a proxy, a socket, another address for the same
name), so it makes the command `unknown`; so does every word that is no address for sure.
"""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import unquote

from yourcall.rules.effects.arguments import host_of, named, ref_of, refs_of
from yourcall.rules.effects.options import spec, understood
from yourcall.rules.effects.parts import Effect, Ref, Use
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
    plain, _, texts = operands(known, rest)
    if texts & {"x", "q", "h"}:
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
    if name == "whois" and "h" not in texts:
        hosts.append("whois.iana.org")  # who asks nobody by name begins there
    if not hosts:
        effects.add("unknown")


# What an option's value is: nothing to us, a file that is written or sent, `@file` among it, a part of a form, a
# cookie or the file of them, what to print, an address. `flag` has no value; `save` neither, and names a file.
Role = Literal["flag", "save", "value", "write", "send", "at", "form", "cookie", "print", "address"]


def _options(roles: dict[Role, str]) -> dict[str, Role]:
    return {option: role for role, options in roles.items() for option in words(options)}


_CURL = _options(
    {
        "flag": "-s -S -f -L -i -I -v -k -g -G -N -# -4 -6 -R -q --silent --show-error --fail --fail-with-body "
        "--location --include --head --verbose --insecure --globoff --get --no-buffer --progress-bar --compressed "
        "--ipv4 --ipv6 --http1.1 --http2 --tlsv1.2 --tlsv1.3 --no-progress-meter --retry-connrefused "
        "--retry-all-errors",
        "save": "-O --remote-name --remote-name-all",
        "value": "-X -A -e -m -r -C --request --user-agent --referer --max-time --connect-timeout --retry "
        "--retry-delay --retry-max-time --data-raw --form-string --range --continue-at --max-redirs --limit-rate "
        "-u --user",
        "write": "-o -D -c --output --output-dir --dump-header --cookie-jar",
        "send": "-T --upload-file",
        "at": "-d -H --data --data-ascii --data-binary --data-urlencode --json --header",
        "form": "-F --form",
        "cookie": "-b --cookie",
        "print": "-w --write-out",
        "address": "--url",
    }
)
_WGET = _options(
    {
        "flag": "-q -v -S -c -N -nv -nc --quiet --verbose --no-verbose --spider --server-response "
        "--continue --timestamping --no-check-certificate --no-clobber --no-cache --show-progress "
        "--content-on-error",
        "value": "-U -t -T -w --user-agent --tries --timeout --wait --header --post-data --body-data --method "
        "--max-redirect --connect-timeout --read-timeout",
        "write": "-O -o -a -P --output-document --output-file --append-output --directory-prefix",
        "send": "--post-file --body-file",
    }
)
_INTO = {"curl": ("-o", "--output"), "wget": ("-O", "--output-document")}
_FOLDERS = ("--output-dir", "-P", "--directory-prefix")


def fetches(
    name: str, args: list[Word], effects: set[Effect], refs: list[Ref], hosts: list[str], places: Places
) -> None:
    effects.add("network")
    table = _CURL if name == "curl" else _WGET
    saves, spoken, plain = name == "wget", False, False
    folders: list[Word] = [Word(".", ".")]
    addresses: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        value = word.value
        if value is None:
            effects.add("unknown")
        elif plain or not value.startswith("-") or value == "-":
            addresses.append(value)
            _address(value, effects, hosts)
        elif value == "--":
            plain = True
        else:
            for option, role, tail in _said(value, table, effects):
                if role in ("flag", "save"):
                    saves = saves or role == "save"
                    continue
                given = Word(tail, tail) if tail is not None else rest.pop(0) if rest else None
                if given is None or given.value is None:
                    effects.add("unknown")
                    continue
                spoken = spoken or option in _INTO[name]
                folders = [given] if option in _FOLDERS else folders
                addresses += [given.value] if role == "address" else []
                _given(role, given, effects, refs, hosts, places)
    # Of several addresses, `-o` names the file of one; curl's `-O` still names another by its address.
    if saves and not (spoken and name == "wget"):
        # It is called as the address ends; wget reads `%2E` as a dot.
        for address in addresses:
            if "*" in address:
                effects.add("unknown")  # by ftp, wget fetches whatever there is
            name = unquote(re.split(r"[?#]", address)[0].rstrip("/").rpartition("/")[2])
            target = [Word(name, f"{folders[0].value}/{name}", tilde=folders[0].tilde)]
            refs += [ref_of(word, "write", place) for word in target for place in places]
    if not hosts:
        effects.add("unknown")


def _said(value: str, table: dict[str, Role], effects: set[Effect]) -> list[tuple[str, Role, str | None]]:
    """The options of one word (`-sSLo`), each with what it is and the value that is stuck to it."""
    if value.startswith("--") or value in table:
        option, sign, tail = value.partition("=")
        role = table.get(option)
        if role is None or (sign and (role in ("flag", "save") or table is _CURL)):
            effects.add("unknown")
            return []
        return [(option, role, tail if sign else None)]
    found: list[tuple[str, Role, str | None]] = []
    for at, letter in enumerate(value[1:], 1):
        role = table.get(f"-{letter}")
        if role is None:
            effects.add("unknown")
            return found
        if role not in ("flag", "save"):
            return [*found, (f"-{letter}", role, value[at + 1 :] or None)]
        found.append((f"-{letter}", role, None))
    return found


def _given(
    role: Role, word: Word, effects: set[Effect], refs: list[Ref], hosts: list[str], places: Places
) -> None:
    value = word.value or ""
    match role:
        case "write" | "send" if value != "-":
            if re.search(r"[{}\[\]#]", value):
                effects.add("unknown")  # curl makes several names of it
            use: Use = "write" if role == "write" else "read"
            refs += [ref_of(word, use, place) for place in places]
        case "at" if "@" in value:
            refs += [named(value.split("@", 1)[1], "read", place) for place in places]
        case "form":
            _, sign, text = value.partition("=")
            if not sign or "\\" in text:
                effects.add("unknown")
            elif text[:1] in ("@", "<"):
                files = [each.strip('"') for each in re.split(r"[;,]", text[1:])]
                refs += [named(file, "read", place) for place in places for file in files]
        case "cookie" if "=" not in value:
            refs += [named(value, "read", place) for place in places]
        case "print":
            if "%output" in value:
                effects.add("unknown")  # it can save what it prints
            if value.startswith("@"):
                effects.add("unknown")  # what stands in that file may say so
                refs += [named(value[1:], "read", place) for place in places]
        case "address":
            _address(value, effects, hosts)
        case _:
            pass


def _address(value: str, effects: set[Effect], hosts: list[str]) -> None:
    host = host_of(value)
    if host:
        hosts.append(host)
    else:
        effects.add("unknown")
