"""What an answer rests on: claims, citations, verdicts, positions and their clusters."""
