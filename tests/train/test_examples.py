"""Training examples from data sets: windows, unanswerable twins, sides that never meet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.train.material import example, write_data, write_rows
from train.examples import (
    Unanswerable,
    epoch_of,
    natural_questions,
    occurrences,
    question_form,
    questions_elsewhere,
    ramdocs,
    seeded,
    side,
    squad_like,
    window,
)
from train.split import calibration_examples, dev_sample, training_examples

LONG = " ".join(f"word{number}" for number in range(300))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path)


@given(st.integers(0, 299), st.integers(0, 10**6))
def test_a_window_holds_an_answer_whole_and_where_it_says(place: int, seed: int) -> None:
    word = f"word{place}"
    start = f" {LONG} ".index(f" {word} ")
    whole = replace(example(LONG), spans=((start, start + len(word)),))
    cut = window(whole, seeded(seed), 20, 40)
    assert cut.answers == (word,)
    assert 20 <= len(cut.text.split()) <= 40
    assert cut.text in LONG


def test_a_short_passage_is_its_own_window() -> None:
    short = example("Anna sang.", "Anna")
    assert window(short, seeded(1), 20, 40) == short


def test_an_answer_longer_than_the_window_stays_whole() -> None:
    cut = window(example(LONG, LONG[50:600]), seeded(3), 5, 9)
    assert cut.answers == (LONG[50:600],)


def test_a_twin_bears_none_of_the_answers_and_comes_from_the_same_page() -> None:
    kept = example("Anna sang. " + LONG, "Anna", title="Page", group="1")
    others = [
        example(f"Nobody sang {number}.", title="Page", group=f"p{number}", id=f"p{number}")
        for number in range(3)
    ]
    bears = example("Later anna sang again.", "anna", title="Page", group="2", id="2")
    elsewhere = example("Who sang in this other place?", title="Other", group="3", id="3")
    twins = Unanswerable([kept, bears, elsewhere, *others])
    for seed in range(40):
        twin = twins.twin(kept, seeded(seed))
        assert twin is not None
        assert twin.spans == ()
        assert twin.question == kept.question
        assert not occurrences(twin.text, "Anna")
        assert twin.text in {one.text for one in others} or twin.text in kept.text


def test_a_page_without_another_passage_gives_no_twin() -> None:
    alone = example("Anna sang.", "Anna")
    assert Unanswerable([alone]).twin(alone, seeded(1)) is None


def test_an_answer_that_does_not_stand_where_its_row_says_is_a_fault(data: Path) -> None:
    row = {"id": "1", "question": "q", "context_id": "c0", "answers": [{"text": "bruno", "start": 3}]}
    write_rows(data / "train" / "qa_squad11_dev.jsonl.gz", [row])
    with pytest.raises(ValueError, match="does not stand at 3"):
        squad_like(data / "train")


def test_even_rows_of_retrieved_sets_are_never_trained_on_or_watched(data: Path) -> None:
    for some in training_examples(data):
        rows = [int(one.id.split("/")[1]) for one in some if one.dataset in ("ramdocs", "nq")]
        assert rows
        assert all(row % 2 for row in rows)


def test_no_context_and_no_row_is_on_two_sides(data: Path) -> None:
    train, dev = training_examples(data)
    assert {one.group for one in train}.isdisjoint({one.group for one in dev})
    assert {side(one.group) for one in train if one.dataset.startswith("squad")} == {"train"}
    assert {one.group for one in calibration_examples(data)} <= {one.group for one in dev}


def test_questions_of_sets_kept_for_evaluation_are_left_out(data: Path) -> None:
    elsewhere = questions_elsewhere(data)
    assert {"who won 1", "who won 3", "who sang 0"} <= elsewhere
    trained = {question_form(one.question) for one in training_examples(data)[0]}
    assert trained.isdisjoint(elsewhere)
    kept = natural_questions(data / "nq_with_passages" / "nq.jsonl", ["train"], without=elsewhere)
    assert {one.group for one in kept} == {"nq/5", "nq/9", "nq/11", "nq/13"}


def test_ramdocs_passages_bear_their_own_answer_and_noise_bears_none(data: Path) -> None:
    passages = ramdocs(data / "ramdocs" / "dev.jsonl", ["report"])
    assert {one.answers for one in passages if one.id.endswith("/noise")} == {()}
    assert {one.answers for one in passages if one.id.endswith("/misinfo")} == {("bruno",)}
    assert {one.answers for one in passages if one.id.endswith("/correct")} == {("anna",)}
    unread = ramdocs(data / "ramdocs" / "dev.jsonl", ["report"], keep_unread=True)
    assert len(unread) == len(passages) + 8


@pytest.mark.long
def test_an_epoch_is_the_same_from_the_same_seed_and_another_from_another(data: Path) -> None:
    train, _ = training_examples(data)
    first = epoch_of(train, seed=1, epoch=0)
    assert first == epoch_of(train, seed=1, epoch=0)
    assert first != epoch_of(train, seed=1, epoch=1)
    assert first != epoch_of(train, seed=2, epoch=0)
    for one in first:
        assert all(0 <= start < end <= len(one.text) for start, end in one.spans)


def test_the_watched_sample_is_the_same_every_time(data: Path) -> None:
    _, dev = training_examples(data)
    assert dev_sample(dev, 1, 4) == dev_sample(dev, 1, 4)
