"""The conversation with our extension, which Copilot runs as its child."""
