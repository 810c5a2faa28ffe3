"""Where passages live: readers, splitting, the index, hybrid search, passages in hand."""
