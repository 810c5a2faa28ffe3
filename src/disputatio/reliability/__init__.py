"""The reliability of sources, copies among them, and the weighted vote."""
