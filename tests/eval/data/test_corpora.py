"""The texts of a data set become rows that an index takes, each once, with the ids that questions use."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.eval.data.corpora import corpus, write_corpus
from tests.eval.data.formats.rows import ABSTRACT, JUDGED, MORGANA, file_of

PAGES = [{"id": "<urn:uuid:aa-1>", "text": "One."}, {"id": "<urn:uuid:bb-2>", "text": "Two."}]


def test_pages_keep_the_ids_that_questions_name_packed_or_not(tmp_path: Path) -> None:
    plain = file_of(tmp_path, PAGES)
    packed = tmp_path / "corpus.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    wanted = [
        {"text": "One.", "source": "aa-1", "id": "<urn:uuid:aa-1>"},
        {"text": "Two.", "source": "bb-2", "id": "<urn:uuid:bb-2>"},
    ]
    assert list(corpus(f"datamorgana:{plain}")) == wanted
    assert list(corpus(f"datamorgana:{packed}")) == wanted


def test_the_passages_of_rows_are_written_each_once(tmp_path: Path) -> None:
    rows = file_of(tmp_path, [ABSTRACT, ABSTRACT, {**ABSTRACT, "pmid": "102"}])
    out = tmp_path / "abstracts.jsonl"
    assert write_corpus(f"pubmedqa:{rows}", out) == 2
    first, second = map(json.loads, out.read_text().splitlines())
    assert (first["source"], first["id"], second["id"]) == ("pmid101", "101", "102")
    assert first["text"].startswith("BACKGROUND: Salt")


def test_what_is_no_corpus_is_named_and_leaves_no_file(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(InputError, match=r"rows.jsonl:1: a question; the pages stand in the corpus"):
        write_corpus(f"datamorgana:{file_of(tmp_path, [MORGANA])}", out)
    with pytest.raises(InputError, match="its rows have no passages"):
        write_corpus(f"judged_answers:{file_of(tmp_path, [JUDGED])}", out)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b'{"id": "x", "text": "y"}\n')[:-6])
    with pytest.raises(InputError, match=r"cut\.gz"):
        write_corpus(f"datamorgana:{cut}", out)
    assert not out.exists()
    assert not list(tmp_path.glob("*.part"))
