"""The raw material of any captured screen: clean lines, terminal columns, and text put together again.

Nothing here knows a word or a glyph of one CLI; what differs between them stays in the agent's own folder.
"""

import re
import unicodedata

# A pane is at most a few hundred rows; a caller may pass scrollback, of which only the end can be live.
MOST_LINES = 500
MOST_COLUMNS = 1000

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


_TITLE = re.compile(r"\x1b\]2;([^\x07]*)\x07")


def titled(screen: str) -> str | None:
    """The title of the pane, which a look puts in front of the screen; None for a bare text."""
    match = _TITLE.match(screen)
    return match[1] if match else None


def clean(text: str) -> list[str]:
    """Lines without escapes, control bytes, trailing blanks and trailing empty lines."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if _CONTROLS.search(text):
        text = _CONTROLS.sub("", text)
    lines = text.expandtabs().rstrip(" \n").split("\n")[-MOST_LINES:]
    # NBSP at a line's end is part of the empty composer of one CLI, so only plain blanks are cut.
    return [line[:MOST_COLUMNS].rstrip(" ") for line in lines]


def flat(parts: list[str]) -> str:
    """One text of several lines: a wrap or a newline becomes one space."""
    return " ".join(" ".join(parts).split())


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def columns(line: str) -> int:
    """Terminal columns, which differ from characters for wide and combining ones."""
    if line.isascii():
        return len(line)
    width = 0
    for char in line:
        if char >= "\u0300" and unicodedata.combining(char):
            continue
        width += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return width


def paragraphs(lines: list[str]) -> list[list[str]]:
    """Runs of lines without a blank one between them."""
    found: list[list[str]] = []
    open_run = False
    for line in lines:
        if not line.strip():
            open_run = False
        elif open_run:
            found[-1].append(line)
        else:
            found.append([line])
            open_run = True
    return found


_SGR = re.compile(r"\x1b\[([\d;:]*)m")
_OTHER_ESCAPES = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|\[[\d;:?]*[ -/]*[@-ln-~]|[ -/]*[0-Z\\^-~])")


def styled(screen: str) -> list[list[tuple[str, str]]]:
    """Each character of each line with how it is drawn: `dim`, under the `cursor` (inverse), or neither."""
    dim = cursor = False
    found: list[list[tuple[str, str]]] = []
    for line in _OTHER_ESCAPES.sub("", screen).split("\n"):
        cells: list[tuple[str, str]] = []
        for number, part in enumerate(_SGR.split(line)):
            if number % 2 == 0:
                style = "cursor" if cursor else "dim" if dim else ""
                cells += [(char, style) for char in part]
            else:
                for code in _attributes(part):
                    dim = code == "2" or (dim and code not in ("", "0", "22"))
                    cursor = code == "7" or (cursor and code not in ("", "0", "27"))
        found.append(cells)
    return found


def _attributes(codes: str) -> list[str]:
    """The numbers of one escape that are attributes: those of a colour are not."""
    kept: list[str] = []
    rest = re.split("[;:]", codes)
    while rest:
        code = rest.pop(0)
        kept.append(code)
        if code in ("38", "48", "58"):
            del rest[: 2 if rest[:1] == ["5"] else 4]
    return kept
