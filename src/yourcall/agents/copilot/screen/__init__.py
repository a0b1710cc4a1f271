"""Reads the screen of Copilot CLI, and names the one key that its trust dialog takes from us."""
