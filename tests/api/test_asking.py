"""From Python: `ask` over passages, an index or a path, with the settings that are in force."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import disputatio as d
from disputatio.api import asking
from disputatio.errors import InputError, MissingPart, ServerFault, UnknownName
from disputatio.llm.scripted import Scripted
from disputatio.trace import Trace
from disputatio.types import Prompt, Sampling
from tests.llm.fake_server import FakeServer, capable, says
from tests.shell import PASSAGES, QUESTION, bind_agents, write_script
from tests.store.hashing import HashEmbedder

HELD = [d.Passage(text=one["text"], source=one["source"], title=one.get("title", "")) for one in PASSAGES]


@pytest.fixture(autouse=True)
def _debate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The debate is asked here, whatever the default: it has roles and options of every kind."""
    monkeypatch.setenv("DISPUTATIO_STRATEGY", "madam_rag")
    bind_agents(monkeypatch)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and a script for a model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(asking, "_KITS", {})
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
    assert trace.records()


def test_a_search_of_the_users_own_is_asked_a_second_time() -> None:
    queries: list[str] = []

    def web(query: str, k: int) -> list[d.Passage]:
        queries.append(query)
        return HELD[:k]

    answer = d.ask(QUESTION, passages=HELD[:1], strategy="crag", elsewhere=web, upper=1.0, lower=1.0)
    assert queries == [QUESTION]  # the script has no word for the rewriter, so the question is searched
    assert len(answer.passages) == 4
    assert answer.abstained == "no_evidence"  # none was graded as high as it was asked to be


@pytest.mark.long
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


