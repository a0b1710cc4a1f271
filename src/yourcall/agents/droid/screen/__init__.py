"""The screens of droid."""
