"""Factory droid in its own terminal."""
