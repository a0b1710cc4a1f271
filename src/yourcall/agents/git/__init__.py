"""What a person asks git to do with a session's changes, as prompts like any other."""
