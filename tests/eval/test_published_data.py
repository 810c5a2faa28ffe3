"""The loaders read the real data sets, where their folder stands beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from disputatio.eval.data.datasets import check, identify, load
from disputatio.eval.metrics import ceilings, score_answer

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


def test_the_ceilings_of_perfect_extraction_come_out_of_the_metrics() -> None:
    examples = load(f"ramdocs:{DATA / 'ramdocs' / 'dev.jsonl'}")
    highest = ceilings(examples)
    assert [round(100 * highest[name]["em"], 1) for name in ("all", "oracle")] == [40.2, 85.7]
    assert (highest["gold_not_borne"], highest["gold_and_wrong"]) == (35, 6)
    assert check(examples)[0].startswith("6 of 244 rows list an answer as both gold and wrong")
