"""How Gemini CLI wraps text: at blanks, to the inside of the box, whose width is known.

So a line that goes on is told from one that ended by whether the next word would still have fitted.
"""

from yourcall.agents.kit.text import columns, paragraphs


def goes_on(line: str, following: str, width: int) -> bool:
    """Whether `following` is the rest of `line`: its first word would not have fitted any more."""
    words = following.split(None, 1)
    return bool(words) and columns(line) + 1 + columns(words[0]) > width


def joined(parts: list[str], width: int) -> str:
    """One text of several lines; a word longer than a line, cut at the last column, is put together again."""
    text = ""
    previous = ""
    for part in parts:
        words = part.split()
        if not words:
            continue
        last = text.rsplit(" ", 1)[-1]
        cut = columns(previous) >= width and columns(last + words[0]) > width - (len(part) - len(part.lstrip()))
        text += ("" if cut or not text else " ") + " ".join(words)
        previous = part
    return text


def unwrapped(lines: list[str], width: int) -> list[str]:
    """The lines as they were before they were wrapped to the box."""
    found: list[list[str]] = []
    for run in paragraphs(lines):
        for nth, line in enumerate(run):
            note = nth and run[nth - 1].startswith("(") and run[nth - 1].endswith(")")
            if nth and not note and goes_on(run[nth - 1], line, width):
                found[-1].append(line)
            else:
                found.append([line])
    return [joined(parts, width) for parts in found]
