"""What an evaluation found: report, tables, page, comparison, the papers' tables."""
