"""A Claude Code that yourcall started, over its stream-json protocol."""
