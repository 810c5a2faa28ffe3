"""The addresses under `/api`, one module for each noun."""
