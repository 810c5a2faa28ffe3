"""What the benchmark looks up for a pair of thresholds is what asking with them comes to."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from disputatio.agents.explainer import EXPLAIN_SYSTEM
from disputatio.eval.multiple_choice import choice
from disputatio.kit import Kit
from disputatio.llm.scripted import Odds, Scripted
from disputatio.store.in_memory import InMemory
from disputatio.strategies.ac_rag import DISSECT_SYSTEM, POST_CHECK_SYSTEM, PRE_CHECK_SYSTEM
from disputatio.strategies.ac_rag import ac_rag as strategy
from disputatio.strategies.self_rag import DIRECT_SYSTEM
from disputatio.types import Example, Passage
from tests.bench.scripts import script

EXAMPLE = Example(
    id="x",
    row=0,
    question="Which increases callus?\nA. Rest\nB. Movement",
    gold=("B. Movement",),
    wrong=("A. Rest",),
    metadata={"options": ("Rest", "Movement")},
)
SHELF = InMemory([Passage(id=f"p{n}", text=f"Text {n} on term{n}.", source=f"s{n}") for n in range(4)])


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The benchmark's module, which is no part of the package and imports its neighbours by name."""
    yield script("ac_rag_medical")


class Model(Scripted):
    """Right from two notes on; surer with each note; the detector runs out of terms after `terms`."""

    def __init__(self, terms: int) -> None:
        super().__init__(self._say, choices=self._odds)
        self.terms = terms

    def _say(self, text: str) -> str:
        if text.startswith(DISSECT_SYSTEM):
            terms = text.removeprefix(DISSECT_SYSTEM).count("on term")
            return json.dumps({"terms": [f"term{min(terms, self.terms - 1)}"]})
        if text.startswith(EXPLAIN_SYSTEM):
            return text.rsplit("\n", maxsplit=1)[-1]
        if text.startswith(DIRECT_SYSTEM):
            return json.dumps({"answers": ["B. Movement"], "explanation": "It moves."})
        number = text.rsplit("Text ", maxsplit=1)[1][0]
        return json.dumps({"summary": f"It is on term{number}."})

    def _odds(self, text: str) -> Odds:
        notes = text.count("It is on term")
        if text.startswith(PRE_CHECK_SYSTEM):
            return {"Yes": 0.2, "No": 0.8}
        if text.startswith(POST_CHECK_SYSTEM):
            return {"Yes": 0.02 * 10 ** (notes - 1), "No": 0.1}
        return {"A": 0.6, "B": 0.4} if notes < 2 else {"A": 0.1, "B": 0.9}


@pytest.mark.parametrize("terms", [1, 2, 3])
def test_thresholds_looked_up_are_thresholds_asked(bench: Any, terms: int) -> None:
    path = bench.walked(EXAMPLE, Kit(model=Model(terms)), SHELF, {"plain": bench.PLAIN})
    assert not isinstance(path, str)
    assert len(path.right) == terms + 1
    assert path.arms == {"plain": 0.0}
    met = set()
    for delta1, delta4 in itertools.product(
        (-math.inf, -2.0, -1.0, math.inf), (-math.inf, -5.0, -3.0, -1.0, math.inf)
    ):
        answer = strategy(
            EXAMPLE.question, Kit(model=Model(terms), retriever=SHELF), delta1=delta1, delta4=delta4
        )
        decision = bench.decided(path, delta1, delta4)
        assert (decision.rounds, decision.right) == (
            answer.rounds,
            choice(answer.answers, EXAMPLE.gold, EXAMPLE.wrong),
        )
        met.add(decision.rounds)
    assert met == set(range(terms + 1))


def test_rates_are_those_of_the_paper(bench: Any) -> None:
    decisions = [
        bench.Decided(right=right, rounds=rounds)
        for right, rounds in ((1.0, 0), (0.0, 1), (1.0, 3), (1.0, 2))
    ]
    assert bench.rates(decisions) == {"accuracy": 0.75, "direct": 0.25, "ra": 0.75, "iters": 2.0}
    assert bench.rates([])["accuracy"] is None


def test_a_set_is_written_with_its_sweeps_and_charts(bench: Any, tmp_path: Path) -> None:
    part = bench.measure("toy", [EXAMPLE], Kit(model=Model(3)), SHELF, {"plain": bench.PLAIN})
    assert [row["direct"] for row in part["sweep"]["delta1"]] == [0.0] * 3 + [1.0] * 7
    assert [row["iters"] for row in part["sweep"]["delta4"]][::9] == [1.0, 3.0]
    bench.write({"about": "", "model": "m", "sets": [part]}, tmp_path / "out.json")
    assert "| toy | 1 | 0 |" in (tmp_path / "out.md").read_text()
    charts = sorted(chart.name for chart in (tmp_path / "out").glob("*.svg"))
    assert charts == ["toy_delta1.svg", "toy_delta4.svg"]
    assert "(out/toy_delta1.svg)" in (tmp_path / "out.md").read_text()
    json.loads((tmp_path / "out.json").read_text())


def test_a_fault_is_counted_and_no_wrong_answer(bench: Any) -> None:
    class Broken(Model):
        def _odds(self, text: str) -> Odds:
            from disputatio.errors import ServerFault

            return ServerFault("down", 503)

    part = bench.measure("toy", [EXAMPLE], Kit(model=Broken(3)), SHELF, {})
    assert (part["n"], part["failed"], part["accuracy"]) == (0, 1, None)


def test_thresholds_are_chosen_on_other_rows_and_reported_beside_the_papers(
    bench: Any, tmp_path: Path
) -> None:
    kit = Kit(model=Model(3))
    part = bench.measure(
        "toy", [EXAMPLE], kit, SHELF, {}, others=[EXAMPLE, EXAMPLE], shots="Q A", context=True
    )
    assert part["tuned"]["rows"] == 2
    assert (part["tuned"]["delta1"], part["tuned"]["delta4"]) == ("-2.0", "-3.0"), "nothing acts on one kind"
    assert bench.TUNED in part["scores"]
    bench.write({"about": "", "model": "m", "sets": [part]}, tmp_path / "out.json")
    assert "| toy | 2 | -2.0 | -3.0 |" in (tmp_path / "out.md").read_text()


def test_solved_examples_end_with_their_letter(bench: Any) -> None:
    assert bench.solved([EXAMPLE]).endswith(f"Answer: {bench._key(EXAMPLE)}")


@pytest.mark.parametrize("terms", [1, 2, 3])
def test_a_short_walk_decides_as_a_whole_one_at_the_papers_thresholds(bench: Any, terms: int) -> None:
    whole = bench.walked(EXAMPLE, Kit(model=Model(terms)), SHELF, {})
    short = bench.walked(EXAMPLE, Kit(model=Model(terms)), SHELF, {}, None, bench.DELTA4)
    at = (bench.DELTA1, bench.DELTA4)
    assert bench.decided(short, *at) == bench.decided(whole, *at)
    assert len(short.post) <= len(whole.post)
    part = bench.entered("toy", [short], [], (), until=bench.DELTA4)
    assert part["sweep"]["delta4"] == []
    assert "δ4 (post-check" not in bench.report({"model": "m", "sets": [part]}, "out")


def test_a_baseline_is_asked_by_its_own_strategy(bench: Any) -> None:
    model = Model(1)
    arms = {"none": {"strategy": "self_rag", "threshold": math.inf}}
    path = bench.walked(EXAMPLE, Kit(model=model), SHELF, arms, {"shots": "Question: q\nAnswer: A"})
    assert path.arms == {"none": 1.0}
    assert "Question: q" not in model.calls[-1].text
