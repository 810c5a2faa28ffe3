"""From files and addresses to passages: found, fetched, read in a sandbox, divided."""
