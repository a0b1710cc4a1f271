"""Ways from a phone to this machine."""
