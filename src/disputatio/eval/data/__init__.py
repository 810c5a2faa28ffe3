"""Data sets: the published formats, the files they come in, the texts questions are asked over."""
