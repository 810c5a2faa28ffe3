"""Text of documents, sources and models for clients that draw Markdown: it stays text, and fetches nothing.

What could become markup is changed so that people still read it, as no escape is shown alike by clients that
draw Markdown, HTML and neither.
"""

from __future__ import annotations

import re

from disputatio.attribution.citations import escape_marks
from disputatio.text import one_line

_TAG = re.compile(r"<(?=[^\s\d=])")  # the beginning of a tag, a comment or an automatic link
_SCHEME = re.compile(r"(?<=[A-Za-z0-9]):(?=//)")  # clients turn bare addresses into links
_WWW = re.compile(r"\b(www)\.(?=\w)", re.IGNORECASE)
_FENCE = re.compile(r"`{3,}|~{3,}|:{3,}|\${2,}")  # code, directives and formulas, which some clients run


def inert(text: str) -> str:
    """Return the text on one line, without control characters, chat tokens, HTML, links, images and code
    blocks.

    Its citation marks are our own; see `inert_quote` for text of documents.

    >>> inert("see ![x](https://a.example/?q=1) <img src=x>")
    'see ! [x] (https: //a.example/?q=1) ‹img src=x>'
    """
    text = _TAG.sub("‹", one_line(text))
    text = _FENCE.sub(lambda match: " ".join(match[0][0] for _ in range(3)), text)
    text = text.replace("![", "! [").replace("](", "] (").replace("]:", "] :")
    return _WWW.sub(r"\1 .", _SCHEME.sub(": ", text))


def inert_quote(text: str, limit: int = 300) -> str:
    """Return the same for text of documents, shortened, and without marks like those of our citations.

    >>> inert_quote("as [1] says")
    'as (1) says'
    """
    text = text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
    return escape_marks(inert(text))
