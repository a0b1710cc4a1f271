"""Agents' screens in tmux: read, watched, and typed on."""
