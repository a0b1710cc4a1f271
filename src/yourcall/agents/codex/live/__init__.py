"""Codex through its app-server."""
