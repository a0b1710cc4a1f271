"""A connection to the plugin."""
