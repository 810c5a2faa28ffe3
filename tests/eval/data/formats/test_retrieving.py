"""Questions that need retrieval come with what was retrieved, whatever form it has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.eval.data.corpora import corpus
from disputatio.eval.data.datasets import identify, load
from disputatio.eval.metrics import score
from tests.eval.data.formats.rows import RETRIEVAL, file_of


def test_texts_and_objects_become_passages_and_those_without_text_do_not(tmp_path: Path) -> None:
    (example,) = load(f"retrievalqa:{file_of(tmp_path, [RETRIEVAL])}")
    assert [(passage.title, passage.source) for passage in example.passages] == [
        ("", "doc1"),
        ("Ola", "doc3"),
    ]
    assert example.gold == ("Ola Fen", "Ola")
    assert example.metadata["part"] == "toolqa"


def test_a_right_answer_is_one_that_contains_a_gold_one(tmp_path: Path) -> None:
    (example,) = load(f"retrievalqa:{file_of(tmp_path, [RETRIEVAL])}")
    assert score(["It was Ola Fen."], example.gold, example.wrong, ["accuracy"]) == {"accuracy": 1.0}


@pytest.mark.parametrize("context", ["text", [3], [{"text": ["x"]}]])
def test_a_context_of_another_shape_is_named(tmp_path: Path, context: object) -> None:
    path = file_of(tmp_path, [{**RETRIEVAL, "context": context}])
    with pytest.raises(InputError, match=r"rows.jsonl:1: context"):
        load(f"retrievalqa:{path}")


def _folder(folder: Path) -> Path:
    rows: list[dict[str, object]] = [
        {"_id": f"q{n}", "text": f"bridge {n}", "metadata": {}} for n in range(1, 4)
    ]
    lines: dict[str, list[dict[str, object]]] = {
        "queries.jsonl": rows,
        "corpus.jsonl": [
            {"_id": "d1", "title": "Vell", "text": "A bridge."},
            {"_id": "d2", "title": "Tarn", "text": ""},
        ],
    }
    for name, told in lines.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in told), encoding="utf-8")
    (folder / "qrels").mkdir()
    head = "query-id\tcorpus-id\tscore\n"
    (folder / "qrels" / "test.tsv").write_text(f"{head}q1\td1\t2\nq1\td2\t0\n", encoding="utf-8")
    (folder / "qrels" / "dev.tsv").write_text(f"{head}q2\td2\t1\n", encoding="utf-8")
    return folder


def test_queries_of_a_retrieval_task_have_their_judged_documents_and_splits_as_parts(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    examples = load(f"beir:{folder}")
    assert [(e.metadata["part"], e.metadata["relevant"]) for e in examples] == [
        ("test", {"d1": 2}),
        ("dev", {"d2": 1}),
        ("unjudged", {}),
    ]
    assert [e.question for e in load(f"beir:{folder}#test")] == ["bridge 1"]
    before = identify(f"beir:{folder}").sha256
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\n")  # without a head
    assert identify(f"beir:{folder}").sha256 != before
    assert load(f"beir:{folder}#test")[0].metadata["relevant"] == {"d1": 1}
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq2 d2 1\n")
    with pytest.raises(InputError, match=r"dev\.tsv:2: not a query, a document and a grade"):
        load(f"beir:{folder}")


def test_the_documents_of_a_retrieval_task_are_its_corpus(tmp_path: Path) -> None:
    assert list(corpus(f"beir:{_folder(tmp_path)}")) == [
        {"text": "A bridge.", "source": "d1", "title": "Vell", "id": "d1"},
        {"text": "Tarn", "source": "d2", "title": "Tarn", "id": "d2"},
    ]
