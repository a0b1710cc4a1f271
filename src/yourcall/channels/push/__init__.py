"""Web Push to the phone app."""
