"""Ways to put two commands together."""

from __future__ import annotations

from collections.abc import Callable


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# Of two commands one, in every way that runs both or either.
JOINS: list[Callable[[str, str], str]] = [
    lambda a, b: f"{a} && {b}",
    lambda a, b: f"{a} || {b}",
    lambda a, b: f"{a}; {b}",
    lambda a, b: f"{a} | {b}",
    lambda a, b: f"{a} & {b}",
    lambda a, b: f"{a}\n{b}",
    lambda a, b: f"{a} \\\n && {b}",
    lambda a, b: f"({a}); {b}",
    lambda a, b: f"{{ {a}; {b}; }}",
    lambda a, b: f"if {a}; then {b}; fi",
    lambda a, b: f"for i in 1; do {a}; {b}; done",
    lambda a, b: f"while {a}; do {b}; done",
    lambda a, b: f"case x in x) {a};; *) {b};; esac",
    lambda a, b: f"echo $({a}) $({b})",
    lambda a, b: f'echo "x $({a}) y" && {b}',
    lambda a, b: f"{a} # {b}\n{b}",
    lambda a, b: f"cat <({a}) <({b})",
    lambda a, b: f"bash -c {_quoted(a)} && bash -c {_quoted(b)}",
    lambda a, b: f"cat <<E\n$({a})\nE\n{b}",
    lambda a, b: f"x=$({a}); {b}",
    lambda a, b: f"[ -f x ] && {a} || {b}",
    lambda a, b: f"{a} > out 2>&1; {b}",
]
