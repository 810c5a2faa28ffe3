"""Engines of others behind the same search."""
