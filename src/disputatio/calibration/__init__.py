"""Calibration estimates how reliable sources are by cross-checking them, and stores it with their index."""
