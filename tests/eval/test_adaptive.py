"""Strategies that decide whether to retrieve: their rates, and thresholds that are infinite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from disputatio.eval.reporting.report import report
from disputatio.eval.reporting.tables import markdown
from disputatio.eval.running.entrants import entrants
from disputatio.eval.running.run_log import Entrant
from disputatio.pipeline import load_strategy, read_options
from disputatio.trace import Trace
from disputatio.types import Answer, Passage
from tests.eval.fakes import HALF, MANIFEST, RIGHT, ask, examples, run


def _adaptively(
    q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], trace: Trace
) -> Answer:
    """`right` retrieves 0, 1, 2 or 3 times by turns; `half` is not adaptive."""
    answer = ask(q, p, strategy, options, trace)
    number = int(q.rsplit(maxsplit=1)[-1])
    return replace(answer, retrievals=number % 4) if strategy == "right" else answer


def test_direct_answers_retrievals_and_rounds_are_told_of_adaptive_strategies_alone(tmp_path: Path) -> None:
    run(examples(8), [RIGHT, HALF], ask=_adaptively, out=tmp_path, manifest=MANIFEST)
    evaluation = report(tmp_path)
    right, half = evaluation["datasets"][0]["strategies"]
    assert right["adaptive"] == {"n": 8, "direct": 0.25, "ra": 0.75, "iters": 2.0}
    assert half["adaptive"] is None
    told = markdown(evaluation).split("### Adaptive retrieval")[1].split("###")[0]
    assert "| right | 8 | 25.0 | 75.0 | 2.00 |" in told
    assert "half" not in told


def test_a_strategy_that_never_retrieved_has_no_mean_of_rounds(tmp_path: Path) -> None:
    def directly(
        q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], trace: Trace
    ) -> Answer:
        return replace(ask(q, p, strategy, options, trace), retrievals=0)

    run(examples(3), [RIGHT], ask=directly, out=tmp_path, manifest=MANIFEST)
    (one,) = report(tmp_path)["datasets"][0]["strategies"]
    assert one["adaptive"] == {"n": 3, "direct": 1.0, "ra": 0.0, "iters": None}


def test_an_infinite_threshold_can_be_recorded_and_is_read_back(tmp_path: Path) -> None:
    (one,) = entrants("always=ac_rag", ["delta1=-inf", "delta4=inf"])
    assert (one.options["delta1"], one.options["delta4"]) == ("-inf", "inf")
    assert read_options(load_strategy("ac_rag"), one.options)["delta1"] == float("-inf")
    toy = Entrant(label=one.label, strategy="right", options=one.options)
    run(examples(2), [toy], ask=ask, out=tmp_path, manifest=MANIFEST)
    run(examples(2), [toy], ask=ask, out=tmp_path, manifest=MANIFEST)
    assert report(tmp_path)["entrants"][0]["options"]["delta4"] == "inf"
