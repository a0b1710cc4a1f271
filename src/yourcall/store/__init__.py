"""What is kept on disk: the log of decision facts, the current rows, the bodies and the paired devices."""
