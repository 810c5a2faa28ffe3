"""Data sets, metrics, the runner and its journal, the report."""
