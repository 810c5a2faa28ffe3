"""The papers' tables, figures and baselines, measured here."""
