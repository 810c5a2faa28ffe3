"""The library's front door: `ask`, and an `Index` that brings its embedder along.

What the command line does with flags is done here with arguments; both end in `pipeline.ask`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from disputatio.config import Settings, build_kit, embedder_for, over, read_settings
from disputatio.errors import ConfigError
from disputatio.kit import Elsewhere, Kit
from disputatio.pipeline import ask as ask_pipeline
from disputatio.protocols import Embedder, Retriever
from disputatio.store import index as store
from disputatio.store.in_hand import InHand
from disputatio.trace import Trace
from disputatio.types import Answer, Passage

_KITS: dict[tuple[str, ...], Kit] = {}
_ENDPOINT = ("OPENAI_BASE_URL", "OPENAI_API_KEY")


class Index(store.Index):
    """Passages on disk, searched by keyword and by meaning, with the default embedder at hand."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | str | None = None,
        create: bool = True,
        language: str | None = None,
    ) -> Index:
        """Open or make an index; `embedder` is a model's name, a part of your own, or "none".

        Without one an index that exists is opened with the embedder it was made with. `language` is
        that of stemming, for a new index (English when not said; "none" for no stemming). Raises
        `StoreError` or `ConfigError` when the path holds something else or needs another embedder.
        """
        if embedder is None or isinstance(embedder, str):
            embedder = embedder_for(read_settings(), Path(path), named=embedder, create=create)
        return super().open(path, embedder=embedder, create=create, language=language)


def ask(
    question: str,
    *,
    index: Retriever | str | Path | None = None,
    passages: Sequence[Passage] | None = None,
    strategy: str | None = None,
    model: str | None = None,
    role: Mapping[str, str] | None = None,
    verify: bool = True,
    strict: bool = False,
    trace: Trace | None = None,
    elsewhere: Elsewhere | None = None,
    **options: Any,
) -> Answer:
    """Answer a question over an index or over passages in hand, with cited claims and all positions.

    `options` are the strategy's own (`rounds=2`); `strict` drops claims that their quotes do not support.
    `elsewhere` is a search of your own, (query, how many) -> passages, for strategies that search a second
    time (`crag`). Settings that are not given come from the environment, `disputatio.toml` and the defaults.
    Raises `DisputatioError`: `ConfigError` and `InputError` for what you can mend, `LLMError` and
    `ReplyError` for faults of a model.
    """
    if index is not None and passages is not None:
        raise ConfigError("give an index or passages, not both")
    settings = read_settings(model=model, role=dict(role) if role else None, strategy=strategy)
    retriever: Retriever | None = InHand(passages) if passages is not None else None
    if isinstance(index, str | Path):
        retriever = Index.open(index, create=False)
    elif index is not None:
        retriever = index
    kit = replace(over(kit_of(settings), retriever), elsewhere=elsewhere)
    return ask_pipeline(
        question,
        kit=kit,
        strategy=settings.strategy,
        options=options,
        verify=verify,
        strict=strict,
        trace=trace,
    )


def kit_of(settings: Settings) -> Kit:
    """One kit for the same settings, so that a process opens its journal and models once."""
    key = (settings.model_dump_json(), *(os.environ.get(name, "") for name in _ENDPOINT))
    if key not in _KITS:
        _KITS[key] = build_kit(settings)
    return _KITS[key]
