"""Training of a small language model to read: low-rank adapters, packed trees of passages and questions."""
