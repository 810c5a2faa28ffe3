"""Answers and hits for people and programs: JSON, plain text, HTML for notebooks.

Nothing here decides an answer, and nothing that decides one may import it.
"""

from __future__ import annotations

from disputatio.rendering.data import from_dict, json_text, to_dict
from disputatio.rendering.html import html_of
from disputatio.rendering.plain import text_of

__all__ = ["from_dict", "html_of", "json_text", "text_of", "to_dict"]
