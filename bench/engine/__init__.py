"""The embedded engine and the embedder: time and memory."""
