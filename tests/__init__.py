"""Tests, laid out as src/ is, and those that keep the house."""
