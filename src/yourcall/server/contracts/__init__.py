"""Other contracts that clients speak: JSON-RPC and InteractivePrompt."""
