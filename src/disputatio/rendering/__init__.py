"""Answers and hits for people; nothing that decides an answer may import it."""

from __future__ import annotations

from disputatio.rendering import markup, plain
from disputatio.rendering.checks import check_html, check_text
from disputatio.rendering.reasons import reason
from disputatio.types import Check

__all__ = ["html", "reason", "text"]


def text(noun: object) -> str:
    """Return an answer, a hit or a check as a person reads it; another noun as `repr` gives it."""
    return check_text(noun) if isinstance(noun, Check) else plain.text(noun)


def html(noun: object) -> str:
    """Return an answer, a hit or a check as an element of HTML; another noun as its text."""
    return check_html(noun) if isinstance(noun, Check) else markup.html(noun)
