"""The support of an answer: claims, citations, verdicts, positions and their clusters."""
