"""The panel of sources: what each holds, what it answers from that alone, and what its passages bear out."""

from __future__ import annotations

import json

import pytest

from disputatio.agents.per_source import SourceReply, answer_per_source, drop_unsupported, retrieve_per_source
from disputatio.errors import MissingPart, NoLogprobs
from disputatio.kit import Kit
from disputatio.llm.scripted import Line, Scripted
from disputatio.store.in_memory import InMemory
from disputatio.types import Passage
from tests.strategies.sources import QUESTION, Reader, kit, source

TRUE = "Ingrid Vasmer"


def from_each_source(kit: Kit) -> list[SourceReply]:
    """Return what every source answers from its best passages."""
    return answer_per_source(QUESTION, retrieve_per_source(QUESTION, kit), kit)


def reply(answer: str, quote: str = "", answered: str = "yes") -> str:
    """Return the word of a source's agent."""
    return json.dumps({"answered": answered, "answer": answer, "quote": quote})


def answered(lines: list[Line], *passages: Passage) -> tuple[list[SourceReply], Scripted]:
    model = Scripted(lines)
    return from_each_source(Kit(model=model, retriever=InMemory(passages))), model


def test_every_source_is_one_prompt_with_its_best_passages_and_no_others() -> None:
    many = [
        Passage(id=f"m{n}", source="many", text=f"The Quillhaven lighthouse {'lamp ' * n}.") for n in range(5)
    ]
    source_replies, model = answered([reply(TRUE)] * 2, *many, *source("one"))
    assert len(model.calls) == 2
    told = {
        one.source: call.prompt.messages[-1].content
        for one, call in zip(source_replies, model.calls, strict=True)
    }
    assert [len(one.retrieved.passages) for one in sorted(source_replies, key=lambda one: one.source)] == [
        3,
        2,
    ]
    assert "Log of one" not in told["many"]
    assert "lamp" not in told["one"]


def test_a_reply_tells_what_was_read_and_which_passage_bears_the_quote() -> None:
    source_replies, _ = answered([reply(TRUE, "designed by Ingrid Vasmer")], *source("a", TRUE))
    [one] = source_replies
    assert set(one.reply.passages) == {"a", "a-2"}
    assert (one.answer, one.bearer) == (TRUE, "a")
    assert one.reply.explanation == f"{TRUE} designed the Quillhaven lighthouse."


def test_without_a_quote_the_bearer_is_the_passage_in_the_words_of_which_it_is() -> None:
    [one], _ = answered([reply("white", "made up")], *source("a"))
    assert one.bearer == "a-2"
    [nowhere], _ = answered([reply("Timbuktu", "made up")], *source("a"))
    assert nowhere.bearer == ""


@pytest.mark.parametrize(
    "line", [reply("I don't know"), reply("unknown", "x"), "no JSON", reply(""), reply(TRUE, TRUE, "no")]
)
def test_a_source_that_does_not_know_or_breaks_its_contract_has_no_answer(line: str) -> None:
    [one], _ = answered([line], *source("a"))
    assert (one.answer, one.reply.quote, one.bearer) == ("", "", "")
    assert bool(one.reply.fault) == (line == "no JSON")


def test_a_source_with_no_word_of_the_question_is_not_asked_and_does_not_know() -> None:
    source_replies, model = answered(
        [reply(TRUE)], *source("a"), Passage(id="z", source="z", text="Bread and soup.")
    )
    assert len(model.calls) == 1
    [idle] = [one for one in source_replies if not one.asked]
    assert (idle.source, idle.answer, idle.reply.passages) == ("z", "", ("z",))


def test_a_source_far_below_the_third_best_is_not_asked() -> None:
    knowing = [one for name in "abc" for one in source(name, TRUE)]
    rest = [
        Passage(id=f"r{n}", source=f"r{n}", text=f"The lighthouse of town {n}, and its cafe.")
        for n in range(9)
    ]
    held = retrieve_per_source(QUESTION, Kit(model=Reader(), retriever=InMemory([*knowing, *rest])))
    assert {one.source for one in held if one.relevant} == {"a", "b", "c"}


