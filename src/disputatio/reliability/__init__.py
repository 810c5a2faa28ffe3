"""How reliable sources are, whether they speak independently, and what their votes come to."""
