"""Files of questions, claims, anchors and owners are read, or refused by row."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.calibration.inputs import read_anchors, read_owners, read_questions
from disputatio.errors import InputError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_questions_are_lines_or_rows_and_each_counts_once(tmp_path: Path) -> None:
    lines = write(tmp_path / "q.txt", "Who built it?\n\nwho built  it\nWhen?\n")
    assert [check.text for check in read_questions(lines)] == ["who built it", "When?"]
    rows = write(
        tmp_path / "q.jsonl", '\ufeff{"question": "Who built it?"}\n{"claim": "The pier is iron."}\n'
    )
    assert [check.text for check in read_questions(rows)] == [
        "Who built it?",
        "Is it true that The pier is iron?",
    ]
    table = write(tmp_path / "q.csv", "Question,note\nWho built it?,x\n")
    assert [check.text for check in read_questions(table)] == ["Who built it?"]


def test_anchors_have_one_or_several_wordings_and_claims_a_truth(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.jsonl",
        '{"question": "When?", "answer": 1887}\n'
        '{"question": "Who?", "answer": ["Ada", "Ada L.", "Ada"]}\n'
        '{"claim": "It is iron", "answer": false}\n'
        '{"claim": "It is tall", "answer": "TRUE"}\n',
    )
    anchors = read_anchors(file)
    assert [anchor.gold for anchor in anchors] == [("1887",), ("Ada", "Ada L."), ("no",), ("yes",)]
    assert {anchor.kind for anchor in anchors} == {"anchor"}


def test_owners_are_read_from_rows_and_tables(tmp_path: Path) -> None:
    rows = write(tmp_path / "o.jsonl", '{"source": "a", "owner": "x"}\n{"source": "b", "owner": "x"}\n')
    table = write(tmp_path / "o.tsv", "source\towner\na\tx\nb\tx\n")
    assert read_owners(rows) == read_owners(table) == {"a": "x", "b": "x"}


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("q.jsonl", '{"question": "When?"}\n{"q": "Who?"}\n', "row 2: has neither a question nor a claim"),
        ("q.jsonl", '{"question": "When?"}\nWho?\n', "row 2: is not a JSON object"),
        ("q.jsonl", '{"question": 7, "claim": "x"}\n', "row 1: has both"),
        ("q.jsonl", '{"question": ["When?"]}\n', "row 1: 'question' is not text"),
        ("q.txt", "\n\n", "has no questions"),
        ("q.txt", "x" * 2001, "row 1: the question has 2001 characters"),
        ("q.csv", "question,note\nWhen?\n", "row 2: has not as many fields"),
        ("q.csv", 'question\n"When?\n', "is not proper CSV"),
        ("q.bin", "a\0b", "is a binary file"),
    ],
)
def test_a_bad_file_of_questions_is_refused_by_its_row(
    tmp_path: Path, name: str, text: str, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as refusal:
        read_questions(write(tmp_path / name, text))
    assert str(tmp_path / name) in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"question": "When?"}\n', "row 1: has no answer"),
        ('{"question": "When?", "answer": ""}\n', "row 1: has no answer"),
        ('{"question": "When?", "answer": []}\n', "row 1: has no answer"),
        ('{"question": "When?", "answer": {"year": 1}}\n', "row 1: 'answer' is not text"),
        ('{"claim": "It is iron", "answer": "maybe"}\n', "row 1: the answer to a claim is yes or no"),
        (
            '{"question": "When?", "answer": "1"}\n{"question": "when", "answer": "2"}\n',
            "row 2: the same question has another answer",
        ),
        ("", "has no anchors"),
    ],
)
def test_a_bad_file_of_anchors_is_refused_by_its_row(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_anchors(write(tmp_path / "a.jsonl", text))


def test_a_source_with_two_owners_or_none_is_refused_by_its_row(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 3: 'a' is owned by 'x'"):
        read_owners(write(tmp_path / "o.csv", "source,owner\na,x\na,y\n"))
    with pytest.raises(InputError, match="row 2: has no owner"):
        read_owners(write(tmp_path / "p.csv", "source,owner\na,\n"))
    with pytest.raises(InputError, match="row 1: has no source"):
        read_owners(write(tmp_path / "o.jsonl", '{"owner": "x"}\n'))
    with pytest.raises(InputError, match="no such file"):
        read_owners(tmp_path / "none.csv")
