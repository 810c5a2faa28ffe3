"""Training, export and measurement of the small encoder; no part of the package."""
