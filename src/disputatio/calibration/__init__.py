"""Calibration: how reliable sources are, found by cross-checking them, and kept with their index."""
