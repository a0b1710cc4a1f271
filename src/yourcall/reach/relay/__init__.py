"""A relay: a server of the user's passes TLS on, unread, to machines that dial out to it."""
