"""From Python: `ask` over passages, an index or a path, with the settings that are in force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import disputatio as d
from disputatio import api
from disputatio.errors import MissingPart, UnknownName
from disputatio.trace import Trace
from tests.llm.fake_server import FakeServer, capable, says
from tests.shell import PASSAGES, QUESTION, write_script
from tests.store.hashing import HashEmbedder

HELD = [d.Passage(text=one["text"], source=one["source"], title=one.get("title", "")) for one in PASSAGES]


@pytest.fixture(autouse=True)
def _debate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The debate is asked here, whatever the default: it has roles and options of every kind."""
    monkeypatch.setenv("DISPUTATIO_STRATEGY", "madam_rag")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and a script for a model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api, "_KITS", {})
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DISPUTATIO_MODEL", write_script(tmp_path / "script.json"))
    return tmp_path


def test_passages_in_hand_are_asked() -> None:
    trace = Trace()
    answer = d.ask(QUESTION, passages=HELD, rounds=1, trace=trace)
    assert answer.answers == ("1887",)
    assert [one.verdict for one in answer.conflict.positions] == ["accepted", "rejected"]
    assert answer.conflict.positions[1].sources == ("a-very-long-name-of-a-source.example",)
    assert answer.usage.calls == len(HELD) + 1 + 2  # readers, aggregator, one judgement a citation
    assert trace.events


def test_a_search_of_the_users_own_is_asked_a_second_time() -> None:
    queries: list[str] = []

    def web(query: str, k: int) -> list[d.Passage]:
        queries.append(query)
        return HELD[:k]

    answer = d.ask(QUESTION, passages=HELD[:1], strategy="crag", elsewhere=web, upper=1.0, lower=1.0)
    assert queries == [QUESTION]  # the script has no word for the rewriter, so the question is searched
    assert len(answer.passages) == 4
    assert answer.abstained == "no_evidence"  # none was graded as high as it was asked to be


def test_an_index_or_its_path_is_asked(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = d.Index.open(place / "town", embedder=HashEmbedder())
    index.add(HELD)
    found = d.ask(QUESTION, index=index)
    assert found.answers == ("1887",)
    plain = d.Index.open("plain", embedder="none")
    plain.add(HELD)
    assert d.ask(QUESTION, index="plain").answers == ("1887",)  # opened without the default embedder
    assert d.Index.open("plain").info().embedder == ""
    assert capsys.readouterr() == ("", "")  # a library says nothing


def test_an_index_keeps_query_vectors_in_the_journal(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = HashEmbedder()
    monkeypatch.setattr("disputatio.config.open_embedder", lambda *_, **__: embedder)
    monkeypatch.setenv("DISPUTATIO_JOURNAL", str(place / "calls.sqlite"))
    d.Index.open("town").add(HELD)
    first = d.ask(QUESTION, index="town")
    assert embedder.calls == 2
    monkeypatch.setenv("DISPUTATIO_REPLAY", "true")
    monkeypatch.setattr("disputatio.config.open_embedder", lambda *_, **__: pytest.fail("was opened"))
    assert d.ask(QUESTION, index="town") == first


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        ({"index": "none"}, d.DisputatioError, "there is no index here"),
        ({"index": "none", "passages": HELD}, d.ConfigError, "not both"),
        ({}, MissingPart, "nothing to search"),
        ({"passages": HELD, "strategy": "madamrag"}, UnknownName, "did you mean 'madam_rag'"),
        ({"passages": HELD, "round": 2}, UnknownName, "did you mean 'rounds'"),
        ({"passages": HELD, "rounds": "many"}, d.InputError, "'many' is not of type int"),
        ({"passages": HELD, "model": "local:nope"}, UnknownName, "local:nope"),
        ({"passages": HELD, "role": {"judge": "nope"}}, d.ConfigError, "model 'nope'"),
        ({"passages": [d.Passage(text=" ")]}, d.InputError, "passage 1: has no text"),
    ],
)
def test_wrong_arguments_raise_what_can_be_mended(
    words: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        d.ask(QUESTION, **words)


def test_an_empty_question_is_refused_and_no_passages_are_no_evidence() -> None:
    with pytest.raises(d.InputError, match="the question is empty"):
        d.ask(" ", passages=HELD)
    nothing = d.ask(QUESTION, passages=[])
    assert (nothing.answers, nothing.abstained) == ((), "no_evidence")


def test_a_process_opens_its_models_once_for_the_same_settings() -> None:
    d.ask(QUESTION, passages=HELD)
    [kit] = api._KITS.values()
    d.ask(QUESTION, passages=HELD[:1], strategy="madam_rag")
    assert [*api._KITS.values()] == [kit]


def test_another_endpoint_in_the_environment_is_another_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPUTATIO_JOURNAL", "none")
    for town in ("Lund", "Oslo"):
        reply = says(json.dumps({"answers": [town], "explanation": ""}))
        with FakeServer(capable(reply)) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            answer = d.ask("Where?", model="openai:m", strategy="closed_book", verify=False)
        assert answer.answers == (town,)
