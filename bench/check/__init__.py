"""Contradictions found without a question: precision and recall on folders written for it, and speed."""
