"""Contradictions between documents, found without a question; `check` is the walk."""
