"""What every chat has in common: prompts with buttons, answers, words, commands, pairing."""
