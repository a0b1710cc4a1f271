"""What a command would do, part by part."""
