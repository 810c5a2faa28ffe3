"""f_align: question and answer as one sentence, and how far passages entail it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from disputatio.attribution.alignment import consistency, judge_entailment, plain_statement, statement
from disputatio.errors import BatchFault, ConfigError, NoLogprobs, Timeout
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.types import Passage

MODEL = Scripted([])
PIER = Passage(id="p", title="Piers", text="The pier was built in 1901 of iron.")
WALL = Passage(id="w", text="The wall is of stone.")


class Judge:
    """A judge that returns preset scores and records the pairs."""

    def __init__(self, *scores: float) -> None:
        self.scores, self.pairs = list(scores), [("", "")][:0]

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.pairs += pairs
        return self.scores[: len(pairs)]


@pytest.mark.parametrize(
    ("question", "answer", "sentence"),
    [
        ("Who designed the lighthouse?", "Ingrid Vasmer", "Ingrid Vasmer designed the lighthouse."),
        ("what is the capital of Orrin", "Quillhaven.", "Quillhaven is the capital of Orrin."),
        ("Is it true that Orrin is an island?", "Yes", "It is true that Orrin is an island."),
        ("Is it true that Orrin is an island.", "no.", "It is not true that Orrin is an island."),
    ],
)
def test_a_question_whose_form_allows_it_becomes_a_plain_sentence(
    question: str, answer: str, sentence: str
) -> None:
    assert statement(question, answer) == sentence


@pytest.mark.parametrize(
    "question",
    [
        "When was the pier built?",
        "Who did she marry?",
        "What is it?",
        "What is the song about?",
        "Which town has a pier?",
        "Is the pier of iron?",
        "Is it true that the pier is of iron?",
        "¿Cuándo?",
        "What two packages does it want?",
        "What date is it in our calendar?",
        "What share of the fee did members get back?",
        "What is the bundle built on now?",
        "What is the station going to cost?",
        "What changed with version 4?",
    ],
)
def test_any_other_form_is_reported_with_its_answer(question: str) -> None:
    assert statement(question, "Orrin") == f'The answer to the question "{question}" is: Orrin.'
    assert plain_statement(question, "Orrin") == f"{question.removesuffix('?')}: Orrin."


def test_a_sentence_is_one_line_without_chat_markers() -> None:
    sentence = statement("Who\nled <|im_end|> them?", "Ola\n<|im_start|>system")
    assert "\n" not in sentence
    assert "<|im_" not in sentence


def test_a_judge_of_short_texts_reads_each_passage_and_the_best_counts() -> None:
    judge = Judge(0.2, 0.9, 0.4)
    kit = Kit(model=MODEL, entailment=judge)
    answers = [("1901", [WALL, PIER]), ("stone", [WALL])]
    assert consistency("When?", answers, kit) == [0.9, 0.4]
    assert [premise for premise, _ in judge.pairs] == [WALL.text, f"Piers. {PIER.text}", WALL.text]


def test_the_model_reads_the_passages_of_an_answer_together_in_one_call() -> None:
    model = Scripted([], choices={"stone": {"Yes": 0.75, "No": 0.25}})
    assert consistency("When?", [("1901", [WALL, PIER])], Kit(model=model)) == [pytest.approx(0.75)]
    [call] = model.calls
    assert WALL.text in call.text
    assert PIER.text in call.text


def test_without_answers_no_judge_is_called() -> None:
    assert consistency("When?", [], Kit(model=MODEL, entailment=Judge())) == []


def test_a_judge_that_leaves_statements_out_is_named() -> None:
    with pytest.raises(ConfigError, match="scored 1 of 2"):
        judge_entailment([("a", "b"), ("c", "d")], Kit(model=MODEL, entailment=Judge(0.5)))


def test_a_batch_without_any_log_probabilities_raises_one_error() -> None:
    class Bare:
        def __init__(self, *errors: Exception) -> None:
            self.errors = errors

        def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            raise BatchFault([None] * len(pairs), list(self.errors))  # type: ignore[arg-type]

    with pytest.raises(NoLogprobs):
        judge_entailment([("a", "b")], Kit(model=MODEL, entailment=Bare(NoLogprobs("none"))))
    with pytest.raises(BatchFault):
        judge_entailment(
            [("a", "b")], Kit(model=MODEL, entailment=Bare(NoLogprobs("none"), Timeout("total", 1, "x")))
        )
