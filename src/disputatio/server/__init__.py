"""The server: one address that pages, chat clients and agents ask. The only room that knows the web."""
