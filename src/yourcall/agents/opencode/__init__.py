"""opencode and Kilo Code in the person's own terminal: one plugin file inside their process."""
