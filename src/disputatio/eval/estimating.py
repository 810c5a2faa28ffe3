"""Reliabilities for an evaluation of the multi-source benchmark, from the set's own questions to estimate on.

As in RA-RAG (Hwang et al. 2024, 5.1) the questions of `estimate.jsonl` are put to every source, with the
f_align of the strategy that needs the estimates, and only those of `test.jsonl` are evaluated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from disputatio import platforms
from disputatio.agents.per_source import ask_sources, read_checks, retrieve_per_source
from disputatio.attribution.clusters import cluster
from disputatio.errors import InputError
from disputatio.eval.builders.multisource import ESTIMATE
from disputatio.eval.data.datasets import load
from disputatio.eval.running.run_log import Entrant
from disputatio.kit import Kit
from disputatio.pipeline import needs_estimates
from disputatio.reliability.trust import untangle
from disputatio.reliability.weighted_vote import CAP, estimate
from disputatio.store.in_memory import InMemory
from disputatio.trace import Trace, total_usage
from disputatio.types import Example, Source

FORMAT = "multisource"
FILE = "estimates.json"
Estimator = Literal["paper", "ours"]
_SETTINGS = ("tau", "f_align", "per_source", "max_tokens", "reader")


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedSources:
    """The sources as a strategy with these settings knows them; empty where nothing was estimated."""

    by_settings: Mapping[str, Mapping[str, Source]]
    about: Mapping[str, Any]

    def of(self, strategy: str, options: Mapping[str, Any]) -> Mapping[str, Source]:
        """Return the sources for a strategy with these options; one without estimates gets the first."""
        if not self.by_settings:
            return {}
        own = self.by_settings.get(_key(options)) if needs_estimates(strategy, options) else None
        return own if own is not None else next(iter(self.by_settings.values()))


def split(specs: Iterable[str], examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Return the examples to evaluate and those to estimate on: of the files, or of `estimate.jsonl` beside.

    Raises `InputError` for two multi-source data sets, whose sources would share names.
    """
    built = [spec for spec in specs if spec.partition(":")[0] == FORMAT]
    if not built:
        return list(examples), []
    if len(built) > 1:
        raise InputError("one multisource data set a run: sources of two would go by the same names")
    own = [example for example in examples if example.metadata.get("split") == ESTIMATE]
    tests = [example for example in examples if example.metadata.get("split") != ESTIMATE]
    beside = Path(built[0].partition(":")[2]).with_name("estimate.jsonl")
    if not own and beside.is_file():
        own = load(f"{FORMAT}:{beside}")
    return (tests, own) if tests else (list(examples), [])


