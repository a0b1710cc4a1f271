"""When a usage limit resets, as agents say it in words, or in seconds.

Rule: a time is taken only from words that say that something resets or may be tried again then; what can't be read
is no time. A time without a date is the next one like it; one without a zone is this machine's.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# A limit further away than this is somebody's mistake, or a joke in a message.
FURTHEST_S = 62 * 86_400.0
# Who says "resets 3pm" one minute after three means the moment that has just been.
JUST_NOW_S = 600.0
LONGEST = 20_000

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_SAYS = r"(?:resets?|try again)"
_SECONDS = re.compile(r"\blimit reached\|(\d{10})\b")
_RELATIVE = re.compile(
    rf"\b{_SAYS}(?:s)? in ((?:\d+ ?(?:days?|hours?|minutes?|mins?|seconds?|secs?|[dhms])\b[, ]*)+)", re.I
)
_UNIT = re.compile(r"(\d+) ?([dhms])", re.I)
_AT = re.compile(
    rf"\b{_SAYS}(?: at| on)? (?:(?P<month>[a-z]{{3}})[a-z]* (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?"
    r"(?: (?P<year>\d{4}),?)?(?: at)? )?(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::\d{2})?\s?(?P<half>am|pm)?"
    r"(?: ?\(?(?P<zone>UTC|[A-Z][A-Za-z_]+/[A-Za-z_/+-]+|GMT[+-]\d{1,2}(?::\d{2})?|GMT)\)?)?",
    re.I,
)
_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def reset_in(text: str, at: float) -> float:
    """The moment that this text names, said at this time; 0.0 if it names none."""
    text = " ".join(text[:LONGEST].split())
    found = 0.0
    if seconds := _SECONDS.search(text):
        found = float(seconds[1])
    elif relative := _RELATIVE.search(text):
        found = at + sum(int(number) * _UNITS[unit.lower()] for number, unit in _UNIT.findall(relative[1]))
    elif named := _AT.search(text):
        found = _named(named, at)
    return sound(found, at)


def sound(resets_at: float, at: float) -> float:
    """The same, if it can be meant."""
    return resets_at if at - JUST_NOW_S < resets_at < at + FURTHEST_S else 0.0


def _named(named: re.Match[str], at: float) -> float:
    zone = _zone(named["zone"] or "")
    if zone is None and named["zone"]:
        return 0.0
    try:
        now = datetime.fromtimestamp(at, zone)
        hour = (
            int(named["hour"]) % 12 + 12 * (named["half"].lower() == "pm") if named["half"] else int(named["hour"])
        )
        bare = not named["half"] and named["minute"] is None
        if bare or (named["half"] and not 1 <= int(named["hour"]) <= 12):
            return 0.0  # a number, and no time
        then = now.replace(hour=hour, minute=int(named["minute"] or 0), second=0, microsecond=0)
        if named["month"]:
            month = _MONTHS.index(named["month"].lower()) + 1
            then = then.replace(month=month, day=int(named["day"]), year=int(named["year"] or now.year))
            if not named["year"] and then.timestamp() < at - FURTHEST_S:
                then = then.replace(year=now.year + 1)
        elif then.timestamp() < at - JUST_NOW_S:
            then += timedelta(days=1)
        return then.timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _zone(name: str) -> tzinfo | None:
    """None: this machine's own, or one that is not known."""
    if not name:
        return None
    if name.upper() in ("UTC", "GMT"):
        return UTC
    if offset := re.fullmatch(r"GMT([+-]\d{1,2})(?::(\d{2}))?", name, re.I):
        minutes = int(offset[1]) * 60 + int(offset[2] or 0) * (-1 if offset[1].startswith("-") else 1)
        return timezone(timedelta(minutes=minutes)) if abs(minutes) < 24 * 60 else None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
