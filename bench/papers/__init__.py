"""What the papers claim, measured here: their tables, figures and baselines."""
