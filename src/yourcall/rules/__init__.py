"""Rules: which requests may be answered without a person, and how risky each one is. Pure."""
