"""How Claude Code lays out a screen: the rules that frame a dialog, and where its text was wrapped.

Nothing here knows a word of the CLI; only glyphs, columns and widths.
"""

from yourcall.agents.kit.text import columns, indent


def joined(parts: list[str], limit: int) -> str:
    """Like `flat`, but a word that was cut because it is longer than a line is put together again."""
    text = ""
    full = False
    for part in parts:
        words = part.split()
        if not words:
            continue
        cut = full and columns(text.rsplit(" ", 1)[-1] + words[0]) > limit - indent(part)
        text = text + ("" if cut or not text else " ") + " ".join(words)
        full = columns(part) >= limit - 4
    return text


def cut(line: str, column: int) -> str:
    """The part of a line left of a terminal column."""
    if line.isascii():
        return line[:column].rstrip()
    kept = 0
    for at, char in enumerate(line):
        kept += columns(char)
        if kept > column:
            return line[:at].rstrip()
    return line.rstrip()


def is_rule(line: str, glyph: str = "─") -> bool:
    """A line drawn across the dialog, possibly with a name set into it near its right end."""
    if glyph not in line:
        return False
    body = line.strip(" ")
    if len(body) < 10 or not body.startswith(glyph * 8):
        return False
    return body.count(glyph) == len(body) or (body[-1] == glyph and body.count(glyph) * 2 > len(body))


def is_edge(line: str) -> bool:
    """The raised edge of a sheet that slid over the conversation; a notice may be set into it."""
    return line.endswith("▔")


def wraps(line: str, following: str, limit: int) -> bool:
    """Whether `following` is the rest of `line`: its first word would not have fitted any more."""
    words = following.split(None, 1)
    if not words:
        return False
    first = words[0]
    if len(words) == 1 and columns(following) > limit - 4:
        first = first[0]  # a word longer than a line is cut anywhere
    # Claude Code leaves up to two columns free on the right.
    return columns(line) + 1 + columns(first) > limit - 2
