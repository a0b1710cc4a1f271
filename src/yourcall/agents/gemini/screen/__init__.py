"""Reads Gemini CLI's screen, and names the keys that answer its dialogs."""
