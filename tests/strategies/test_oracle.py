"""The Oracle: all sources are heard, and the true reliabilities weigh their votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.pipeline import ask
from disputatio.reliability.weighted_vote import hold_vote, weights_of
from disputatio.strategies.oracle import oracle
from disputatio.strategies.ra_rag import ra_rag
from disputatio.types import Passage
from tests.shell import run
from tests.strategies.sources import QUESTION, Reader, kit, rated, source

TRUE, LIE = "Ingrid Vasmer", "Barnaby Pole"


def world(**truths: float) -> list[list[Passage]]:
    """Sources by name: those that are right more often than not name the architect, the others a liar."""
    return [
        source(name, TRUE if truth > 0.5 else LIE, metadata={"true_reliability": str(truth)})
        for name, truth in truths.items()
    ]


def test_one_good_source_outvotes_a_majority_that_is_known_to_err() -> None:
    answer = ask(QUESTION, kit=kit(Reader(), world(a=0.1, b=0.1, c=0.9)), strategy="oracle", verify=False)
    assert answer.answers == (TRUE,)
    assert [(position.answer, position.weight) for position in answer.conflict.positions] == [
        (TRUE, 0.9),
        (LIE, 0.2),
    ]
    assert (answer.abstained, answer.strategy, answer.rounds) == (None, "oracle", 1)


@pytest.mark.parametrize("strategy", ["oracle", "ra_rag"])
def test_votes_weigh_the_true_p_and_not_l_p_minus_one(strategy: str) -> None:
    # .45 + .45 outweighs .85; with L = 10 it would not: 3.5 + 3.5 against 7.5.
    truths = {"a": 0.45, "b": 0.45, "c": 0.85}
    options = {} if strategy == "oracle" else {"selection": "all", "weights": "oracle"}
    answer = ask(
        QUESTION, kit=kit(Reader(), world(**truths)), strategy=strategy, options=options, verify=False
    )
    assert answer.answers == (LIE,)
    assert [position.weight for position in answer.conflict.positions] == [0.9, 0.85]
    by_p = hold_vote([[0, 0, 1]], [0.45, 0.45, 0.85])
    by_estimate = hold_vote([[0, 0, 1]], weights_of([0.45, 0.45, 0.85], 10))
    assert (by_p.tolist(), by_estimate.tolist()) == ([0], [1]), "the example tells them apart"


def test_estimates_count_for_nothing() -> None:
    estimated = rated(a=0.9, b=0.9, c=0.1)
    assert oracle(QUESTION, kit(Reader(), world(a=0.1, b=0.1, c=0.9), estimated)).answers == (TRUE,)


def test_every_source_is_asked_in_one_batch_however_many_there_are() -> None:
    model = Reader()
    oracle(QUESTION, kit(model, world(**{f"s{n}": 0.9 for n in range(9)})))
    assert model.batches == [9]


@pytest.mark.parametrize(
    "truths", [{"a": 0.1, "b": 0.6, "c": 0.9}, {"a": 0.2, "b": 0.2, "c": 0.3}, {"a": 0.7}]
)
def test_it_says_what_ra_rag_says_of_all_sources_with_the_same_weights(truths: Mapping[str, float]) -> None:
    ours = oracle(QUESTION, kit(Reader(), world(**truths)))
    theirs = ra_rag(QUESTION, kit(Reader(), world(**truths)), selection="all", weights="oracle")
    assert ours == theirs


def test_an_answer_that_its_passages_do_not_bear_out_has_no_vote() -> None:
    shelves = world(a=0.9, b=0.6, c=0.1)
    assert oracle(QUESTION, kit(Reader(doubted=["Ingrid"]), shelves)).answers == (LIE,)
    assert oracle(QUESTION, kit(Reader(doubted=["Ingrid"]), shelves), tau=0.0).answers == (TRUE,)


@pytest.mark.parametrize("shelves", [[], [[Passage(id="z", source="z", text="Recipes: bread, soup.")]]])
def test_nothing_on_the_question_is_no_evidence(shelves: Sequence[Sequence[Passage]]) -> None:
    passages = [
        [
            Passage(
                id=passage.id, source=passage.source, text=passage.text, metadata={"true_reliability": "1"}
            )
            for passage in shelf
        ]
        for shelf in shelves
    ]
    answer = oracle(QUESTION, kit(Reader(), passages), f_align="ours")
    assert (answer.answers, answer.abstained, answer.replies) == ((), "no_evidence", ())


@pytest.mark.parametrize("metadata", [{}, {"true_reliability": "high"}, {"true_reliability": "-0.1"}])
def test_a_source_whose_truth_is_not_given_is_named(metadata: dict[str, str]) -> None:
    shelves = [*world(a=0.9), source("b", LIE, metadata=metadata)]
    with pytest.raises(
        InputError, match=r"oracle: passage b.* of 'b' carries no true_reliability in \[0, 1\] in its"
    ):
        oracle(QUESTION, kit(Reader(), shelves))


def test_asking_it_of_passages_without_truths_is_bad_input_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "passages.jsonl"
    file.write_text('{"text": "The ferry first crossed in 1887.", "source": "museum.example"}\n')
    words = ("--passages", file, "--strategy", "oracle", "--model", "scripted:", "--journal", "none")
    done = run(capsys, "ask", "When did the ferry first cross?", *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "museum.example" in done.err
    assert "--strategy ra_rag" in done.err


def test_no_passage_a_source_is_refused() -> None:
    with pytest.raises(InputError, match="per_source are at least 1"):
        oracle(QUESTION, kit(Reader(), world(a=0.9)), per_source=0)
