"""How far one index on one machine goes."""
