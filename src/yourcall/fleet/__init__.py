"""Many machines, one inbox: hosts and hubs around one NATS, in which nobody has to trust the hub or NATS.

Rule: an edge like `server` and `links`; only `daemon` joins it with them. Nothing here is imported by a
machine that is in no fleet."""
