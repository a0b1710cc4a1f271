"""`python -m prove`: cases until the time or their number is used up; then the page is written anew."""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from prove import cases, core, page, record  # noqa: E402
from prove.agents import PINNED, WAYS, Way  # noqa: E402

CORE = "core"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m prove",
        description="Races and faults against the real agents, judged from outside. Each case is appended to "
        "prove/record.jsonl as it ends, so Ctrl-C loses none, and the next run goes on.",
        epilog="Example: python -m prove --minutes 30 --ways claude-hook core",
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="stop after so long (default: 10)")
    parser.add_argument("--cases", type=int, default=0, help="stop after so many (default: no limit)")
    parser.add_argument("--seed", type=int, default=None, help="the same seed tries the same moments again")
    parser.add_argument("--ways", nargs="+", choices=[*WAYS, CORE], default=[*WAYS, CORE], help="which ones")
    parser.add_argument("--kinds", nargs="+", choices=list(cases.CASES), default=None, help="only these cases")
    parser.add_argument("--report", action="store_true", help="only write docs/reference/proof.md anew")
    parser.add_argument("--dry", action="store_true", help="do not record what is found")
    given = parser.parse_args()
    if not given.report:
        seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 31)
        failed = Campaign(seed, given.minutes, given.cases, given.ways, given.kinds, given.dry).run()
        print(f"\nseed {seed}, {failed} cases failed")
    page.write()
    subprocess.run([sys.executable, str(ROOT / "tools" / "wrap_docs.py")], check=True)
    return 0


class Campaign:
    def __init__(
        self, seed: int, minutes: float, most: int, ways: list[str], kinds: list[str] | None, dry: bool
    ) -> None:
        self.seed, self.ways, self.kinds, self.dry = seed, ways, kinds, dry
        self.until, self.most = time.monotonic() + minutes * 60, most
        self.chance = random.Random(seed)
        self.done, self.failed = 0, 0

    def run(self) -> int:
        """Each way in turn for some cases, so that a campaign cut short has tried them all."""
        # Either ends the case under way and every process of its own, also of a job in the background.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        try:
            for turn in count():
                for way in self.ways:
                    if self.over():
                        return self.failed
                    if way == CORE:
                        self.core()
                    else:
                        self.on(way, 25 if turn else 12)
        except KeyboardInterrupt:
            pass
        return self.failed

    def over(self) -> bool:
        return time.monotonic() > self.until or bool(self.most and self.done >= self.most)

    def core(self) -> None:
        seed = self.chance.randrange(1 << 31)
        began = time.monotonic()
        wrong = core.batch(seed)
        found = ["a promise of the core broken"] if wrong else []
        self.note(CORE, "a hundred random stories", seed, began, found, count=core.BATCH, detail=wrong)

    def on(self, name: str, rounds: int) -> None:
        """Some cases with one agent; it is started anew once it has died."""
        kinds = [each for each in cases.possible(WAYS[name]) if self.kinds is None or each in self.kinds]
        way: Way | None = None
        try:
            for number in range(rounds if kinds else 0):
                if self.over():
                    return
                if way is None:
                    way = WAYS[name]()
                seed = self.chance.randrange(1 << 31)
                chance = random.Random(seed)
                kind = chance.choice(kinds)
                round = cases.Round(way, number, chance)
                began = time.monotonic()
                detail = ""
                try:
                    cases.CASES[kind](round)
                    found = round.finish()
                except (
                    Exception
                ) as error:  # the case could not be played; that is told, and is none of the classes
                    found, round.dead, detail = ["not played"], True, f"{type(error).__name__}: {error}"[:300]
                if found and not detail:
                    detail = str(round.asked)[:600]
                self.note(name, kind, seed, began, found, version=PINNED[way.agent], detail=detail)
                if round.dead:
                    way.close()
                    way = None
        finally:
            if way is not None:
                way.close()

    def note(self, way: str, kind: str, seed: int, began: float, found: list[str], **more: Any) -> None:
        self.done += more.get("count", 1)
        self.failed += any(each not in ("unsure", "bounced", "not played") for each in found)
        line = {"at": int(time.time()), "way": way, "kind": kind, "seed": seed, "found": found}
        line |= {"seconds": round(time.monotonic() - began, 2), **{k: v for k, v in more.items() if v}}
        if not self.dry:
            record.append(line)
        left = max(0, self.until - time.monotonic())
        mark = ", ".join(found) or "good"
        print(f"{self.done:6}  {left / 60:5.1f} min left  {way:12}  {kind:24}  {mark}", flush=True)
        if found and more.get("detail"):
            print(f"        seed {seed}: {more['detail']}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
