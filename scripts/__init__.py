"""Scripts for a checkout: set up, measure, build the page."""
