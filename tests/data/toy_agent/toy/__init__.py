"""A small agent, for the test that adds one: a folder, and nothing else."""
