"""Ask with options that explain themselves; go the safe way if nobody answers in time."""

from __future__ import annotations

import sys

from yourcall.client import Choice, NotAnswered, Yourcall

patience = float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0
try:
    answer = Yourcall().ask(
        "Run the migration on the live database?",
        [
            Choice("Now", "now", "Locks the orders table for about a minute."),
            Choice("Tonight", "tonight", "Waits for 02:00, when nobody orders."),
        ],
        text=True,
        name="migrate.py",
        timeout=patience,
    )
except NotAnswered:
    print("nobody answered: tonight")
else:
    print(f"{answer.by} says: {answer.option or answer.text}")
