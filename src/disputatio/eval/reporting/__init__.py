"""Reports of an evaluation: figures, tables, page, comparison, the papers' tables."""
