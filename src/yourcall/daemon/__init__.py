"""The daemon: builds the edges, runs the loop, takes hook calls in and carries answers out."""
