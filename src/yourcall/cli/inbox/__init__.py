"""The inbox in the terminal."""
