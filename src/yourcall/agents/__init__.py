"""One folder per agent CLI we can read; pure functions, no I/O."""
