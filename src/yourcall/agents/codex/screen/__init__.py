"""Reads Codex's screen, and names the keys that answer its dialogs."""
