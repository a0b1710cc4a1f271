"""Sessions in a tmux server of yourcall's own."""
