"""Scripted models on loopback, one for each API that agents speak."""
