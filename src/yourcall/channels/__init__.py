"""I/O with people: one file for each way to tell them that an agent waits, and the runner that tells them once."""
