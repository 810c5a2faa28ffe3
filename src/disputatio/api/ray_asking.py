"""Questions on the workers of a Ray cluster: each opens what `ask` would open, by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from disputatio.api.asking import kit_with, prepared_for
from disputatio.calling import Cancel
from disputatio.errors import ConfigError
from disputatio.parts import open_journal, share_journal
from disputatio.store.index import Index
from disputatio.trace import Trace
from disputatio.types import Answer
from disputatio.workers.cluster import cluster
from disputatio.workers.desk import SharedJournal, open_desk
from disputatio.workers.pool import open_pool

_AT_DESK = 16  # calls at a time
_OF_THE_KIT = ("model", "role", "embedder", "settings", "strategy")


class _Asker:
    """Answers questions on a worker."""

    def __init__(self, arguments: Mapping[str, Any], desk: Any, journal: str, path: str) -> None:
        if desk is not None:
            share_journal(journal, SharedJournal(desk, path))
        self._prepared = prepared_for(arguments)

    def __call__(self, question: str) -> Answer:
        """The answer; raises as `ask` does."""
        return self._prepared.answer(question, Trace(), Cancel())


@contextmanager
def asked_by_workers(
    arguments: Mapping[str, Any], address: str, workers: int, each: int
) -> Iterator[Callable[[str], Answer]]:
    """What answers a question on one of so many workers, with so many questions each at a time.

    Raises `ConfigError` for arguments that cannot travel, `ClusterFault` where the workers cannot be had.
    """
    sent = travelling(arguments)
    _, settings = kit_with(**{name: sent[name] for name in _OF_THE_KIT if name in sent})
    journal = open_journal(settings)
    with cluster(address, workers) as count:
        desk, path = None, ""
        if journal is not None:
            path = str(journal.path.absolute())
            at_desk = settings.model_copy(update={"journal": path})
            desk = open_desk({"journal": partial(open_journal, at_desk)}, _AT_DESK)
        make = partial(_Asker, sent, desk, settings.journal, path)
        with open_pool(lambda _: make, count, each=each) as pool:
            yield pool.do


def travelling(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `ask` as a worker can take them: an index by its folder, passages as a list."""
    sent = dict(arguments)
    index = sent.get("index")
    if isinstance(index, Index):
        sent["index"] = index.path.absolute()
    elif index is not None and not isinstance(index, str | Path):
        raise ConfigError("workers open an index by its folder: another retriever cannot be sent to them")
    if sent.get("passages") is not None:
        sent["passages"] = list(sent["passages"])
    return sent
