"""Data sets are read in place, and what is wrong with a file is said with file and line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError, UnknownName
from disputatio.eval.data.datasets import check, datasets, describe_format, identify, load

ROW: dict[str, Any] = {
    "question": "Where was Ada Fen born?",
    "documents": [
        {"text": "Ada Fen was born in Lund.", "type": "correct", "answer": "Lund"},
        {"text": "Ada Fen was born in Oslo.", "type": "misinfo", "answer": "Oslo"},
        {"text": "Fens are wetlands.", "type": "noise", "answer": "unknown"},
    ],
    "disambig_entity": ["Ada Fen (chemist)"],
    "gold_answers": ["Lund"],
    "wrong_answers": ["Oslo", "Oslo."],
}


def _file(folder: Path, rows: Sequence[Mapping[str, Any] | str]) -> Path:
    path = folder / "rows.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _row(**changes: Any) -> dict[str, Any]:
    return {**ROW, **changes}


def test_a_ramdocs_row_becomes_an_example_with_passages_in_order(tmp_path: Path) -> None:
    (example,) = load(f"ramdocs:{_file(tmp_path, [ROW])}")
    assert example.question == "Where was Ada Fen born?"
    assert example.gold == ("Lund",)
    assert example.wrong == ("Oslo",)
    assert [p.source for p in example.passages] == ["doc1", "doc2", "doc3"]
    assert [p.text for p in example.passages] == [d["text"] for d in ROW["documents"]]
    assert example.metadata["types"] == ("correct", "misinfo", "noise")
    assert example.metadata["strata"] == {"gold answers": "1", "misinformation passages": "1"}


def test_no_label_of_a_passage_reaches_the_passage(tmp_path: Path) -> None:
    (example,) = load(f"ramdocs:{_file(tmp_path, [ROW])}")
    seen = repr(example.passages)
    assert "misinfo" not in seen
    assert "correct" not in seen
    assert all(not passage.metadata for passage in example.passages)


def test_a_passage_keeps_its_id_whatever_its_labels_say(tmp_path: Path) -> None:
    relabelled = _row(documents=[{**d, "type": "noise", "answer": "x"} for d in ROW["documents"]])
    (example,) = load(f"ramdocs:{_file(tmp_path, [ROW])}")
    (two,) = load(f"ramdocs:{_file(tmp_path, [relabelled])}")
    assert [p.id for p in example.passages] == [p.id for p in two.passages]
    assert example.id != two.id


def test_the_same_row_twice_in_a_file_is_two_examples(tmp_path: Path) -> None:
    first, two = load(f"ramdocs:{_file(tmp_path, [ROW, ROW])}")
    assert (first.row, two.row) == (0, 1)
    assert first.id != two.id


def test_a_limit_keeps_the_first_rows_and_blank_lines_do_not_count(tmp_path: Path) -> None:
    path = _file(tmp_path, [ROW, "", ROW, ROW])
    assert [e.row for e in load(f"ramdocs:{path}", limit=2)] == [0, 2]


def test_a_rows_file_picks_rows_in_its_own_order(tmp_path: Path) -> None:
    path = _file(tmp_path, [ROW] * 5)
    rows = tmp_path / "rows.txt"
    rows.write_text("4\n\n1\n3\n")
    assert [e.row for e in load(f"ramdocs:{path}", rows=rows)] == [4, 1, 3]
    assert [e.row for e in load(f"ramdocs:{path}", rows=rows, limit=2)] == [4, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nx\n", r"rows\.txt:2: 'x' is not a row number"),
        ("1\n-1\n", r"rows\.txt:2: '-1' is not a row number"),
        ("0\n9\n", r"rows\.txt:2: .*rows\.jsonl has no row 9"),
        ("1\n2\n1\n", r"rows\.txt:3: row 1 stands twice, first on line 1"),
        ("\n", r"rows\.txt: no row numbers"),
    ],
)
def test_a_bad_rows_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = _file(tmp_path, [ROW] * 3)
    rows = tmp_path / "rows.txt"
    rows.write_text(text)
    with pytest.raises(InputError, match=message):
        load(f"ramdocs:{path}", rows=rows)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"question": ', "rows.jsonl:2: not JSON"),
        ("[1]", "rows.jsonl:2: not a JSON object"),
        ({"question": "x"}, "rows.jsonl:2: the field documents is missing"),
        (_row(question=" "), "rows.jsonl:2: question must be text, and not empty"),
        (_row(gold_answers="Lund"), "rows.jsonl:2: gold_answers must be a list of texts"),
        (_row(wrong_answers=[3]), "rows.jsonl:2: wrong_answers must be a list of texts"),
        (_row(documents=["text"]), "rows.jsonl:2: documents must be a list of objects"),
        (_row(documents=[{"text": "x"}]), r"rows.jsonl:2: the field documents\[0\].type is missing"),
        (_row(documents=[{**ROW["documents"][0], "text": ""}]), r"documents\[0\].text must be text"),
        ("[" * 100_000, "rows.jsonl:2: not JSON"),
        ('{"question": %s}' % ("9" * 5_000), "rows.jsonl:2: not JSON"),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(
    tmp_path: Path, bad: Mapping[str, Any] | str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load(f"ramdocs:{_file(tmp_path, [ROW, bad])}")


def test_an_unknown_data_set_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'ramdocs'"):
        load(f"ramdoc:{_file(tmp_path, [ROW])}")


@pytest.mark.parametrize("spec", ["ramdocs", "ramdocs:"])
def test_a_data_set_without_a_path_is_an_input_error(spec: str) -> None:
    with pytest.raises(InputError, match="say which file"):
        load(spec)


def test_missing_empty_and_binary_files_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load(f"ramdocs:{tmp_path / 'none.jsonl'}")
    with pytest.raises(InputError, match="No such file"):
        identify(f"ramdocs:{tmp_path / 'none.jsonl'}")
    binary = tmp_path / "binary.jsonl"
    binary.write_bytes(b"\x80\x81\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        load(f"ramdocs:{binary}")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(InputError, match="no rows"):
        load(f"ramdocs:{empty}")


def test_a_limit_below_one_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leaves no rows"):
        load(f"ramdocs:{_file(tmp_path, [ROW])}", limit=0)


def test_rows_whose_answer_is_both_gold_and_wrong_are_noted_and_kept(tmp_path: Path) -> None:
    both = _row(gold_answers=["Lund", "Oslo"])
    examples = load(f"ramdocs:{_file(tmp_path, [ROW, both])}")
    assert len(examples) == 2
    (note,) = check(examples)
    assert note.startswith("1 of 2 rows list an answer as both gold and wrong (rows 1)")
    assert check(examples[:1]) == []


def test_a_plain_row_keeps_what_it_says_about_its_passages(tmp_path: Path) -> None:
    row = {
        "question": "Wie hoch ist der Turm? 🗼",
        "gold": ["30 m"],
        "passages": [
            {"text": "Der Turm misst 30 m.", "source": "stadt.example", "id": "p1", "date": "2020-01-01"},
            {"text": "Ein Turm."},
        ],
    }
    (example,) = load(f"jsonl:{_file(tmp_path, [row])}")
    first, second = example.passages
    assert (first.id, first.source, first.date) == ("p1", "stadt.example", "2020-01-01")
    assert second.source == "doc2"
    assert second.id.startswith("p")
    assert example.wrong == ()
    row["answers"] = row.pop("gold")  # as they are called in the rows of others
    (renamed,) = load(f"jsonl:{_file(tmp_path, [row])}")
    assert (renamed.gold, renamed.passages) == (example.gold, example.passages)


def test_a_plain_row_whose_passage_has_no_text_is_named(tmp_path: Path) -> None:
    row = {"question": "q", "gold": ["a"], "passages": [{"source": "x"}]}
    with pytest.raises(InputError, match=r"rows.jsonl:1: the field passages\[0\].text is missing"):
        load(f"jsonl:{_file(tmp_path, [row])}")


def test_one_id_for_two_texts_is_named(tmp_path: Path) -> None:
    passages = [{"text": "one", "id": "p"}, {"text": "two", "id": "p"}]
    row = {"question": "q", "gold": ["a"], "passages": passages}
    with pytest.raises(InputError, match=r"rows.jsonl:1: passages\[1\].id 'p' stands for another text"):
        load(f"jsonl:{_file(tmp_path, [row])}")


def test_the_identity_of_a_data_set_is_its_content(tmp_path: Path) -> None:
    path = _file(tmp_path, [ROW])
    before = identify(f"ramdocs:{path}")
    assert before.name == "ramdocs:rows.jsonl"
    assert before == identify(f"ramdocs:{path}")
    _file(tmp_path, [ROW, ROW])
    assert identify(f"ramdocs:{path}").sha256 != before.sha256


def test_every_data_set_says_its_fields_and_metrics() -> None:
    names = [form.name for form in datasets()]
    assert names == sorted(set(names))
    assert {"beir", "jsonl", "multisource", "ramdocs"} <= set(names)
    for form in datasets():
        told = describe_format(form)
        assert all(told[key] for key in ("description", "origin", "licence", "shape", "fields", "measure"))
        assert form.metrics or form.judged or form.name == "beir"  # whose queries have no answers


def test_a_row_of_our_own_format_may_leave_its_passages_to_an_index(tmp_path: Path) -> None:
    path = _file(tmp_path, [{"question": "When did the lock open?", "gold": ["1911"]}])
    (example,) = load(f"jsonl:{path}")
    assert (example.gold, example.passages) == (("1911",), ())
    with pytest.raises(InputError, match="as one row it lacks the field gold"):
        load(f"jsonl:{_file(tmp_path, [{'question': 'When?', 'right': ['1911']}])}")
