"""The visible part of a page: colours, the cascade of its styles, where and how text is drawn.

Only the parsers' child imports it.
"""
