"""Answers and hits for people: plain text, HTML for notebooks, and why a position has its verdict.

Nothing here decides an answer, and nothing that decides one may import it.
"""

from __future__ import annotations

from disputatio.rendering.markup import html
from disputatio.rendering.plain import text
from disputatio.rendering.reasons import reason

__all__ = ["html", "reason", "text"]
