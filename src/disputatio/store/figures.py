"""What an index holds, in figures."""

from __future__ import annotations

from dataclasses import dataclass

from disputatio.counts import Unsearched


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCount:
    """A source of the index with what it holds."""

    name: str
    owner: str
    documents: int
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    """An index in figures; `embedder` is empty where it is searched by keyword alone.

    `commit` is the number of the newest commit, `dead` counts passages that wait for a merge to drop
    them. Several indexes are summed up; `unsearched` are those of them that cannot be read.
    """

    path: str
    format: int
    embedder: str
    dimension: int
    language: str
    documents: int
    passages: int
    sources: int
    segments: int
    dead: int
    commit: int
    unsearched: tuple[Unsearched, ...] = ()
