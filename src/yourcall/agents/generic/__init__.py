"""Any other program in a tmux pane."""
