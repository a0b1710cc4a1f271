"""The toy's screen."""
