"""Contradictions between documents, found without a question.

`check` is the walk: statements are read from documents (`statements`), those that may be of one thing are
paired (`pairing`), pairs are compared by code (`comparing`), judged by a model where one is named
(`check`), and ordered by date, authority and reliability (`standing`).
"""
