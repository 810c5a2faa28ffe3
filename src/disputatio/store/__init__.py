"""The store of passages: readers, splitting, the index, hybrid search, passages in memory."""
