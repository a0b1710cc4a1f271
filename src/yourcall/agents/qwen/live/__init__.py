"""Qwen Code's channel: the events it writes to one file, and the answers it reads from another."""
