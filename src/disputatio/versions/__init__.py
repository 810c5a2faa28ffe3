"""Time in documents: the dates that they state, their versions, and which of them replaces which.

`days` reads dates in words, `stating` what the head of a document states, `families` which documents are
versions of one, `succession` which of two takes the place of the other.
"""
