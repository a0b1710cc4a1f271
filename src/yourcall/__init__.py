"""yourcall: a coding agent stops and waits; it's your call, from anywhere."""

__version__ = "0.1.0"
