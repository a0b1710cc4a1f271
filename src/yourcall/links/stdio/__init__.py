"""Sessions that yourcall started and talks to over pipes."""
