"""What every agent's folder shares: screen text, forms, and edits of settings files."""
