"""Reads Claude Code's screen, and names the keys that answer its dialogs."""
