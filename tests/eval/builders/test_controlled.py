"""The sets of figure 4: the same questions at every level, and only what the level adds changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError
from disputatio.eval.builders.controlled import Controlled, Kind, build_controlled, supports
from disputatio.eval.builders.material import bears_any, stands
from disputatio.eval.data.datasets import load
from disputatio.types import Example
from tests.eval.material import write_rows
from tests.eval.stations import NAMES, ramdocs_row, year_of


@pytest.fixture
def rows(tmp_path: Path) -> list[Example]:
    return load(f"ramdocs:{write_rows(tmp_path / 'rows.jsonl', [ramdocs_row(name) for name in NAMES])}")


def _examples(tmp_path: Path, *rows: Mapping[str, Any]) -> list[Example]:
    return load(f"ramdocs:{write_rows(tmp_path / 'some.jsonl', rows)}")


def _levels(built: Controlled) -> list[list[Mapping[str, Any]]]:
    """Return the rows of each question, by level."""
    asked: dict[str, list[Mapping[str, Any]]] = {}
    for row in built.rows:
        asked.setdefault(row["question"], []).append(row)
    return [*asked.values()]


def _count(row: Mapping[str, Any], kind: str, answer: str) -> int:
    return sum(document["type"] == kind and document["answer"] == answer for document in row["passages"])


@pytest.mark.parametrize("kind", ["imbalance", "misinformation"])
def test_a_question_stands_at_every_level_and_keeps_what_it_had_in_its_order(
    rows: list[Example], kind: Kind
) -> None:
    built = build_controlled(rows, kind)
    assert built.questions == len(NAMES)
    for levels in _levels(built):
        assert len(levels) == 3
        for less, more in pairwise(levels):
            kept = [one for one in more["passages"] if one in less["passages"]]
            assert kept == less["passages"]
            assert len(more["passages"]) == len(less["passages"]) + 1
            assert less["gold"] == more["gold"]


def test_imbalance_has_one_passage_for_one_answer_and_more_for_the_other(rows: list[Example]) -> None:
    for levels in _levels(build_controlled(rows, "imbalance")):
        minor, major = levels[0]["gold"]
        for level, row in enumerate(levels, 1):
            assert row["categories"] == {"imbalance": f"1 : {level}"}
            assert (_count(row, "correct", minor), _count(row, "correct", major)) == (1, level)
            assert len(row["passages"]) == 1 + level
            assert row["wrong"] == []


def test_misinformation_tells_one_wrong_answer_beside_two_right_ones(rows: list[Example]) -> None:
    built = build_controlled(rows, "misinformation")
    assert (built.published, built.made) == (len(NAMES), 2 * len(NAMES))
    for levels in _levels(built):
        for level, row in enumerate(levels, 1):
            assert row["wrong"] == ["1999"]
            assert [_count(row, "correct", gold) for gold in row["gold"]] == [1, 1]
            lies = [document["text"] for document in row["passages"] if document["type"] == "misinfo"]
            assert len(lies) == level
            assert all(stands(text, "1999") and not bears_any(text, row["gold"]) for text in lies)
        first = next(one for one in levels[0]["passages"] if one["type"] == "misinfo")
        assert first["text"].startswith("Guide")  # the data set's own comes before any copy


def test_level_0_has_no_misinformation_and_no_wrong_answer(rows: list[Example]) -> None:
    for clean, *_ in _levels(build_controlled(rows, "misinformation", levels=(0, 1))):
        assert clean["wrong"] == []
        assert {one["type"] for one in clean["passages"]} == {"correct"}


def test_a_set_without_misinformation_of_its_own_gets_it_from_other_questions(tmp_path: Path) -> None:
    built = build_controlled(
        _examples(tmp_path, *(ramdocs_row(name, lies=0) for name in NAMES)), "misinformation", levels=(1, 2)
    )
    assert built.questions == len(NAMES)
    assert built.published == 0
    for row in built.rows:
        assert not bears_any(row["wrong"][0], row["gold"])


def test_the_same_seed_gives_the_same_rows_and_another_one_others(rows: list[Example]) -> None:
    assert build_controlled(rows, "imbalance", seed=1) == build_controlled(rows, "imbalance", seed=1)
    assert (
        build_controlled(rows, "imbalance", seed=1).rows != build_controlled(rows, "imbalance", seed=2).rows
    )


def test_rows_load_as_our_plain_format_with_the_level_as_a_stratum(
    rows: list[Example], tmp_path: Path
) -> None:
    built = build_controlled(rows, "imbalance")
    loaded = load(f"jsonl:{write_rows(tmp_path / 'built.jsonl', built.rows)}")
    assert [example.metadata["strata"]["imbalance"] for example in loaded[:3]] == [
        "1 : 1",
        "1 : 2",
        "1 : 3",
    ]
    assert len({row["id"] for row in built.rows}) == len(built.rows)


def test_near_copies_count_once(tmp_path: Path) -> None:
    row = ramdocs_row("Vell")
    right = [document for document in row["documents"] if document["answer"] == year_of("Vell", "Sudmark")]
    for one in right:
        one["text"] = right[0]["text"] + " !"
    (example,) = _examples(tmp_path, row)
    assert [len(texts) for texts in supports(example).values()] == [1, 1]
    with pytest.raises(InputError, match=r"no right answer with 3 passages of its own \(1\)"):
        build_controlled([example], "imbalance")


def _spelled_twice(row: dict[str, Any]) -> None:
    row["gold_answers"] = ["Zoltán Korda", "Zoltan Korda"]
    for number, document in enumerate(row["documents"][:4]):
        document["answer"] = row["gold_answers"][number > 0]
        document["text"] = f"The Vell station was opened by {document['answer']}, says page {number}."


def _without_subject(row: dict[str, Any]) -> None:
    for document in row["documents"]:
        document["text"] = document["text"].replace("Vell", "It")


def _with_both(row: dict[str, Any]) -> None:
    for document in row["documents"]:
        document["text"] += " ".join(row["gold_answers"])


@pytest.mark.parametrize("spoil", [_spelled_twice, _without_subject, _with_both])
def test_what_is_no_clean_pair_of_answers_is_left_out_by_row(tmp_path: Path, spoil: Any) -> None:
    row = ramdocs_row("Vell")
    spoil(row)
    built = build_controlled(_examples(tmp_path, row, ramdocs_row("Tarn")), "imbalance")
    assert built.left_out == {"no two right answers that passages bear": [0]}


@pytest.mark.parametrize(
    ("kind", "levels"), [("imbalance", (0, 1)), ("imbalance", (2, 1)), ("misinformation", ())]
)
def test_levels_that_cannot_be_are_refused(rows: list[Example], kind: Kind, levels: Sequence[int]) -> None:
    with pytest.raises(InputError, match="rising numbers"):
        build_controlled(rows, kind, levels=levels)


def test_a_data_set_that_knows_no_types_is_refused() -> None:
    with pytest.raises(InputError, match="ramdocs"):
        build_controlled([Example(id="x", row=0, question="q", gold=("a",))], "imbalance")
