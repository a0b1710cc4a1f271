"""The screens of aider."""