def estimate_sources(
    entrants: Sequence[Entrant],
    examples: Sequence[Example],
    kit: Kit,
    *,
    estimator: Estimator = "paper",
    workers: int = 1,
    folder: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> EstimatedSources:
    """Return the estimates that the entrants want, each from the answers under its own settings.

    `folder` keeps them: an evaluation that goes on asks nothing again. Raises `LLMError`.
    """
    wanting = {
        _key(entrant.options): entrant
        for entrant in entrants
        if needs_estimates(entrant.strategy, entrant.options)
    }
    if not wanting or not examples:
        return EstimatedSources(by_settings={}, about={})
    by_settings: dict[str, Mapping[str, Source]] = {}
    spent = {"calls": 0, "tokens": 0}
    for key, entrant in wanting.items():
        name = _fingerprint(key, examples, kit, estimator)
        sources = _kept(folder, name)
        if sources is None:
            say(f"estimating reliabilities on {len(examples)} questions of the data set ({key})")
            sources, calls, tokens = _estimate(examples, kit, entrant.options, estimator, workers)
            spent = {"calls": spent["calls"] + calls, "tokens": spent["tokens"] + tokens}
            _keep(folder, name, sources)
        by_settings[key] = sources
    about = {
        "estimator": estimator,
        "questions": len(examples),
        "sources": {
            key: {name: source.reliability for name, source in sources.items()}
            for key, sources in by_settings.items()
        },
        **spent,
    }
    return EstimatedSources(by_settings=by_settings, about=about)


def _estimate(
    examples: Sequence[Example], kit: Kit, options: Mapping[str, Any], estimator: Estimator, workers: int
) -> tuple[dict[str, Source], int, int]:
    """Return the sources with their estimates, and the calls and tokens that these took."""
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        rows_and_traces = list(pool.map(lambda example: replies_to(example, kit, options), examples))
    names = sorted({passage.source for example in examples for passage in example.passages})
    votes = votes_of([row for row, _ in rows_and_traces], names)
    found = (
        estimate(votes, options=max(2, min(len(names), CAP))) if estimator == "paper" else untangle(votes)[0]
    )
    sources = {
        name: Source(
            name=name,
            reliability=float(found.reliability[at]) if found.checked[at] else None,
            low=float(found.low[at]) if found.checked[at] else None,
            high=float(found.high[at]) if found.checked[at] else None,
            questions=len(examples),
            answered=float(found.answered[at]),
            agreed=float(found.agreed[at]),
        )
        for at, name in enumerate(names)
    }
    spent = total_usage(usage for _, trace in rows_and_traces for usage in trace.usages)
    return sources, spent.calls, spent.prompt_tokens + spent.completion_tokens


def replies_to(example: Example, kit: Kit, options: Mapping[str, Any]) -> tuple[dict[str, int], Trace]:
    """Return the cluster of each source that answers a question, and the trace."""
    settings = {name: options[name] for name in _SETTINGS if name in options}
    asking_kit = replace(kit, retriever=InMemory(example.passages)).with_trace(Trace())
    retrieved = retrieve_per_source(example.question, asking_kit, per_source=settings.get("per_source", 3))
    replies = ask_sources(
        example.question,
        retrieved,
        asking_kit,
        tau=settings.get("tau", 0.1),
        max_tokens=settings.get("max_tokens", 96),
        checks=read_checks(str(settings.get("f_align", "paper"))),
        reader=settings.get("reader", "ours"),
    )
    clusters = cluster(example.question, [reply.answer for reply in replies], asking_kit)
    votes = zip((reply.source for reply in replies), clusters.votes, strict=True)
    return {source: vote for source, vote in votes if vote >= 0}, asking_kit.trace


def votes_of(rows: Sequence[Mapping[str, int]], names: Sequence[str]) -> NDArray[np.int32]:
    """Return the votes (questions, sources), each question's clusters numbered in order of appearance.

    >>> votes_of([{"b": 0, "a": 1}], ["a", "b", "c"]).tolist()
    [[0, 1, -1]]
    """
    votes = np.full((len(rows), len(names)), -1, dtype=np.int32)
    for number, row in enumerate(rows):
        numbers: dict[int, int] = {}
        for column, name in enumerate(names):
            if name in row:
                votes[number, column] = numbers.setdefault(row[name], len(numbers))
    return votes


# --- what is kept of them -----------------------------------------------------------------------
def _key(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={options[name]}" for name in _SETTINGS if name in options)


def _fingerprint(key: str, examples: Sequence[Example], kit: Kit, estimator: Estimator) -> str:
    content = [key, estimator, kit.model.name, *(f"{e.question}\x1f{len(e.passages)}" for e in examples)]
    return hashlib.sha256("\x1e".join(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _kept(folder: Path | None, name: str) -> dict[str, Source] | None:
    file = None if folder is None else folder / FILE
    if file is None or not file.is_file():
        return None
    try:
        rows = json.loads(file.read_text(encoding="utf-8")).get(name)
        return None if rows is None else {row["name"]: Source(**row) for row in rows}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise InputError(f"{file}: is damaged; delete it, and the estimates are made anew") from error


def _keep(folder: Path | None, name: str, sources: Mapping[str, Source]) -> None:
    if folder is None:
        return
    file = folder / FILE
    kept = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    kept[name] = [asdict(source) for source in sources.values()]
    folder.mkdir(parents=True, exist_ok=True)
    with platforms.whole_file(file) as part:
        part.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
