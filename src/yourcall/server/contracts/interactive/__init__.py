"""InteractivePrompt over HTTP and a WebSocket."""
