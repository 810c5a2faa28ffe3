"""Questions of an encyclopaedia: an answer goes by several names, and passages are there or searched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError
from disputatio.eval.data.datasets import check, identify, load
from disputatio.eval.metrics import score_answer
from tests.eval.data.formats.published import (
    AMBIGNQ,
    HOTPOT,
    NQ_OPEN,
    NQ_PASSAGES,
    POPQA,
    TRIVIAQA,
    TRIVIAQA_COPY,
)
from tests.eval.data.formats.rows import file_of


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("nq_open", NQ_OPEN),
        ("nq_with_passages", NQ_PASSAGES),
        ("triviaqa", TRIVIAQA),
        ("triviaqa", TRIVIAQA_COPY),
        ("popqa", POPQA),
    ],
)
def test_any_name_of_the_answer_is_right(tmp_path: Path, name: str, row: dict[str, Any]) -> None:
    path = file_of(tmp_path, [row])
    (example,) = load(f"{name}:{path}")
    metrics = identify(f"{name}:{path}").metrics
    assert metrics == ("accuracy", "em")
    for said in example.gold:
        scores = score_answer([said], example, metrics)
        assert (scores["accuracy"], scores["em"]) == (1.0, 1.0)
    told = score_answer([f"It is {example.gold[-1]}, I think"], example, metrics)
    assert (told["accuracy"], told["em"], told["em_lenient"]) == (1.0, 0.0, 1.0)
    assert score_answer(["a pond"], example, metrics)["accuracy"] == 0.0


def test_questions_without_passages_are_kept_and_the_index_is_named(tmp_path: Path) -> None:
    examples = load(f"nq_open:{file_of(tmp_path, [NQ_OPEN, {**NQ_OPEN, 'question': 'who else'}])}")
    (note,) = check(examples)
    assert note == "2 of 2 rows have no passages: search an index (--index)"
    assert check(examples, searched=True) == []


def test_an_answer_is_compared_with_the_annotator_it_fits_best(tmp_path: Path) -> None:
    path = file_of(tmp_path, [AMBIGNQ])
    (example,) = load(f"ambignq:{path}")
    metrics = identify(f"ambignq:{path}").metrics
    assert example.gold == ("1890", "1901")  # the reading that tells more apart
    assert score_answer(["the year 1890"], example, metrics)["em"] == 1.0  # the first annotator's
    assert score_answer(["in 1890", "1901"], example, metrics)["em"] == 1.0  # the second's
    half = score_answer(["1901"], example, metrics)
    assert (half["em"], half["recall"], half["precision"]) == (0.0, 0.5, 1.0)


def test_annotations_told_by_columns_are_the_same(tmp_path: Path) -> None:
    """As a parquet file has them: a list to each field, and a list of pairs in a list of one."""
    pairs = AMBIGNQ["annotations"][1]["qaPairs"]
    columns = {
        "type": ["singleAnswer", "multipleQAs"],
        "answer": [["1890", "the year 1890"], []],
        "qaPairs": [
            [],
            [{"question": [p["question"] for p in pairs], "answer": [p["answer"] for p in pairs]}],
        ],
    }
    first, same = load(f"ambignq:{file_of(tmp_path, [AMBIGNQ, {**AMBIGNQ, 'annotations': columns}])}")
    assert first.metadata["readings"] == same.metadata["readings"]


def test_trivia_is_read_from_the_published_object_and_texts_from_its_copies(tmp_path: Path) -> None:
    path = file_of(tmp_path, {"Data": [TRIVIAQA], "Domain": "Wikipedia", "Version": 1.0})
    (published,) = load(f"triviaqa:{path}")
    (copy,) = load(f"triviaqa:{file_of(tmp_path, [TRIVIAQA_COPY])}")
    assert published.metadata["id"] == copy.metadata["id"] == "qz_1"
    assert published.passages == ()
    assert [(p.title, p.text) for p in copy.passages] == [("Vell bridge", "Ada Fen built the Vell bridge.")]


def test_two_hops_of_a_question_are_told_from_distractors(tmp_path: Path) -> None:
    titles, sentences = zip(*HOTPOT["context"], strict=True)
    copy = {
        **{key: found for key, found in HOTPOT.items() if key != "_id"},
        "id": "5a",
        "context": {"title": list(titles), "sentences": list(sentences)},
        "supporting_facts": {"title": ["Vell bridge", "Tarn bridge"], "sent_id": [0, 0]},
    }
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps([HOTPOT, copy]), encoding="utf-8")
    first, same = load(f"hotpotqa:{path}")
    assert first.metadata["types"] == same.metadata["types"] == ("supporting", "supporting", "distractor")
    assert first.passages == same.passages
    assert first.passages[0].text == "It is in Lund. It is long."
    assert score_answer(["No, only one is"], first, ("accuracy",)) == {"accuracy": 1.0}
    assert score_answer(["Yes, no doubt"], first, ("accuracy",)) == {"accuracy": 0.0}
    (again,) = [note for note in check([first, same]) if "earlier row" in note]
    assert again.startswith("1 of 2 rows have the id of an earlier row, or are that row again (rows 1)")


def test_a_table_of_questions_is_read_with_its_list_in_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    quoted = POPQA["possible_answers"].replace('"', '""')
    cells = [*(one for key, one in POPQA.items() if key != "possible_answers"), f'"{quoted}"']
    path.write_text("\t".join(POPQA) + "\n" + "\t".join(cells) + "\n", encoding="utf-8")
    for spec in (f"popqa:{path}", f"popqa:{tmp_path}"):
        (example,) = load(spec)
        assert example.gold == ("engineer", "bridge builder")
        assert example.metadata["strata"] == {"relation": "occupation", "views": "10^3 to 10^4"}


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("ambignq", {**AMBIGNQ, "annotations": [{"type": "x"}]}, "type 'x' is neither"),
        ("triviaqa", {**TRIVIAQA, "Answer": "Ada Fen"}, "Answer must be an object"),
        ("hotpotqa", {**HOTPOT, "context": [["title"]]}, r"context\[0\] must be a title and a list"),
        ("popqa", {**POPQA, "s_pop": "many"}, "s_pop must be a number of views"),
        ("nq_open", {"question": "q", "answer": "one"}, "answer must be a list of texts"),
    ],
)
def test_a_row_that_breaks_its_format_is_named(
    tmp_path: Path, name: str, row: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=rf"rows\.jsonl:1: .*{message}"):
        load(f"{name}:{file_of(tmp_path, [row])}")
