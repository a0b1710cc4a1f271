"""A unified diff in bounded time, whatever the two texts are.

Rule: what is shown is always right: the lines with a blank or `-` are the old text, those with a blank or `+` the
new one. Only how small the diff is may suffer: a region that would take too long to compare is shown as replaced.

`difflib` takes time with the square of the length where every other line changed (20,000 lines: a minute). Here
the work is counted, in steps of the inner loops, and never exceeds `MOST_WORK` and two passes over the lines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

# Lines around a change, as everybody else shows them.
CONTEXT = 3
# Steps of comparing for one diff: about a tenth of a second.
MOST_WORK = 400_000
# Differences in one region beyond which the search for the shortest diff gives way to matching unique lines.
MOST_EDITS = 200
# How often a region is divided by its unique lines; each time is one pass over it.
MOST_DIVISIONS = 12

# Characters of both texts together beyond which they are not compared, only shown: to split them into lines alone
# would take a tenth of a second in one piece.
MOST_CHARACTERS = 4_000_000

# Lines old[a : a + size] are the same as new[b : b + size].
Match = tuple[int, int, int]
# Lines old[a : a_end] against new[b : b_end].
_Region = tuple[int, int, int, int]


class Work:
    """How many steps of comparing are left; the edits of one request share them."""

    def __init__(self, left: int = MOST_WORK) -> None:
        self.left = left


def of_texts(path: str, old: str, new: str, context: int = CONTEXT, work: Work | None = None) -> list[str]:
    """The unified diff of two texts; if they are too long to be compared, it says so and shows the new text."""
    if len(old) + len(new) > MOST_CHARACTERS:
        return [f"--- {path}", f"+++ {path}", "(too long to compare; its text from now on:)", new]
    return unified(old.splitlines(), new.splitlines(), path, context, work)


def unified(
    old: Sequence[str], new: Sequence[str], path: str = "", context: int = CONTEXT, work: Work | None = None
) -> list[str]:
    """The lines of a unified diff, without line ends; none if the texts are the same."""
    lines: list[str] = []
    for hunk in _hunks(_changes(old, new, work or Work()), context):
        (a, _, b, _), (_, a_end, _, b_end) = hunk[0], hunk[-1]
        before = min(context, a)
        after = min(context, len(old) - a_end)
        a, b, a_end, b_end = a - before, b - before, a_end + after, b_end + after
        lines.append(f"@@ -{_range(a, a_end)} +{_range(b, b_end)} @@")
        at = a
        for start, end, new_start, new_end in hunk:
            lines += [f" {line}" for line in old[at:start]]
            lines += [f"-{line}" for line in old[start:end]]
            lines += [f"+{line}" for line in new[new_start:new_end]]
            at = end
        lines += [f" {line}" for line in old[at:a_end]]
    return [f"--- {path}", f"+++ {path}", *lines] if lines else []


def matches(old: Sequence[str], new: Sequence[str], work: Work) -> list[Match]:
    """Runs of lines that both texts have, in order and apart from each other; the rest is what changed."""
    # Numbers instead of lines: to compare two of them costs the same however long the lines are.
    numbers: dict[str, int] = {}
    a = [numbers.setdefault(line, len(numbers)) for line in old]
    b = [numbers.setdefault(line, len(numbers)) for line in new]
    return _joined(sorted(_Comparison(a, b, work).run()))


def _changes(old: Sequence[str], new: Sequence[str], work: Work) -> Iterator[_Region]:
    """What is between the matches."""
    at, new_at = 0, 0
    for a, b, size in [*matches(old, new, work), (len(old), len(new), 0)]:
        if at < a or new_at < b:
            yield at, a, new_at, b
        at, new_at = a + size, b + size


def _hunks(changes: Iterator[_Region], context: int) -> Iterator[list[_Region]]:
    """Changes whose context touches belong together."""
    hunk: list[_Region] = []
    for change in changes:
        if hunk and change[0] - hunk[-1][1] > 2 * context:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _range(start: int, end: int) -> str:
    """As `diff -u` counts: from one; an empty range is named by the line before it; a length of 1 is left out."""
    size = end - start
    return str(start + 1) if size == 1 else f"{start + 1 if size else start},{size}"


def _joined(found: Sequence[Match]) -> list[Match]:
    runs: list[Match] = []
    for a, b, size in found:
        if runs and runs[-1][0] + runs[-1][2] == a and runs[-1][1] + runs[-1][2] == b:
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + size)
        else:
            runs.append((a, b, size))
    return runs


class _Comparison:
    """One comparison, which counts what it costs."""

    def __init__(self, a: list[int], b: list[int], work: Work) -> None:
        self._a, self._b, self._work = a, b, work

    def run(self) -> Iterator[Match]:
        todo: list[tuple[_Region, int]] = [((0, len(self._a), 0, len(self._b)), 0)]
        while todo:
            region, divisions = todo.pop()
            (a, a_end, b, b_end), ends = self._trimmed(region)
            yield from ends
            region = a, a_end, b, b_end
            if a == a_end or b == b_end or self._work.left <= 0:
                continue
            shortest = self._shortest(region)
            if shortest is not None:
                yield from shortest
                continue
            anchors = self._unique(region) if divisions < MOST_DIVISIONS else []
            if not anchors:
                continue  # shown as replaced
            yield from ((x, y, 1) for x, y in anchors)
            for x, y in [*anchors, (a_end, b_end)]:
                if a < x or b < y:
                    todo.append(((a, x, b, y), divisions + 1))
                a, b = x + 1, y + 1

    def _trimmed(self, region: _Region) -> tuple[_Region, list[Match]]:
        """Without the lines that are the same at both ends."""
        a, a_end, b, b_end = region
        first, second = self._a, self._b
        start, new_start = a, b
        while a < a_end and b < b_end and first[a] == second[b]:
            a, b = a + 1, b + 1
        end = a_end
        while a < a_end and b < b_end and first[a_end - 1] == second[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
        ends = [(start, new_start, a - start), (a_end, b_end, end - a_end)]
        return (a, a_end, b, b_end), [each for each in ends if each[2]]

    def _unique(self, region: _Region) -> list[tuple[int, int]]:
        """Lines that are there once on both sides, as many of them as stand in the same order (patience diff)."""
        a, a_end, b, b_end = region
        first, second = self._a[a:a_end], self._b[b:b_end]
        self._work.left -= len(first) + len(second)
        counts, new_counts = Counter(first), Counter(second)
        where = {line: b + at for at, line in enumerate(second) if new_counts[line] == 1}
        pairs = [(a + at, where[line]) for at, line in enumerate(first) if counts[line] == 1 and line in where]
        # The longest increasing subsequence: the last of each length, and what stood before each.
        ends: list[int] = []
        tops: list[int] = []
        before: list[int] = []
        for at, (_, y) in enumerate(pairs):
            length = bisect_left(ends, y)
            before.append(tops[length - 1] if length else -1)
            if length == len(ends):
                ends.append(y)
                tops.append(at)
            else:
                ends[length], tops[length] = y, at
        chain: list[tuple[int, int]] = []
        at = tops[-1] if tops else -1
        while at >= 0:
            chain.append(pairs[at])
            at = before[at]
        return chain[::-1]

    def _shortest(self, region: _Region) -> list[Match] | None:
        """The shortest diff (Myers' algorithm); None if the texts differ in too much for it."""
        a, a_end, b, b_end = region
        first, second = self._a[a:a_end], self._b[b:b_end]
        if set(first).isdisjoint(second):
            return []
        n, m = len(first), len(second)
        # The furthest line of the old text on each diagonal (old line minus new line), after each number of edits.
        furthest = {1: 0}
        history: list[dict[int, int]] = []
        for edits in range(min(n + m, MOST_EDITS) + 1):
            history.append(furthest.copy())
            for diagonal in range(-edits, edits + 1, 2):
                down = diagonal == -edits or (
                    diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]
                )
                x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
                start = x
                y = x - diagonal
                while x < n and 0 <= y < m and first[x] == second[y]:
                    x, y = x + 1, y + 1
                furthest[diagonal] = x
                self._work.left -= x - start + 1
                if x >= n and y >= m:
                    return [(a + i, b + j, 1) for i, j in _walked(history, n, m)]
            self._work.left -= edits  # the copy
            if self._work.left <= 0:
                return None
        return None


def _walked(history: list[dict[int, int]], x: int, y: int) -> Iterator[tuple[int, int]]:
    """The pairs of equal lines on the way that was found, from its end to its start."""
    for edits in range(len(history) - 1, -1, -1):
        furthest = history[edits]
        diagonal = x - y
        down = diagonal == -edits or (diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1])
        came_from = diagonal + 1 if down else diagonal - 1
        start = furthest[came_from] if edits else 0
        new_start = start - came_from if edits else 0
        while x > start and y > new_start and x > 0 and y > 0:
            x, y = x - 1, y - 1
            yield x, y
        if edits:
            x, y = start, new_start
