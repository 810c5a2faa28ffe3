"""CRAG: three actions by two thresholds, strips, and a second search."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Unpack

import pytest

from disputatio.errors import ConfigError, InputError, NoLogprobs
from disputatio.kit import Kit
from disputatio.llm.scripted import Odds, Scripted
from disputatio.pipeline import ask
from disputatio.protocols import Search, SearchOptions
from disputatio.store.in_memory import InMemory
from disputatio.strategies.crag import GRADE_SYSTEM, REWRITE_SYSTEM, SYSTEM, crag, decompose, recompose
from disputatio.trace import Trace
from disputatio.types import Answer, Hit, Passage

QUESTION = "When did the ferry first cross?"
GOOD = "The ferry first crossed in 1887. Mayor Ola Brandt was aboard. Gulls nest on the pier. Tea was served."
VAGUE = "Ferries cross sounds everywhere. Some began long ago."
WRONG = "Lighthouses warn of rocks. They stand on headlands."


class Desk(Scripted):
    """Grades by a word of the text, rewrites the question, answers with the years of the excerpts."""

    def __init__(
        self, grades: Mapping[str, float], *, rewrite: str = '{"query": "ferry maiden voyage"}'
    ) -> None:
        super().__init__(self._say, choices=self._odds)
        self.grades, self.rewrite = grades, rewrite

    def _say(self, text: str) -> str:
        if text.startswith(REWRITE_SYSTEM):
            return self.rewrite
        assert text.startswith(SYSTEM)
        years = [one for one in ("1887", "1901") if one in text.removeprefix(SYSTEM)]
        return json.dumps({"answers": years, "explanation": "It first crossed then."})

    def _odds(self, text: str) -> Odds:
        shown_text = text.removeprefix(GRADE_SYSTEM).partition("\n\n")[2]
        yes = next((share for word, share in self.grades.items() if word in shown_text), 0.0)
        return {"Yes": yes, "No": 1 - yes}

    def asked(self, system: str) -> list[str]:
        return [call.text.removeprefix(system) for call in self.calls if call.text.startswith(system)]


class Shelf:
    """A retriever whose first search finds some passages, and any other what is left."""

    def __init__(self, first: Sequence[Passage], then: Sequence[Passage] = ()) -> None:
        self.first, self.then = list(first), list(then)
        self.queries: list[str] = []

    def search(self, query: str, **options: Unpack[SearchOptions]) -> list[Hit]:
        self.queries.append(query)
        shelf = self.first if len(self.queries) == 1 else [*self.first, *self.then]
        search = Search(**options)
        left = [passage for passage in shelf if passage.id not in search.exclude]
        return [Hit(passage=passage, score=1.0) for passage in left[: search.k]]


def passage(name: str, text: str) -> Passage:
    return Passage(id=name, source=f"{name}.example", text=text)


def answered(model: Desk, shelf: Shelf, **options: object) -> tuple[Answer, Trace]:
    trace = Trace()
    kit = Kit(model=model, retriever=shelf, trace=trace)
    return crag(QUESTION, kit, **options), trace  # type: ignore[arg-type]


def test_a_correct_retrieval_is_refined_and_not_searched_again() -> None:
    model, shelf = Desk({"1887": 0.95, "Ferries": 0.5}), Shelf([passage("a", GOOD), passage("b", VAGUE)])
    answer, _ = answered(model, shelf)
    assert answer.answers == ("1887",)
    assert (answer.rounds, len(shelf.queries)) == (1, 1)
    prompts = model.asked(SYSTEM)[0]
    assert "1887" in prompts and "Ferries" in prompts
    assert "Gulls" not in prompts  # the strip of the other two sentences


def test_an_incorrect_retrieval_is_discarded_and_searched_again_with_other_words() -> None:
    shelf = Shelf([passage("a", WRONG)], [passage("b", GOOD)])
    answer, _ = answered(Desk({"1887": 0.95}), shelf)
    assert answer.answers == ("1887",)
    assert shelf.queries == [QUESTION, "ferry maiden voyage"]
    assert [reply.passages for reply in answer.replies] == [("b",)]
    assert answer.rounds == 2


def test_an_ambiguous_retrieval_is_used_together_with_what_a_second_search_finds() -> None:
    shelf = Shelf(
        [passage("a", VAGUE), passage("c", WRONG)], [passage("b", "It crossed in 1901, says the log.")]
    )
    model = Desk({"Ferries": 0.5, "1901": 0.9})
    answer, _ = answered(model, shelf)
    assert answer.answers == ("1901",)
    prompts = model.asked(SYSTEM)[0]
    assert "Ferries" in prompts and "1901" in prompts
    assert "Lighthouses" not in prompts


def test_what_the_second_search_finds_is_graded_like_the_first_and_nothing_comes_back() -> None:
    shelf = Shelf([passage("a", WRONG)], [passage("b", WRONG + " Again.")])
    answer, trace = answered(Desk({}), shelf)
    assert (answer.answers, answer.abstained) == ((), "no_evidence")
    graded = [set(event["scores"]) for event in trace.records() if event["event"] == "graded"]
    assert graded == [{"a"}, {"b"}]


@pytest.mark.long
def test_a_search_of_the_users_own_takes_the_place_of_the_index() -> None:
    searches: list[tuple[str, int]] = []

    def web(query: str, k: int) -> list[Passage]:
        searches.append((query, k))
        return [Passage(text=GOOD, source="web.example")]

    kit = Kit(model=Desk({"1887": 0.95}), retriever=InMemory([passage("a", WRONG)]), elsewhere=web)
    answer = ask(QUESTION, kit=kit, strategy="crag", options={"k": 3}, verify=False)
    assert searches == [("ferry maiden voyage", 3)]
    assert answer.answers == ("1887",)
    (claim,) = answer.claims
    (cited,) = claim.citations
    assert cited.source == "web.example"
    assert GOOD[cited.start : cited.end] == cited.quote


def test_a_search_that_returns_nothing_readable_is_named() -> None:
    kit = Kit(model=Desk({}), retriever=Shelf([]), elsewhere=lambda query, k: [Passage(text=" ")])
    with pytest.raises(InputError, match="search function returned a passage without text"):
        crag(QUESTION, kit)


@pytest.mark.parametrize("rewrite", ["no JSON", '{"query": ""}', '{"query": "unknown"}', "x" * 9_000])
def test_a_rewriter_without_a_usable_word_leaves_the_question_to_search(rewrite: str) -> None:
    shelf = Shelf([passage("a", WRONG)], [passage("b", GOOD)])
    answer, _ = answered(Desk({"1887": 0.95}, rewrite=rewrite), shelf)
    assert shelf.queries == [QUESTION, QUESTION]
    assert answer.answers == ("1887",)


def test_a_reranker_in_the_kit_grades_in_place_of_the_model() -> None:
    class Counting:
        def rerank(self, query: str, passages: Sequence[Passage]) -> list[float]:
            return [float("1887" in one.text) for one in passages]

    model = Desk({})
    kit = Kit(model=model, retriever=Shelf([passage("a", GOOD)]), reranker=Counting())
    assert crag(QUESTION, kit).answers == ("1887",)
    assert not model.asked(GRADE_SYSTEM)

    class Short:
        def rerank(self, query: str, passages: Sequence[Passage]) -> list[float]:
            return []

    with pytest.raises(ConfigError, match="scored 0 of 1"):
        crag(QUESTION, Kit(model=model, retriever=Shelf([passage("a", GOOD)]), reranker=Short()))


def test_strips_cover_the_passage_and_are_put_together_again_in_its_order() -> None:
    long_passage = passage("a", GOOD)
    strips = decompose(long_passage, 2)
    assert [GOOD[strip.start : strip.end] for strip in strips] == [
        "The ferry first crossed in 1887. Mayor Ola Brandt was aboard.",
        "Gulls nest on the pier. Tea was served.",
    ]
    (again,) = recompose([strips[1], strips[0]])
    assert again.text.replace("\n", " ") == GOOD
    assert again.id == "a"


def test_the_best_strip_stays_where_none_is_good_enough() -> None:
    model = Desk({"crossed in 1887. Mayor Ola Brandt was aboard. Gulls": 0.95, "1887": 0.1})
    answer, _ = answered(model, Shelf([passage("a", GOOD)]))
    assert answer.answers == ("1887",)
    assert "Gulls" not in model.asked(SYSTEM)[0]


@pytest.mark.parametrize("options", [{"upper": 0.1, "lower": 0.5}, {"strips": 0}, {"size": 0}, {"votes": -1}])
def test_senseless_options_are_named(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="crag: "):
        answered(Desk({}), Shelf([]), **options)


def test_a_model_without_log_probabilities_is_a_clear_error_or_votes() -> None:
    class Silent(Desk):
        def _odds(self, text: str) -> Odds:
            return NoLogprobs("none")

        def _say(self, text: str) -> str:
            if text.startswith(GRADE_SYSTEM):
                return json.dumps({"word": "Yes" if "1887" in text else "No"})
            return super()._say(text)

    make: Callable[[], Shelf] = lambda: Shelf([passage("a", GOOD), passage("b", WRONG)])  # noqa: E731
    with pytest.raises(NoLogprobs, match=r"--role evaluator=MODEL"):
        answered(Silent({}), make())
    answer, trace = answered(Silent({}), make(), votes=3)
    assert answer.answers == ("1887",)
    assert [event["action"] for event in trace.records() if event["event"] == "graded"] == ["correct"]


def test_the_thresholds_are_the_papers_mapped_to_probabilities() -> None:
    defaults = crag.__kwdefaults__ or {}
    mapped = [round((score + 1) / 2, 4) for score in (0.59, -0.99, -0.5)]
    assert [defaults[name] for name in ("upper", "lower", "least")] == mapped
    assert defaults["strips"] == 5
