"""The options of a search: their defaults, and the one place that checks them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import SupportsIndex, get_args

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
    _check_kinds(search)
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


def _check_kinds(search: Search) -> None:
    for number in (search.k, search.per_source):
        if not isinstance(number, SupportsIndex | None):
            raise InputError(f"k and per_source are whole numbers, not {number!r:.40}")
        if number is not None and number < 1:
            raise InputError("k and per_source are at least 1")
    for name, several in (("sources", search.sources), ("exclude", search.exclude)):
        if isinstance(several, str):  # it would be taken for a list of its letters
            raise InputError(f"{name} is a list of names, not one: write [{several[:40]!r}]")
