"""Strategies take part under a label, with options read by their annotations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import ConfigError, InputError, UnknownName
from disputatio.eval.data.datasets import load
from disputatio.eval.running.entrants import entrants, options_for
from disputatio.pipeline import prompts_hash
from disputatio.types import Example
from tests.eval import toy
from tests.eval.material import write_rows

DEBATE, VOTE = "debate=tests.eval.toy:debate", "vote=tests.eval.toy:vote"


def _options(names: str, *settings: str, seed: int = 0) -> dict[str, dict[str, Any]]:
    return {entrant.label: dict(entrant.options) for entrant in entrants(names, settings, seeds=[seed])}


@pytest.mark.long
def test_options_are_recorded_in_full_with_the_seed_of_the_evaluation() -> None:
    assert _options(DEBATE, seed=4) == {
        "debate": {"rounds": 3, "judge": True, "history": "aggregate", "k": None, "shuffle_seed": 4}
    }


def test_a_plain_setting_is_for_all_that_know_it_and_a_named_one_for_one() -> None:
    configured = _options(f"{DEBATE}, {VOTE}", "k=5", "debate.k=none", "rounds=1", "shuffle_seed=9", seed=4)
    assert (configured["debate"]["k"], configured["vote"]["k"]) == (None, 5)
    assert (configured["debate"]["rounds"], configured["debate"]["shuffle_seed"]) == (1, 9)
    assert configured["vote"] == {"k": 5}


def test_one_strategy_takes_part_twice_under_two_labels() -> None:
    configured = entrants(f"{DEBATE},one=tests.eval.toy:debate", ["one.rounds=1"])
    assert [(entrant.label, entrant.strategy, entrant.options["rounds"]) for entrant in configured] == [
        ("debate", "tests.eval.toy:debate", 3),
        ("one", "tests.eval.toy:debate", 1),
    ]


def test_a_strategy_out_of_the_tree_needs_no_label() -> None:
    (configured,) = entrants("tests.eval.toy:debate", ["tests.eval.toy:debate.rounds=1"])
    assert (configured.label, configured.options["rounds"]) == ("tests.eval.toy:debate", 1)


@pytest.mark.parametrize(
    ("names", "settings", "message"),
    [
        ("madam_rang", [], "did you mean 'madam_rag'"),
        (DEBATE, ["round=1"], "unknown option 'round': did you mean 'rounds'"),
        (f"{DEBATE},{VOTE}", ["vote.rounds=1"], "unknown option 'rounds'"),
        (DEBATE, ["debat.k=1"], "unknown strategy 'debat': did you mean 'debate'"),
        (DEBATE, ["history=all"], "unknown value of history 'all'"),
    ],
)
def test_an_unknown_name_names_the_nearest(names: str, settings: list[str], message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        _options(names, *settings)


@pytest.mark.parametrize(
    ("names", "settings", "message"),
    [
        (DEBATE, ["rounds"], "write key=value"),
        (DEBATE, ["rounds=two"], "option rounds: 'two' is not of type int"),
        (f"{DEBATE},{DEBATE}", [], "debate is named twice"),
        (f"{DEBATE},", [], "separated by commas"),
        ("a.b=tests.eval.toy:debate", [], "separated by commas"),
        ("a#1=tests.eval.toy:debate", [], "separated by commas"),
    ],
)
def test_a_wrong_setting_says_what_is_wrong(names: str, settings: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _options(names, *settings)


def test_a_strategy_that_cannot_be_imported_is_said() -> None:
    with pytest.raises(ConfigError, match="cannot be imported"):
        _options("tests.eval.toy:nothing")


def test_an_entrant_carries_the_hash_of_its_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    (before,) = entrants(DEBATE, [])
    assert before.prompts == prompts_hash(toy.debate)
    monkeypatch.setattr(toy, "PROMPT", "Answer from the passages.")
    (after,) = entrants(DEBATE, [])
    assert after.prompts != before.prompts


def test_a_strategy_with_a_seed_takes_part_once_for_each_and_others_once() -> None:
    configured = entrants(f"{DEBATE},{VOTE}", [], seeds=[3, 1, 2])
    assert [(entrant.label, entrant.name, entrant.options.get("shuffle_seed")) for entrant in configured] == [
        ("debate", "debate", 3),
        ("debate#1", "debate", 1),
        ("debate#2", "debate", 2),
        ("vote", "vote", None),
    ]


def test_a_seed_that_is_set_by_hand_is_not_varied() -> None:
    configured = entrants(DEBATE, ["shuffle_seed=9"], seeds=[0, 1])
    assert [(entrant.label, entrant.options["shuffle_seed"]) for entrant in configured] == [("debate", 9)]


def test_an_entrant_carries_the_hashes_of_the_code_behind_it() -> None:
    (configured,) = entrants(DEBATE, [], code=["disputatio.llm.request"])
    assert {"tests.eval.toy", "disputatio.pipeline", "disputatio.llm.request"} <= set(configured.code)


@pytest.mark.long
def test_what_a_data_set_declares_of_its_answers_is_asked_unless_set_by_hand() -> None:
    example = Example(id="1", row=0, question="?", gold=("1",), metadata={"expects": "several"})
    [declared] = entrants("disputation")
    assert declared.options["expect"] == "declared"
    assert options_for(declared, example)["expect"] == "several"
    assert options_for(declared, replace(example, metadata={}))["expect"] == "auto"
    [shown] = entrants("disputation", ["expect=auto"])
    assert options_for(shown, example) == shown.options
    [without] = entrants("concat")
    assert options_for(without, example) == without.options


def test_a_data_set_declares_how_many_of_its_answers_are_right(tmp_path: Path) -> None:
    rows: dict[str, dict[str, Any]] = {
        "ramdocs": {
            "question": "Who?",
            "documents": [{"text": "Berg did.", "type": "correct", "answer": "Berg"}],
            "gold_answers": ["Berg"],
            "wrong_answers": [],
        },
        "nq_open": {"question": "Who?", "answer": ["Berg"]},
        "jsonl": {"question": "Who?", "gold": ["Berg"], "passages": []},
    }
    declared = {}
    for name, row in rows.items():
        [example] = load(f"{name}:{write_rows(tmp_path / f'{name}.jsonl', [row])}")
        declared[name] = example.metadata.get("expects")
    assert declared == {"ramdocs": "several", "nq_open": "one", "jsonl": None}
