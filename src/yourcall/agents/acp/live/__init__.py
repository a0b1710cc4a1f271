"""An agent that yourcall started, over the Agent Client Protocol."""
