"""Disputatio as a part of other frameworks, and parts of theirs as ours: one module a framework.

Each module needs its framework and says which extra brings it; nothing of ours imports one.
"""
