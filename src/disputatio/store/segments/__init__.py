"""What a search needs, in immutable segments: postings, vectors, compiled loops, fusion."""
