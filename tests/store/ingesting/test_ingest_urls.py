"""Documents of web addresses are indexed as files are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting import fetch
from disputatio.store.ingesting.fetch import ingest_urls
from disputatio.store.ingesting.ingest import Refusal
from disputatio.store.ingesting.options import ReadOptions
from tests.store.loopback import Web, page, web

_ROWS = "application/x-ndjson"


@pytest.fixture
def served() -> Iterator[Web]:
    with web() as one:
        yield one


def _say(served: Web, path: str, body: bytes, kind: str = "text/plain") -> None:
    served.answers = {**served.answers, path: page(body, kind)}


@pytest.mark.long
def test_every_row_of_an_address_is_in_and_replaced_by_the_next_fetch(served: Web, tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "index")
    url = "http://www.x.example/a.jsonl"
    _say(served, "/a.jsonl", b'{"text": "A zebra."}\n{"text": "A giraffe."}\n{"text": 3}\n', _ROWS)
    first = ingest_urls(index, [url], get=served.get)
    assert (first.added, first.passages) == (2, 2)
    assert first.refused == (Refusal(f"{url}:3", "'text' is not text", "bad_row", {"field": "text"}),)
    again = ingest_urls(index, [url], get=served.get)
    assert (again.added, again.unchanged, again.replaced) == (0, 2, 0)
    _say(served, "/a.jsonl", b'{"text": "A zebra."}\n{"text": "An okapi."}\n', _ROWS)
    last = ingest_urls(index, [url], get=served.get)
    assert (last.unchanged, last.replaced) == (1, 1)
    assert sorted(one.text for one in index.documents()) == ["A zebra.", "An okapi."]
    assert {hit.passage.source for hit in index.search("zebra")} == {"x.example"}
    assert index.delete(paths=[url]) == 2


@pytest.mark.long
def test_what_is_the_same_on_another_day_is_unchanged(
    served: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = FolderIndex.open(tmp_path / "index")
    url = "http://x.example/a"
    _say(served, "/a", b"A zebra.")
    ingest_urls(index, [url], get=served.get)
    [first] = index.documents()
    attribute = fetch._attribute
    monkeypatch.setattr(
        fetch, "_attribute", lambda one, got, file: attribute(one, replace(got, day="2031-01-01"), file)
    )
    again = ingest_urls(index, [url], get=served.get)
    assert (again.unchanged, again.replaced, again.added) == (1, 0, 0)
    assert index.documents() == [first]
    _say(served, "/a", b"An okapi.")
    assert ingest_urls(index, [url], get=served.get).replaced == 1
    [last] = index.documents()
    assert (last.text, last.metadata["fetched"]) == ("An okapi.", "2031-01-01")


def test_an_address_that_fails_keeps_what_it_gave_before_and_does_not_stop_the_others(
    served: Web, tmp_path: Path
) -> None:
    index = FolderIndex.open(tmp_path / "index")
    _say(served, "/a", b"A zebra.")
    _say(served, "/b", b"An okapi.")
    urls = ["http://x.example/a", "http://127.0.0.1/", "http://x.example/b"]
    reported: list[tuple[int, int]] = []
    done = ingest_urls(index, urls, progress=lambda *told: reported.append(told), get=served.get)
    assert (done.added, [path for path, *_ in done.refused]) == (2, ["http://127.0.0.1/"])
    assert reported == [(1, 3), (2, 3), (3, 3)]
    served.answers = {"/b": page(b"An okapi.", "text/plain")}
    done = ingest_urls(index, urls[:1], get=served.get)
    assert done.refused == (
        Refusal("http://x.example/a", "answered 404 Not Found", "not_fetched", {"status": 404}),
    )
    assert len(index.documents()) == 2


def test_a_wrong_way_to_tell_sources_is_said_before_anything_is_fetched(served: Web, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        ingest_urls(
            FolderIndex.open(tmp_path / "index"),
            ["http://x.example/"],
            options=ReadOptions(source_by="x"),
            get=served.get,
        )
    assert served.connected == []
