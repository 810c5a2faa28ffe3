"""Passages written for training: their questions for yes or no, and those to be read."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import pytest

from disputatio.agents.trained_reader import GAP, decide_prompt
from disputatio.types import Passage
from tests.train.material import example
from train.language.leaves import Data, Shares
from train.language.passages import branches_of, written_passages

MILL: dict[str, Any] = {
    "title": "The mill",
    "text": "The mill is open from 10 to 4.",
    "about": "mill",
    "decide": [["Is it open at 5?", "no"], ["Is it free?", "unknown"]],
    "read": [["When does it open?", "10"], ["Who owns it?", ""]],
}


def test_a_decision_is_trained_on_the_prompt_that_it_is_asked_with() -> None:
    (_, decided), _ = branches_of(MILL, "mill.jsonl:1")
    prompt = decide_prompt("Is it open at 5?", Passage(text=MILL["text"], title=MILL["title"]))
    assert decided.text + GAP + decided.leaves[0].prompt == prompt.messages[1].content
    assert [leaf.target for leaf in decided.leaves] == ["no", "unknown"]


def test_a_passage_whose_replies_are_of_another_form_is_named() -> None:
    with pytest.raises(ValueError, match=r"mill.jsonl:1: no reply of yes or no: maybe"):
        list(branches_of({**MILL, "decide": [["Is it?", "maybe"]]}, "mill.jsonl:1"))
    with pytest.raises(ValueError, match=r"mill.jsonl:1: the text does not have: noon"):
        list(branches_of({**MILL, "read": [["When?", "noon"]]}, "mill.jsonl:1"))


@pytest.mark.long
def test_the_written_passages_say_yes_as_often_as_no() -> None:
    branches = list(written_passages())
    assert len({name for name, _, _ in branches}) > 400
    replies = Counter(
        leaf.target for _, task, branch in branches if task == "decide" for leaf in branch.leaves
    )
    assert abs(replies["yes"] - replies["no"]) < 0.03 * replies["yes"]
    assert 0.25 < replies["unknown"] / replies.total() < 0.35


def test_every_round_of_training_has_its_share_of_decisions() -> None:
    written = {task: [branch] for task, branch in branches_of(MILL, "mill.jsonl:1")}
    shares = Shares(read=2, support=0, entail=0, same=0, look=0, decide=3, pages=1)
    sung = [example("In Paris Anna sang.", "Anna")]
    trees = list(islice(Data(sung, [], 1, written).trees(shares), 10))
    for rounds in (trees[:5], trees[5:]):
        assert Counter(tree.task for tree in rounds) == {"read": 2, "decide": 3}
    decided = [branch for tree in trees if tree.task == "decide" for branch in tree.branches]
    assert set(decided) == {*written["decide"]}

    without = islice(Data(sung, [], 1, {"read": written["read"]}).trees(shares), 4)
    assert {tree.task for tree in without} == {"read"}