@pytest.mark.long
def test_an_index_keeps_query_vectors_in_the_journal(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = HashEmbedder()
    monkeypatch.setattr("disputatio.parts.open_embedder", lambda *_, **__: embedder)
    monkeypatch.setenv("DISPUTATIO_JOURNAL", str(place / "calls.sqlite"))
    d.Index.open("town").add(HELD)
    first = d.ask(QUESTION, index="town")
    assert embedder.calls == 2
    monkeypatch.setenv("DISPUTATIO_REPLAY", "true")
    monkeypatch.setattr("disputatio.parts.open_embedder", lambda *_, **__: pytest.fail("was opened"))
    assert d.ask(QUESTION, index="town") == first


def test_the_embedder_of_an_index_goes_by_the_settings_of_the_question(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("disputatio.parts.open_embedder", lambda *_, **__: HashEmbedder())
    journal = place / "calls.sqlite"
    monkeypatch.setenv("DISPUTATIO_JOURNAL", str(journal))
    d.Index.open("town", embedder=HashEmbedder()).add(HELD)
    d.ask(QUESTION, index="town", settings={"journal": "none"})
    assert not journal.exists()


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
    [kit] = asking._KITS.values()
    d.ask(QUESTION, passages=HELD[:1], strategy="madam_rag")
    assert [*asking._KITS.values()] == [kit]


@pytest.mark.long
def test_another_endpoint_in_the_environment_is_another_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPUTATIO_JOURNAL", "none")
    for town in ("Lund", "Oslo"):
        reply = says(json.dumps({"answers": [town], "explanation": ""}))
        with FakeServer(capable(reply)) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            answer = d.ask("Where?", model="openai:m", strategy="closed_book", verify=False)
        assert answer.answers == (town,)


# --- parts of the caller's own --------------------------------------------------------------------
class Reader:
    """A model in three lines: it reads years."""

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[str]:
        texts = [prompt.messages[-1].content for prompt in prompts]
        return [reads(next((year for year in ("1887", "1901") if year in text), "unknown")) for text in texts]


def reads(year: str) -> str:
    return json.dumps({"subject": "", "answer": year})


@pytest.mark.long
def test_passages_are_texts_mappings_or_passages() -> None:
    answer = d.ask(
        QUESTION,
        passages=[
            "The ferry first crossed in 1887.",
            {"text": "In 1887 it crossed.", "source": "b"},
            HELD[0],
        ],
        model=Reader(),
        strategy="disputation",
    )
    assert answer.answers == ("1887",)
    assert [passage.source for passage in answer.passages] == ["", "b", "museum.example"]


@pytest.mark.parametrize(
    ("passages", "message"),
    [
        (["good", 7], "passage 2: is int, not a text, a mapping or a Passage"),
        (["good", {"title": "no text"}], "passage 2: has no text"),
        ([{"text": "a", "date": ["1901"]}], "passage 1: 'date' is not text"),
        ([" "], "passage 1: has no text"),
        ("one text", "passages is a list, not one: write"),
        ({"text": "one"}, "a list of passages, not one dict"),
        (None, "there is nothing to search"),
    ],
)
def test_a_bad_passage_is_named_by_its_number(passages: Any, message: str) -> None:
    with pytest.raises(d.DisputatioError, match=message):
        d.ask(QUESTION, passages=passages)


@pytest.mark.long
def test_a_model_is_any_object_with_complete_and_its_calls_are_counted(place: Path) -> None:
    answer = d.ask(QUESTION, passages=HELD, model=Reader(), strategy="disputation")
    assert answer.answers == ("1887",)
    assert (answer.model, answer.usage.calls) == ("Reader", len(HELD) + 1)  # and the quotes side by side
    assert {claim.verdict for claim in answer.claims} == {"unchecked"}  # it gives no log-probabilities
    assert not list(place.glob("cache/*.sqlite"))  # the default journal is for models by name


@pytest.mark.long
def test_a_function_is_a_model_under_its_name() -> None:
    def mine(prompt: str) -> str:
        return reads("1887" if "1887" in prompt else "unknown")

    answer = d.ask(QUESTION, passages=HELD, model=mine, strategy="disputation")
    assert (answer.answers, answer.model) == (("1887",), "mine")


@pytest.mark.long
def test_a_function_is_a_model_of_another_name_when_it_is_wrapped() -> None:
    function = d.FunctionModel(lambda prompt: reads("1887" if "1887" in prompt else "unknown"), name="mine")
    answer = d.ask(QUESTION, passages=HELD, model=function, strategy="disputation")
    assert (answer.answers, answer.model) == (("1887",), "mine")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Reader, r"Reader is a class: give an instance of it, model=Reader\(\.\.\.\)"),
        (object(), r"needs a method complete\(prompts, sampling\)"),
    ],
)
def test_what_is_no_model_is_told_how_to_be_one(model: Any, message: str) -> None:
    with pytest.raises(d.ConfigError, match=message):
        d.ask(QUESTION, passages=HELD, model=model)


def test_a_role_may_be_an_object_beside_models_by_name() -> None:
    judge = Scripted([], choices=lambda _: {"Yes": 0.1, "No": 0.9}, name="stern")
    answer = d.ask(QUESTION, passages=HELD, rounds=1, role={"judge": judge})
    assert answer.claims[0].verdict in ("unsupported", "contradicted")
    assert judge.calls


def test_a_strategy_may_be_a_function() -> None:
    def first(question: str, kit: d.Kit, *, letters: int = 4) -> d.Answer:
        passages = kit.passages(question)
        return d.Answer(question=question, answers=(passages[0].text[:letters],), passages=tuple(passages))

    answer = d.ask(QUESTION, passages=HELD, strategy=first, letters=9, verify=False)
    assert answer.answers == ("The ferry",)
    assert answer.strategy.endswith("first")
    with pytest.raises(UnknownName, match="unknown option 'k'"):
        d.ask(QUESTION, passages=HELD, strategy=first, k=3)


@pytest.mark.long
def test_calls_of_an_own_model_are_kept_in_a_journal_that_is_named(place: Path) -> None:
    how: dict[str, Any] = {
        "passages": HELD,
        "strategy": "disputation",
        "settings": {"journal": "calls.sqlite"},
    }
    first = d.ask(QUESTION, model=Reader(), **how)
    how["settings"]["replay"] = True

    class Gone(Reader):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[str]:
            pytest.fail("it was called")

    Gone.__name__, Gone.__qualname__ = Reader.__name__, Reader.__qualname__
    assert d.ask(QUESTION, model=Gone(), **how) == first


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"jurnal": "none"}, "did you mean 'journal'"),
        ({"model": "local:x"}, "model is an argument of its own: write model="),
        ({"in_flight": 0}, "setting in_flight"),
    ],
)
def test_a_setting_that_is_none_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(d.DisputatioError, match=message):
        d.ask(QUESTION, passages=HELD, settings=settings)


