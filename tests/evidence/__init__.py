"""Tests of how statements are weighed."""
