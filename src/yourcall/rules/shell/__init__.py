"""Shell commands, parsed: every simple command, redirection and assignment they could run."""
