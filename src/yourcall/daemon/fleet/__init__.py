"""Joins the fleet with the rest of the daemon. `door` is all of it that a machine alone loads."""
