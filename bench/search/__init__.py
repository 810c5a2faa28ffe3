"""How fast and how well passages are found, at what size on disk."""
