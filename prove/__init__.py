"""`make prove`: races and faults against the real agents, judged from outside, and written down case by case."""
