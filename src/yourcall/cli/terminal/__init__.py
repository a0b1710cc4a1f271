"""How prompts and lists look in a terminal."""
