"""What the benchmarks over sources share: strategies asked in threads, votes of sources, shares with intervals.

Nothing is measured here; `ra_rag_multisource.py` and `realtimeqa_poison.py` do.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from disputatio.agents.per_source import (
    OURS,
    Checks,
    SourceReply,
    answer_per_source,
    drop_unsupported,
    retrieve_per_source,
)
from disputatio.attribution.clusters import cluster
from disputatio.errors import DisputatioError
from disputatio.eval.statistics import estimate as share
from disputatio.eval.statistics import mcnemar, paired_difference
from disputatio.events import Read
from disputatio.kit import Kit
from disputatio.pipeline import ask
from disputatio.protocols import Retriever, Search, SearchOptions
from disputatio.reliability.weighted_vote import Estimate, weighted_vote, weights_of
from disputatio.store.in_memory import InMemory
from disputatio.trace import Trace
from disputatio.types import Answer, Example, Hit, Passage, Source

_In = TypeVar("_In")
_Out = TypeVar("_Out")
THREADS = (
    16  # questions in flight: single answers are written one token a step, and many cost little more than one
)


@dataclass(frozen=True, slots=True)
class Among:
    """A retriever of some sources alone that scores as if all were there."""

    whole: InMemory
    names: frozenset[str]

    def search(self, query: str, **options: Unpack[SearchOptions]) -> list[Hit]:
        """As `InMemory.search`, of these sources."""
        search = Search(**options)
        sources = self.names if search.sources is None else self.names & set(search.sources)
        return self.whole.search(query, replace(search, sources=sources))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a strategy answered, what that took, and the fault if there was one."""

    answer: Answer | None
    trace: Trace
    fault: str = ""

    @property
    def answers(self) -> tuple[str, ...]:
        return self.answer.answers if self.answer else ()

    def tokens(self, *roles: str) -> int:
        """Prompt and new tokens of the calls, of all roles or these."""
        return sum(
            event.usage.prompt_tokens + event.usage.completion_tokens
            for event in self.trace.events
            if isinstance(event, Read) and (not roles or event.role in roles)
        )

    def calls(self, *roles: str) -> int:
        """Calls, of all roles or these."""
        return sum(
            isinstance(event, Read) and (not roles or event.role in roles) for event in self.trace.events
        )


