"""The pure heart: `step(state, event)` decides everything, and touches nothing."""
