"""Scripts and programs that raise their hand: whatever asks through `yourcall ask`, the client or MCP."""
