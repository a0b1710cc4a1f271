"""The front door for people: HTTP, the live feed, devices and their keys."""
