"""The HTTP server for the page, chat clients and agents; the only room that imports web frameworks."""
