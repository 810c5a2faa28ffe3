"""Time in documents: the dates that they state, their versions, and what they do to each other.

`dates` compares dates, `days` reads them in words; `stating` reads what a document states of itself, by
`phrases`; `families` tells which documents are versions of one.
"""