def test_an_embedder_of_the_callers_own_is_used() -> None:
    embedder = HashEmbedder()

    def near(question: str, kit: d.Kit) -> d.Answer:
        assert kit.embedder is embedder
        return d.Answer(question=question, abstained="no_evidence")

    d.ask(QUESTION, passages=HELD, strategy=near, embedder=embedder)


@pytest.mark.long
def test_what_is_read_can_be_limited_to_sources_and_dates() -> None:
    dated = [
        d.Passage(text="It crossed in 1887.", source="a", date="2001-01-01"),
        d.Passage(text="It crossed in 1901.", source="b", date="2021-01-01"),
    ]
    how: dict[str, Any] = {"passages": dated, "model": Reader(), "strategy": "disputation"}
    assert d.ask(QUESTION, sources=["b"], **how).answers == ("1901",)
    assert d.ask(QUESTION, before="2010", **how).answers == ("1887",)


@pytest.mark.long
def test_a_question_is_cancelled_from_another_thread_at_once_wherever_it_waits() -> None:
    cancel = d.Cancel()
    waiting, gone = threading.Event(), threading.Event()

    def blocks(prompt: str) -> str:
        waiting.set()
        gone.wait(60)
        return prompt

    def press() -> None:
        waiting.wait(30)
        cancel.cancel()

    threading.Thread(target=press).start()
    began = time.perf_counter()
    with pytest.raises(d.Cancelled):
        d.ask(QUESTION, passages=HELD, model=d.FunctionModel(blocks), cancel=cancel, strategy="disputation")
    assert time.perf_counter() - began < 30
    gone.set()
    with pytest.raises(d.Cancelled):  # it stays pressed
        d.ask(QUESTION, passages=HELD, model=Reader(), cancel=cancel)


@pytest.mark.long
def test_a_fault_comes_through_a_question_that_could_be_cancelled() -> None:
    down = Scripted([ServerFault("down", 503)] * 9)
    with pytest.raises(ServerFault):
        d.ask(QUESTION, passages=HELD, model=down, cancel=d.Cancel(), strategy="disputation")
    assert d.ask(QUESTION, passages=HELD, model=Reader(), cancel=d.Cancel(), strategy="disputation").answers


# --- an index that shows itself -------------------------------------------------------------------
@pytest.mark.long
def test_an_index_shows_its_sources(place: Path) -> None:
    index = d.Index.open("plain", embedder="none")
    index.add([*HELD, d.Passage(text="<script>alert(1)</script>", source="<b>bold</b>")])
    assert str(index) == "plain: 5 documents of 5 sources, 5 passages, searched by keywords alone"
    assert repr(index) == "Index('plain')"
    page = index._repr_html_()
    assert "museum.example" in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "<b>bold" not in page
    fields = index.to_dict()
    assert fields["passages"] == 5
    assert {"name", "owner", "documents", "passages"} == set(fields["by_source"][0])


@pytest.mark.parametrize("question", [None, 5, ["When?"]])
def test_a_question_that_is_no_text_is_told_in_a_line(question: Any) -> None:
    with pytest.raises(InputError, match=r"^question is a text, not (None|int|list)$"):
        d.ask(question, passages=["The lock opened in 1911."], model="none", strategy="disputation")


def test_options_of_a_search_that_have_no_name_are_told_in_a_line() -> None:
    given: tuple[Any, ...] = ("town.index",)
    with pytest.raises(InputError, match=r"as keywords, Search\(k=5\), not str"):
        d.Search(*given)
    assert replace(d.Search(k=5), alpha=0.5) == d.Search(k=5, alpha=0.5)
