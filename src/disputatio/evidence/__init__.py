"""How statements are weighed: citations, entailment, positions and conflict."""
