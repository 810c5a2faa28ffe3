"""Tests of the evaluation room."""