def say(text: str) -> None:
    """A line of progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def over(items: Sequence[_In], do: Callable[[_In], _Out], *, label: str) -> list[_Out]:
    """`do` each item in a few threads, so that the engine has several questions to batch."""
    start = time.perf_counter()
    done: list[_Out] = []
    with ThreadPoolExecutor(THREADS) as pool:
        for n, result in enumerate(pool.map(do, items), 1):
            done.append(result)
            if n % 10 == 0 or n == len(items):
                say(f"{label}: {n}/{len(items)}, {time.perf_counter() - start:.0f} s")
    return done


def put(
    example: Example,
    kit: Kit,
    strategy: str,
    options: Mapping[str, Any],
    *,
    passages: Sequence[Passage] | None = None,
    retriever: Retriever | None = None,
) -> Asked:
    """Put one question to one strategy; faults of ours are kept, others end the benchmark."""
    searched = retriever or InMemory(example.passages if passages is None else passages)
    trace = Trace()
    try:
        answer = ask(
            example.question,
            kit=replace(kit, retriever=searched),
            strategy=strategy,
            options=options,
            verify=False,
            trace=trace,
        )
    except DisputatioError as error:
        return Asked(answer=None, trace=trace, fault=f"{type(error).__name__}: {error}"[:120])
    return Asked(answer=answer, trace=trace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """What every source said to a question: before f_align, after it, and the clusters of what is left."""

    question: str
    before: tuple[SourceReply, ...]
    after: tuple[SourceReply, ...]
    votes: Mapping[str, int]
    answers: tuple[str, ...]
    entailments: int
    trace: Trace

    def voted(
        self, weights: Mapping[str, float] | None = None, spare: Mapping[str, float] | None = None
    ) -> Asked:
        """Return the (weighted) vote of the sources over these answers, with what the panel cost; None: all
        weigh 1.

        `spare` weights decide where nobody who answered has any of the first.
        What `ra_rag` with selection=all and `majority_vote` come to, up to the order in which ties are met.
        """
        names = list(self.votes)
        heavy = [1.0 if weights is None else weights.get(name, 0.0) for name in names]
        if spare is not None and not any(heavy[n] for n, name in enumerate(names) if self.votes[name] >= 0):
            heavy = [spare.get(name, 0.0) for name in names]
        won = int(weighted_vote([[self.votes[name] for name in names]], heavy)[0]) if names else -1
        answers = (self.answers[won],) if won >= 0 else ()
        return Asked(
            answer=Answer(
                question=self.question, answers=answers, abstained=None if answers else "no_evidence"
            ),
            trace=self.trace,
        )


def panel(question: str, retriever: Retriever, kit: Kit, *, tau: float = 0.1, checks: Checks = OURS) -> Panel:
    """Ask all sources, as `ra_rag` with selection=all and these checks does."""
    reader = replace(kit, retriever=retriever).with_trace(Trace())
    holdings = retrieve_per_source(question, reader)
    replies = answer_per_source(question, holdings, reader, gate=checks.gate)
    after = drop_unsupported(question, replies, reader, tau=tau, checks=checks)
    clusters = cluster(question, [reply.answer for reply in after], reader)
    votes = {reply.source: vote for reply, vote in zip(after, clusters.votes, strict=True)}
    return Panel(
        question=question,
        before=tuple(replies),
        after=tuple(after),
        votes=votes,
        answers=clusters.answers,
        entailments=clusters.calls,
        trace=reader.trace,
    )


def votes_of(panels: Sequence[Panel], names: Sequence[str]) -> NDArray[np.int32]:
    """Return the votes (questions, sources), the clusters of each question numbered as these sources met
    them.
    """
    votes = np.full((len(panels), len(names)), -1, dtype=np.int32)
    for row, poll in enumerate(panels):
        numbers: dict[int, int] = {}
        for column, name in enumerate(names):
            vote = poll.votes.get(name, -1)
            if vote >= 0:
                votes[row, column] = numbers.setdefault(vote, len(numbers))
    return votes


def sources_of(
    estimates: Estimate, names: Sequence[str], *, groups: Mapping[str, str] | None = None
) -> dict[str, Source]:
    """Return the estimates as a kit wants them; a source that could not be checked has none."""
    return {
        name: Source(
            name=name,
            reliability=float(estimates.reliability[n]) if estimates.checked[n] else None,
            low=float(estimates.low[n]) if estimates.checked[n] else None,
            high=float(estimates.high[n]) if estimates.checked[n] else None,
            answered=float(estimates.answered[n]),
            agreed=float(estimates.agreed[n]),
            group=(groups or {}).get(name, ""),
        )
        for n, name in enumerate(names)
    }


def weighed(
    known: Mapping[str, Source], options: int, *, low: bool = False, prior: float = 0.5
) -> dict[str, float]:
    """v = L w - 1 of each source; with `low` by the lower end of its interval, never negative, nothing without one."""
    rated: dict[str, float] = {}
    for name, source in known.items():
        rate = source.low if low else source.reliability
        value = 0.0 if low else prior
        rated[name] = float(weights_of(value if rate is None else rate, options))
    return {name: max(weight, 0.0) for name, weight in rated.items()} if low else rated


def told(values: Sequence[float | None], digits: int = 3) -> str:
    """Return a mean with its 95 % bootstrap interval.

    >>> told([1.0, 1.0])
    '1.000 [1.000, 1.000]'
    """
    estimate = share(values)
    if estimate.mean is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.{digits}f}"
    return f"{estimate.mean:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def told_over_draws(draws: Sequence[Sequence[float | None]], digits: int = 3) -> str:
    """Return the mean over draws (of sources, of seeds) of each draw's mean, with a 95 % interval over the
    draws.

    It is the unit where a paper averages over draws; of one draw there is no interval.

    >>> told_over_draws([[1.0, 0.0], [1.0, 0.0]]), told_over_draws([[1.0, 0.0]])
    ('0.500 [0.500, 0.500]', '0.500')
    """
    return told([share(values).mean for values in draws], digits)


def against(first: Sequence[float | None], other: Sequence[float | None]) -> str:
    """Return a paired difference with its interval and p, and McNemar's exact test where scores are right or
    wrong.

    >>> against([1.0] * 7 + [0.0] * 3, [0.0] * 10).partition("; ")[2]
    'McNemar 7 to 0, p = 0.016'
    """
    difference = paired_difference(first, other)
    if difference.mean is None or difference.low is None or difference.high is None or difference.p is None:
        return "–"
    chance = "p < 0.001" if difference.p < 0.001 else f"p = {difference.p:.3f}"
    text = f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}], {chance}"
    test = mcnemar(first, other)
    if test is None:
        return text
    exact = "p < 0.001" if test.p < 0.001 else f"p = {test.p:.3f}"
    return f"{text}; McNemar {test.one_only} to {test.other_only}, {exact}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table, numbers to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)])
