"""Proves an agent in a sandbox: scripted models on loopback, a fresh home, a private tmux."""
