"""Code that several measurements share; nothing here is run by itself."""
