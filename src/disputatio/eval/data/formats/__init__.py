"""The published file formats of data sets, a module for each family: one row becomes one example."""
