"""What the embedded engine, the embedder and the estimates cost in time and memory."""
