"""Immutable segments and their search: postings, vectors, compiled loops, fusion."""
