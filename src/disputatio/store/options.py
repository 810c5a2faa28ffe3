"""The options of a search: their defaults, and the one place that checks them."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import get_args

from disputatio.arguments import check_arguments
from disputatio.errors import InputError
from disputatio.protocols import Fusion, Search, SearchOptions
from disputatio.store.segments.days import bounds

DEFAULT_K = 8
K1, B = 1.2, 0.75  # of BM25, where a search does not set them


def search_of(search: Search | None, options: SearchOptions) -> Search:
    """Return the search that a caller describes: `search`, if any, with `options` in place of its fields.

    >>> search_of(Search(k=3, alpha=1.0), {"k": 5}) == Search(k=5, alpha=1.0)
    True
    """
    return replace(search or Search(), **options)


def check_search(query: str, search: Search) -> None:
    """Raise `InputError` for a query without text, or for the first option that is out of range."""
    _check_query(query)
    check_arguments(Search, {each.name: getattr(search, each.name) for each in fields(Search)})
    for number in (search.k, search.per_source):
        if number is not None and number < 1:
            raise InputError("k and per_source are at least 1")
    if not 0 <= search.alpha <= 1:
        raise InputError(f"alpha lies between 0 and 1, not at {search.alpha:g}")
    if search.fusion not in get_args(Fusion):
        raise InputError(f"fusion is one of {', '.join(get_args(Fusion))}, not {search.fusion!r}")
    if search.k1 is not None and not (search.k1 >= 0 and math.isfinite(search.k1)):
        raise InputError(f"k1 is a number of at least 0, not {search.k1:g}")
    if search.b is not None and not 0 <= search.b <= 1:
        raise InputError(f"b lies between 0 and 1, not at {search.b:g}")
    if search.min_reliability is not None and not 0 <= search.min_reliability <= 1:
        raise InputError(f"min_reliability lies between 0 and 1, not at {search.min_reliability:g}")
    bounds(search.after, search.before)


def _check_query(query: str) -> None:
    if not isinstance(query, str):
        raise InputError(f"the question is {type(query).__name__}, not text")
    if not query.strip():
        raise InputError("the question is empty")
    if not query.isascii():
        try:
            query.encode()
        except UnicodeEncodeError as error:
            raise InputError("the question is not UTF-8 text") from error
