"""JSON-RPC 2.0 over a WebSocket."""
