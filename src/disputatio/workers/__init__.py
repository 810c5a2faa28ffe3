"""Work on several machines: a Ray cluster, workers that are replaced when they die, and what they share."""
