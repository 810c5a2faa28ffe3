"""The writer copies an answer before it asks, words without the passages, and says what is unusable."""

from __future__ import annotations

import json

from disputatio.eval.builders.synthesis import FIRST, MIX, hint_of, word_questions, write_facts
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.types import Passage

PASSAGE = Passage(id="p", source="s", title="Pier", text="The pier was opened in 1921.")
KINDS = {name: next(iter(shares)) for name, shares in MIX.items()}


def test_a_fact_is_a_question_with_the_answer_that_was_copied() -> None:
    model = Scripted(['{"answer": " 1921. ", "question": "When was the pier\\nopened?"}'])
    (fact,) = write_facts([PASSAGE], [FIRST], Kit(model=model))
    assert fact == ("When was the pier opened?", "1921")
    assert "Title: Pier" in model.calls[0].text
    schema = model.calls[0].sampling.schema if model.calls[0].sampling else None
    assert schema is not None
    assert list(schema["properties"]) == ["answer", "question"]  # the answer before its question


def test_an_unusable_reply_is_its_reason_and_the_others_stay() -> None:
    model = Scripted(["nonsense", '{"answer": "1921", "question": "When?"}'])
    bad, good = write_facts([PASSAGE, PASSAGE], [FIRST, FIRST], Kit(model=model))
    assert bad == "it is prose, not one JSON object: it begins 'nonsense'"
    assert good == ("When?", "1921")


def test_the_second_question_is_told_the_first_by_kind() -> None:
    assert "When was the quay opened?" in hint_of("comparison", "When was the quay opened?")
    assert hint_of("comparison", "q") != hint_of("multi-aspect", "q")


def test_wording_is_told_every_category_and_sees_no_passage() -> None:
    model = Scripted(lambda _: json.dumps({"question": "Which is older?"}))
    assert word_questions([["When A?", "When B?"]], [KINDS], Kit(model=model)) == [("Which is older?",)]
    assert "Question: When A?\nQuestion: When B?" in model.calls[0].text
    assert "<passage" not in model.calls[0].text
    shown_text = model.calls[0].text.rpartition("Make one question of this:")[2]
    assert shown_text.count("\n- ") == len(MIX)


def test_each_category_has_its_own_words() -> None:
    seen = set()
    for name, shares in MIX.items():
        for value in shares:
            model = Scripted(lambda _: json.dumps({"question": "q?"}))
            word_questions([["When?"]], [{**KINDS, name: value}], Kit(model=model))
            seen.add(model.calls[0].text)
    assert len(seen) == sum(map(len, MIX.values())) - len(MIX) + 1
