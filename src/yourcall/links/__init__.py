"""I/O with agents: hooks, transcripts, processes. A link tells what it sees and decides nothing."""
