"""Files and sockets of the operating system."""
