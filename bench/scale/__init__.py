"""Past one machine: reliability of very many sources, and served engines beside the index."""
