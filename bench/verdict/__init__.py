"""Benches of the verdict of `disputation`: corpora that disagree in different ways, weights fitted on some of them."""
