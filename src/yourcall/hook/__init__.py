"""The program that agents' hooks run, and the launcher that starts it."""
