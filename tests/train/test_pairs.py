"""Pairs for the judging heads: labels of the sets, claims made of questions, groups on one side."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.train.material import example, write_data, write_rows
from train.claims import Claims, claims_of
from train.examples import seeded
from train.pairs import (
    CONTRADICTS,
    NOT_SUPPORTS,
    SILENT,
    SUPPORTS,
    all_pairs,
    entailment_pairs,
    namesake_pairs,
    side_of,
)

SETS = ("fm2", "fever_rte_dev")
YEARS = ("1901", "1950", "1980", "1977")
TEXT = "Anna Gold sang in Paris in 1962. The hall was built by Bruno Silver."


def test_labels_of_two_and_of_three_classes_are_told_apart(tmp_path: Path) -> None:
    pairs = entailment_pairs(write_data(tmp_path) / "train")
    labels = {
        name: {pair.label for pair in pairs if pair.dataset == name} for name in ("fm2", "fever_rte_dev")
    }
    assert labels == {"fm2": {SUPPORTS, CONTRADICTS, SILENT}, "fever_rte_dev": {SUPPORTS, NOT_SUPPORTS}}


def test_all_pairs_of_a_group_are_on_one_side(tmp_path: Path) -> None:
    sides: dict[str, set[str]] = {}
    for pair in all_pairs(write_data(tmp_path)):
        sides.setdefault(pair.group, set()).add(side_of(pair))
    assert {len(found) for found in sides.values()} == {1}
    assert {next(iter(found)) for found in sides.values()} == {"train", "dev", "test"}


def test_namesakes_are_not_told_by_equal_answers(tmp_path: Path) -> None:
    documents = [
        {"text": f"Ada Berg ({year}) was a {trade} of Arden.", "type": "correct", "answer": year}
        for year, trade in (("1901", "painter"), ("1950", "rower"), ("1980", "judge"))
    ]
    copy = {"text": "Ada Berg (1977) was a painter of Arden.", "type": "misinfo", "answer": "1977"}
    rows = [{"question": f"Born {number}?", "documents": [*documents, copy]} for number in range(40)]
    write_rows(tmp_path / "dev.jsonl", rows)
    pairs = namesake_pairs(tmp_path / "dev.jsonl", ["train"])
    assert {pair.label for pair in pairs} == {0, 1}
    shared = Counter(
        (
            pair.label,
            any(year in pair.first and year in pair.second for year in ("1901", "1950", "1980", "1977")),
        )
        for pair in pairs
    )
    for label in (0, 1):
        assert 0.3 < shared[label, True] / (shared[label, True] + shared[label, False]) < 0.7


def test_rows_kept_for_the_report_give_no_pairs_to_train_on(tmp_path: Path) -> None:
    named = {pair.group for pair in all_pairs(write_data(tmp_path)) if pair.dataset == "namesakes"}
    assert all(int(group.split("/")[1]) % 2 for group in named)


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("supported", SUPPORTS),
        ("kept", SUPPORTS),
        ("other", CONTRADICTS),
        ("substituted", CONTRADICTS),
        ("silent", SILENT),
    ],
)
def test_a_claim_has_the_label_of_how_it_was_made(kind: str, label: int) -> None:
    examples = [
        example(TEXT, "Anna Gold", title="Paris", id="1"),
        example(TEXT, "Bruno Silver", question="Who built the hall?", title="Paris", id="2"),
        example("Rome is old.", title="Paris", id="3", group="h"),
    ]
    maker = Claims(examples)
    found = [maker.pair(examples[0], seeded(number), least=30, most=40) for number in range(60)]
    made = [pair for pair in found if pair is not None and f"/{kind}/" in pair.id]
    assert made
    for pair in made:
        assert pair.label == label
        claimed = "Bruno Silver" if kind in ("other", "kept") else "Anna Gold"
        assert pair.first.endswith(f" is: {claimed}.")
        if kind != "other":
            assert (claimed in pair.second) == (label == SUPPORTS)


def test_long_answers_and_unanswerable_questions_make_no_claim() -> None:
    long = example("He said that it was in the old hall by the river.", "that it was in the old hall by")
    assert claims_of([long, example(TEXT)], share=1.0, seed=0, epoch=0, least=30, most=40) == []