def test_two_sources_that_stuff_words_cannot_silence_the_others() -> None:
    stuffed = [
        Passage(id=name, source=name, text="Who designed the Quillhaven lighthouse? " * 30)
        for name in ("x", "y")
    ]
    honest = [one for name in "abc" for one in source(name, TRUE)]
    rest = [Passage(id=f"r{n}", source=f"r{n}", text=f"Recipe {n}: bread and soup.") for n in range(20)]
    held = retrieve_per_source(QUESTION, Kit(model=Reader(), retriever=InMemory([*stuffed, *honest, *rest])))
    assert {"a", "b", "c"} <= {one.source for one in held if one.relevant}


def test_passages_without_a_source_stand_alone_under_their_ids_beside_named_ones() -> None:
    loose = [Passage(id=f"p{n}", text=f"Quillhaven lighthouse, note {n}.") for n in range(5)]
    held = retrieve_per_source(QUESTION, kit(Reader(), [loose, source("a")]))
    assert sorted(one.source for one in held) == ["a", "p0", "p1", "p2", "p3", "p4"]
    assert [one.named for one in sorted(held, key=lambda one: one.source)] == [True] + [False] * 5


def test_a_source_named_like_a_loose_passage_is_another() -> None:
    loose = Passage(id="a", text="Quillhaven lighthouse, a note.")
    held = retrieve_per_source(
        QUESTION, kit(Reader(), [[loose], [Passage(id="b", source="a", text="Quillhaven lighthouse.")]])
    )
    assert sorted((one.source, one.named) for one in held) == [("a", False), ("a", True)]


def test_there_must_be_something_to_search() -> None:
    with pytest.raises(MissingPart):
        retrieve_per_source(QUESTION, Kit(model=Reader()))


# --- f_align ------------------------------------------------------------------------------------
def test_an_answer_in_no_words_of_its_passages_is_dropped_without_a_call() -> None:
    model = Scripted([reply("Somebody Else")], choices=lambda _: NoLogprobs("not to be asked"))
    parts = kit(model, [source("a", TRUE)])
    [one] = drop_unsupported(QUESTION, from_each_source(parts), parts)
    assert (one.answer, one.consistency) == ("", 0.0)
    assert len(model.calls) == 1


def test_an_answer_that_only_echoes_the_question_is_dropped_without_a_call() -> None:
    model = Scripted([reply("the Quillhaven lighthouse")], choices=lambda _: NoLogprobs("not to be asked"))
    parts = kit(model, [source("a", TRUE)])
    source_replies = from_each_source(parts)
    assert source_replies[0].answer == "the Quillhaven lighthouse"
    assert [(one.answer, one.consistency) for one in drop_unsupported(QUESTION, source_replies, parts)] == [
        ("", 0.0)
    ]
    assert len(model.calls) == 1


def test_an_answer_below_tau_becomes_i_do_not_know_and_keeps_its_score() -> None:
    parts = kit(Reader(doubted=["Ingrid"]), [source("a", TRUE)])
    source_replies = from_each_source(parts)
    [one] = drop_unsupported(QUESTION, source_replies, parts)
    assert (one.answer, one.bearer, one.reply.explanation, one.consistency) == ("", "", "", 0.01)
    assert drop_unsupported(QUESTION, source_replies, parts, tau=0.005)[0].answer == TRUE
    assert drop_unsupported(QUESTION, source_replies, parts, tau=0.0) == source_replies


def test_without_log_probabilities_only_words_are_checked_and_the_trace_says_so() -> None:
    lines = {"Log of a": reply(TRUE), "Log of b": reply("Somebody Else")}
    model = Scripted(lines, choices=lambda _: NoLogprobs("this model gives none"))
    parts = kit(model, [source("a", TRUE), source("b", TRUE)])
    source_replies = drop_unsupported(QUESTION, from_each_source(parts), parts)
    assert sorted((one.source, one.answer, one.consistency) for one in source_replies) == [
        ("a", TRUE, None),
        ("b", "", 0.0),
    ]
    assert "unchecked" in {one["event"] for one in parts.trace.records()}
