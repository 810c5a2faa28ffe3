"""One paper's system, one file; the file, the function and the strategy share their name."""
