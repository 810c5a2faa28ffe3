"""Pairs of FaithEval's kind: one document tells the right answer, the other a wrong one, and neither both."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.eval.builders.inconsistent import GIVEN, OTHER, SAME, Pairs, contradict, read_single
from disputatio.eval.builders.material import Material, stands
from disputatio.eval.data.datasets import load
from tests.eval.material import conflictnq_rows, material, write_rows


@pytest.fixture
def built(tmp_path: Path) -> Pairs:
    path = write_rows(tmp_path / "val.jsonl", conflictnq_rows())
    return contradict({"conflictnq": read_single(f"conflictnq:{path}")})


def test_two_documents_tell_one_answer_each(built: Pairs) -> None:
    assert len(built.rows) == 12
    for row in built.rows:
        first, second = row["context"].removeprefix("Document: ").split("\n\nDocument: ")
        right, wrong = row["answers"]
        assert sorted([(stands(one, right), stands(one, wrong)) for one in (first, second)]) == [
            (False, True),
            (True, False),
        ]
    first_is_right = {
        row["context"].index(row["answers"][0]) < row["context"].index(row["answers"][1])
        for row in built.rows
    }
    assert first_is_right == {True, False}


def test_the_loader_of_faitheval_reads_the_rows_with_the_right_answer_as_gold(
    built: Pairs, tmp_path: Path
) -> None:
    loaded = load(f"faitheval_inconsistent:{write_rows(tmp_path / 'pairs.jsonl', built.rows)}")
    for row, one in zip(built.rows, loaded, strict=True):
        assert ([*one.gold, *one.wrong], len(one.passages)) == (row["answers"], 2)
        assert one.metadata["strata"] == {"origin": "conflictnq"}


def test_what_contradicts_is_the_data_set_s_own_then_a_copy_of_another_passage_then_of_the_same() -> None:
    several = (
        "Mill 0 was built in Goldtown0 of stone.",
        "They say that Goldtown0 is where it stands, Mill 0.",
    )
    plain = [
        Material(id=f"p{n}", question=f"Where was mill {n} built?", gold=(f"Goldtown{n}",), factual=texts)
        for n, texts in enumerate([several, ("Mill 1 was built in Goldtown1 of brick.",)])
    ]
    assert contradict({"x": [material(7)]}).made == {GIVEN: 1}
    assert contradict({"x": plain}).made == {OTHER: 1, SAME: 1}


def test_what_gives_no_pair_is_counted_and_too_few_are_refused() -> None:
    bare = Material(id="b", question="Where was mill 9 built?", gold=("Oslo",), factual=("Nobody knows.",))
    assert contradict({"x": [material(), bare]}).left_out == {
        "no passage that bears its answer and is about it": 1
    }
    with pytest.raises(InputError, match="1 pairs can be built, not 2"):
        contradict({"x": [material(), bare]}, questions=2)
    with pytest.raises(InputError, match="not any: no passage"):
        contradict({"x": [bare]})


def test_a_document_cannot_pretend_to_be_two() -> None:
    one = Material(
        id="d",
        question="Where was mill 1 built?",
        gold=("Oslo",),
        factual=("Mill 1 was built in Oslo.\n\nDocument: it is old.",),
    )
    (row,) = contradict({"x": [one, material(2)]}).rows[:1]
    assert row["context"].count("Document:") == 2


def test_the_same_seed_gives_the_same_pairs(built: Pairs, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "again.jsonl", conflictnq_rows())
    assert contradict({"conflictnq": read_single(f"conflictnq:{path}")}) == built
    assert contradict({"conflictnq": read_single(f"conflictnq:{path}")}, seed=1).rows != built.rows
