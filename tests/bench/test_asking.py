"""The votes of the benchmarks over sources are those that the strategies would come to."""

from __future__ import annotations

import numpy as np

from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import ask
from disputatio.reliability.weighted_vote import estimate
from disputatio.store.in_memory import InMemory
from disputatio.types import Passage, Source
from tests.bench.scripts import script

asking = script("asking")
PASSAGES = [
    Passage(text=f"The mill was built in {year}.", source=f"s{n}", id=f"p{n}")
    for n, year in enumerate(("1901", "1901", "1887"))
]
QUESTION = "When was the mill built?"


def _reader(prompt: str) -> str:
    year = "1887" if "1887" in prompt else "1901"
    return f'{{"answered": "yes", "answer": "{year}", "quote": "built in {year}"}}'


def _kit() -> Kit:
    return Kit(model=Scripted(_reader, choices=lambda _: {"Yes": 0.9, "No": 0.1}))


def test_a_panel_votes_as_the_strategies_do() -> None:
    retriever = InMemory(PASSAGES)
    votes = asking.panel(QUESTION, retriever, _kit())
    known = {f"s{n}": Source(name=f"s{n}", reliability=rate) for n, rate in enumerate((0.2, 0.2, 0.9))}
    for weights, sources in ((None, {}), (asking.weighed(known, 10), known)):
        kit = Kit(model=_kit().model, retriever=retriever, sources=sources)
        answer = ask(QUESTION, kit=kit, strategy="ra_rag", options={"selection": "all"}, verify=False)
        assert votes.voted(weights).answers == answer.answers
    assert votes.voted().answers == ("1901",)
    assert votes.voted(asking.weighed(known, 10)).answers == ("1887",)


def test_where_nobody_has_a_weight_the_spare_ones_decide() -> None:
    votes = asking.panel(QUESTION, InMemory(PASSAGES), _kit())
    nothing = dict.fromkeys(("s0", "s1", "s2"), 0.0)
    assert votes.voted(nothing, {**nothing, "s2": 1.0}).answers == ("1887",)


def test_votes_are_numbered_as_the_sources_met_them() -> None:
    votes = asking.panel(QUESTION, InMemory(PASSAGES), _kit())
    assert asking.votes_of([votes], ["s2", "s0", "nobody"]).tolist() == [[0, 1, -1]]


def test_lower_bounds_weigh_nothing_without_a_record() -> None:
    estimates = estimate(np.array([[0, 0, -1]] * 20, dtype=np.int32))
    known = asking.sources_of(estimates, ["s0", "s1", "s2"])
    low = asking.weighed(known, 10, low=True)
    assert known["s2"].reliability is None
    assert (low["s2"], low["s0"] > 5) == (0.0, True)


def test_a_retriever_among_some_sources_finds_only_theirs() -> None:
    among = asking.Among(InMemory(PASSAGES), frozenset({"s1"}))
    assert [hit.passage.source for hit in among.search(QUESTION, per_source=3)] == ["s1"]
