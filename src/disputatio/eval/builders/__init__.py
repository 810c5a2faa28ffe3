"""Data sets made: benchmarks from ambiguous questions, fabrications, sources, and one's own index."""
