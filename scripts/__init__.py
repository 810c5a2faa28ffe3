"""What is run from a checkout: set up, measure, build the page."""
