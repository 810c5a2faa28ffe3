"""The loaders read the real data sets, where their folder stands beside the checkout."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from disputatio.eval.data.datasets import check, identify, load
from disputatio.eval.metrics import answer_set, exact_match, score_answer
from disputatio.types import Example

DATA = Path(os.environ.get("DISPUTATIO_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="the folder of data is not here"),
]


@pytest.mark.parametrize(
    ("spec", "rows"),
    [
        ("ambignq:ambignq/dev_light.json", 2002),
        ("beir:nfcorpus#test", 323),
        ("conflictnq:conflictnq/val.jsonl", 225),
        ("conflictqa:conflictqa/strategyqa_chatgpt.jsonl", 1245),
        ("datamorgana:datamorgana/questions_500.jsonl", 500),
        ("expertqa:expertqa", 2788),
        ("judged_answers:judged_answers", 999),
        ("liar:liar/train.tsv", 10269),
        ("mirage:mirage#medqa", 1273),
        ("nq_with_passages:nq_with_passages", 1000),
        ("poisonedrag:poisonedrag/nq.jsonl", 100),
        ("pubmedqa:pubmedqa#test", 500),
        ("ramdocs:ramdocs", 244),
        ("realtimeqa:realtimeqa#poisoned", 100),
        ("retrievalqa:retrievalqa", 250),
    ],
)
def test_every_row_is_read_and_its_gold_answer_is_right(spec: str, rows: int) -> None:
    name, _, path = spec.partition(":")
    examples = load(f"{name}:{DATA / path}")
    assert len(examples) == rows
    metrics = [metric for metric in identify(f"{name}:{DATA / path}").metrics if metric != "attack"]
    for example in examples:
        scores = score_answer(example.gold, example, metrics)
        assert all(scores[one] in (1.0, None) for one in ("em", "accuracy") if one in scores), example.row


def ceilings(examples: Sequence[Example]) -> dict[str, Any]:
    """Return what perfect extraction would score on rows whose passages are labelled (RAMDocs).

    `all` keeps the labelled answer of every passage, `oracle` those of the passages of type correct.
    Each holds strict EM in both readings, as shares; counts tell why they are below 1.
    """
    if not examples:
        return {"n": 0}
    tally = {"all": [0.0, 0.0], "oracle": [0.0, 0.0]}
    unborne = both = 0
    for example in examples:
        labels = list(zip(example.metadata["types"], example.metadata["answers"], strict=True))
        chosen = {
            "all": [answer for _, answer in labels],
            "oracle": [answer for kind, answer in labels if kind == "correct"],
        }
        for name, answers in chosen.items():
            tally[name][0] += exact_match(answers, example.gold, example.wrong) or 0.0
            tally[name][1] += exact_match(answers, example.gold, example.wrong, literal=True) or 0.0
        unborne += not set(answer_set(example.gold)) <= set(answer_set(chosen["oracle"]))
        both += bool(set(answer_set(example.gold)) & set(answer_set(example.wrong)))
    n = len(examples)
    return {
        "n": n,
        **{name: {"em": a / n, "em_literal": b / n} for name, (a, b) in tally.items()},
        "gold_not_borne": unborne,
        "gold_and_wrong": both,
    }


def test_the_ceilings_of_perfect_extraction_come_out_of_the_metrics() -> None:
    examples = load(f"ramdocs:{DATA / 'ramdocs' / 'dev.jsonl'}")
    highest = ceilings(examples)
    assert [round(100 * highest[name]["em"], 1) for name in ("all", "oracle")] == [40.2, 85.7]
    assert (highest["gold_not_borne"], highest["gold_and_wrong"]) == (35, 6)
    assert check(examples)[0].startswith("6 of 244 rows list an answer as both gold and wrong")
