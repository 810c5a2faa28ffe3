"""Past one machine: very many sources, servers of indexes, Ray."""
