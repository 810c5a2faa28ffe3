"""The index: speed and quality of search, size on disk."""
