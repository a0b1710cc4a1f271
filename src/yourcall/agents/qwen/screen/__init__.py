"""Qwen Code's screens: read, and typed on."""
