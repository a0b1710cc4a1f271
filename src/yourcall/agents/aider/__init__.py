"""aider, read from its screen."""
