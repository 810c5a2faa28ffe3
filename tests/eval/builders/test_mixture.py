"""Sets of RAMDocs' kind hold what they say, come near the paper's figures, and say what could not be had."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.eval.builders.ambiguity import Ambiguous, Sense, pool, read_ambiguous
from disputatio.eval.builders.material import bears_any, stands
from disputatio.eval.builders.mixture import (
    ANSWERS,
    SUPPORTS,
    Mixture,
    Quota,
    counts_of_shares,
    mix,
    statistics,
    table,
)
from disputatio.eval.data.datasets import load
from disputatio.store.in_memory import InMemory
from disputatio.types import Passage
from tests.eval.material import write_rows
from tests.eval.stations import NAMES, REGIONS, ambignq, asked, passages, ramdocs_row, year_of


def _held(told: Sequence[Mapping[str, str]]) -> InMemory:
    return InMemory([Passage(text=one["text"], source=one["source"]) for one in told])


def _mix(questions: Sequence[Ambiguous], held: InMemory, *, seed: int = 0) -> Mixture:
    """Return a set in which every question has two passages of misinformation and one of noise."""
    return mix(questions, lambda _: held, misinformation={2: 1.0}, noisy={1: 1.0}, seed=seed)


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> list[Ambiguous]:
    path = tmp_path_factory.mktemp("ambignq") / "light.json"
    path.write_text(json.dumps(ambignq()))
    return read_ambiguous(f"ambignq:{path}")


@pytest.fixture(scope="module")
def held() -> InMemory:
    return _held(passages())


@pytest.fixture(scope="module")
def built(questions: list[Ambiguous], held: InMemory) -> Mixture:
    return _mix(questions, held)


def test_the_readings_of_a_question_are_those_of_its_fullest_annotation(questions: list[Ambiguous]) -> None:
    assert [sense.answers for sense in questions[0].senses] == [
        (year_of("Vell", region),) for region in REGIONS
    ]
    assert questions[0].senses[0].question == "When was the Vell station in Norland opened?"


@pytest.mark.long
def test_every_passage_is_what_its_type_says(built: Mixture) -> None:
    assert len(built.rows) == len(NAMES)
    for row in built.rows:
        gold, wrong = row["gold_answers"], row["wrong_answers"]
        every = [
            year_of(name, region) for name in NAMES for region in REGIONS if asked(name) in row["question"]
        ]
        kinds = [document["type"] for document in row["documents"]]
        assert kinds.count("misinfo") == 2
        assert kinds.count("noise") == 1
        assert {document["answer"] for document in row["documents"] if document["type"] == "correct"} == set(
            gold
        )
        for document in row["documents"]:
            if document["type"] == "correct":
                others = [year for year in every if year != document["answer"]]
                assert stands(document["text"], document["answer"])
                assert not bears_any(document["text"], others)
            else:
                assert not bears_any(document["text"], every)
                assert bears_any(document["text"], wrong) == (document["type"] == "misinfo")


def test_rows_have_the_published_format_and_a_reading_for_each_answer(built: Mixture, tmp_path: Path) -> None:
    loaded = load(f"ramdocs:{write_rows(tmp_path / 'built.jsonl', built.rows)}")
    assert [list(example.gold) for example in loaded] == [row["gold_answers"] for row in built.rows]
    for row in built.rows:
        assert len(row["disambig_entity"]) == len(row["gold_answers"])
        for entity, gold in zip(row["disambig_entity"], row["gold_answers"], strict=True):
            assert any(region in entity and gold == year_of(name, region)
                       for name in NAMES for region in REGIONS if name in entity)  # fmt: skip


def test_as_many_questions_have_1_2_and_3_answers_as_the_shares_want(built: Mixture) -> None:
    (answers,) = (
        statistic for statistic in statistics(built.rows) if statistic.name == "right answers a question"
    )
    assert answers.counts == counts_of_shares(ANSWERS, len(NAMES))
    assert built.short == {}


@pytest.mark.long
def test_the_same_seed_gives_the_same_rows(
    questions: list[Ambiguous], held: InMemory, built: Mixture
) -> None:
    assert _mix(questions, held) == built
    assert _mix(questions, held, seed=1).rows != built.rows


@pytest.mark.long
def test_misinformation_is_made_of_passages_that_are_not_used_where_there_are_any(
    questions: list[Ambiguous], held: InMemory
) -> None:
    one = mix(questions, lambda _: held, supports={1: 1.0}, misinformation={1: 1.0}, noisy={0: 1.0})
    assert one.twins == 0
    thin = _held(passages(each=1))
    scarce = mix(questions, lambda _: thin, answers={3: 1.0}, misinformation={1: 1.0}, noisy={0: 1.0})
    assert scarce.twins == len(NAMES)


def test_what_cannot_be_built_is_counted_and_named(questions: list[Ambiguous]) -> None:
    few = _held(passages(["Vell", "Tarn"]))
    more = [*questions, Ambiguous(question="Is it?", row=99, senses=())]
    built = mix(more, lambda _: few, questions=4, answers={3: 1.0})
    assert [row["question"] for row in built.rows] == [asked("Vell"), asked("Tarn")]
    assert built.left_out == {
        "no passage found that bears one of its answers alone": [2, 3, 4, 5, 6, 7],
        "no short answer that a text could show": [99],
    }
    assert built.short["questions"] == 2


def test_too_few_answers_are_made_up_for_by_questions_with_fewer(questions: list[Ambiguous]) -> None:
    told = [passage for passage in passages() if "Norland" in passage["text"] or "bakery" in passage["text"]]
    poor = _held(told)
    built = mix(questions, lambda _: poor)
    assert {len(row["gold_answers"]) for row in built.rows} == {1}
    assert built.short["questions with 3 answers"] == counts_of_shares(ANSWERS, len(NAMES))[3]
    with pytest.raises(InputError, match=r"no passage found that bears one of its answers alone \(8\)"):
        mix(questions, lambda _: InMemory([Passage(text="Nothing here.")]))


def test_a_passage_that_has_the_answer_by_chance_is_no_support() -> None:
    ambiguous = Ambiguous(
        question="How many halls has Vell?",
        row=0,
        senses=(Sense(question="How many halls has Vell?", answers=("10",)),),
    )
    chance = InMemory(
        [Passage(text="The halls of Vell were opened on March 10."), Passage(text="10 of Tarn.")]
    )
    with pytest.raises(InputError, match="nothing can be built"):
        mix([ambiguous], lambda _: chance)
    real = InMemory([Passage(text="Vell is known for its 10 halls.")])
    assert mix([ambiguous], lambda _: real, noisy={0: 1.0}).rows[0]["gold_answers"] == ["10"]


def test_scraps_are_no_noise() -> None:
    ambiguous = Ambiguous(
        question=asked("Vell"), row=0, senses=(Sense(question=asked("Vell"), answers=("1700",)),)
    )
    told = [Passage(text="The Vell station was opened in 1700."), Passage(text="Vell, page 2")]
    (row,) = mix([ambiguous], lambda _: InMemory(told), noisy={1: 1.0}, misinformation={0: 1.0}).rows
    assert [document["type"] for document in row["documents"]] == ["correct"]


def test_readings_with_one_answer_are_one_and_yes_is_no_short_answer(tmp_path: Path) -> None:
    row = ambignq(["Vell"])[0]
    pairs = row["annotations"][1]["qaPairs"]
    pairs[1]["answer"] = [f"May {pairs[0]['answer'][0]}", "yes"]
    path = tmp_path / "light.json"
    path.write_text(json.dumps([row]))
    (ambiguous,) = read_ambiguous(f"ambignq:{path}")
    assert len(ambiguous.senses) == 2
    assert "yes" not in ambiguous.answers


def test_the_passages_of_a_data_set_are_its_honest_ones(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [ramdocs_row("Vell")])
    texts = [one.text for one in pool([f"ramdocs:{path}"])]
    assert len(texts) == 5
    assert not any("1999" in text for text in texts)
    (ambiguous,) = read_ambiguous(f"ramdocs:{path}")
    assert [passage.text for passage in ambiguous.passages] == texts
    assert [sense.entity for sense in ambiguous.senses] == ["Vell, Norland", "Vell, Sudmark"]


@pytest.mark.parametrize(
    "text", ["{}", "[1]", "[", '[{"question": "q"}]', '[{"question": "q", "annotations": 1}]']
)
def test_what_is_no_ambignq_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "light.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"light\.json"):
        read_ambiguous(f"ambignq:{path}")


def test_a_quota_comes_out_at_its_shares_and_takes_what_there_is() -> None:
    quota = Quota(SUPPORTS, random.Random(0))
    drawn = []
    for _ in range(1000):
        drawn.append(quota.draw())
        quota.add(drawn[-1])
    assert [round(drawn.count(level) / 1000, 2) for level in (1, 2, 3)] == [0.48, 0.29, 0.23]
    assert quota.draw(1) == 1
    for _ in range(10):
        quota.add(1)
    assert {quota.draw(2) for _ in range(50)} == {2}  # what is owed, where it can be had
    with pytest.raises(InputError):
        Quota({1: 0.0}, random.Random(0))


def test_the_table_shows_each_figure_beside_the_papers(built: Mixture) -> None:
    lines = table(statistics(built.rows))
    assert len(lines) == 9
    assert any("of them misinformation" in line and "2.00" in line and "0.61" in line for line in lines)
