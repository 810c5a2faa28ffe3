"""The bench of the trained heads asks every arm the same cases, and goes on where it stopped."""

from __future__ import annotations

import argparse
import doctest
import json
from pathlib import Path
from typing import Any

import pytest

from bench.verdict import heads
from disputatio.errors import LLMError
from disputatio.kit import TRAINED_READER, Kit
from disputatio.llm.scripted import Scripted
from disputatio.types import Example, Passage
from train.pairs import Pair
from train.sameness import about

PAIR = Pair(
    id="p",
    dataset="d",
    group="",
    head="same",
    first=about("Elk", "First text."),
    second="Second text.",
    label=1,
)


def line(case: str, arm: str, *, so: bool, score: float, **known: Any) -> heads.Line:
    known = {"tokens": 10, "logprobs": [[score, 0.0]], **known}
    return {**heads.line_of("wikidata", case, case, "", so), "arm": arm, **known}


def test_the_examples_in_the_docstrings_hold() -> None:
    done = doctest.testmod(heads)
    assert (done.failed, done.attempted > 0) == (0, True)


def test_two_passages_are_asked_in_both_orders_and_each_arm_the_same() -> None:
    kept, asks = heads.pair_case("wikidata", PAIR)
    assert (kept["so"], kept["group"]) == (True, "p")  # what has no group is one of its own
    one, other = (prompt.messages[-1].content for prompt in asks[heads.TRAINED][2])
    assert one.index("First") < one.index("Second") and other.index("Second") < other.index("First")
    assert all(text.startswith("About: Elk\n") for text in (one, other))
    assert asks[heads.UNTRAINED][1:] == asks[heads.TRAINED][1:]


def test_a_claim_is_put_to_the_judge_in_its_own_words_and_to_the_head_in_those_of_training() -> None:
    _, asks = heads.claim_case(heads.line_of("expertqa", "c", "c", "", True), "Elks swim.", "They\nswim.")
    assert asks[heads.TRAINED][1] == ("supports", "contradicts", "silent")
    assert asks[heads.TRAINED][2][0].messages[-1].content.endswith("Claim: They swim.")
    assert asks[heads.UNTRAINED][:2] == ("judge", ("Yes", "No"))
    assert "Statement: They swim." in asks[heads.UNTRAINED][2][0].messages[-1].content


def test_what_was_stopped_goes_on_and_asks_again_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Example(
        id="r",
        row=4,
        question="Who led Elk?",
        gold=("Ann Roe",),
        passages=(Passage(text="Ann Roe led Elk."), Passage(text="Elk lies by Bob Poe's lake.")),
        metadata={"types": ("correct", "noise"), "answers": ("Ann Roe", "unknown")},
    )
    monkeypatch.setattr(heads, "cases_of", lambda _: [[heads.pair_case("wikidata", PAIR)]])
    monkeypatch.setattr(heads, "ramdocs", lambda _: argparse.Namespace(to_report=lambda: [row]))
    readings = {
        "Ann Roe led": '{"subject": "Elk", "answer": "Ann Roe"}',
        "Bob": '{"subject": "Elk", "answer": "Bob Poe"}',
    }
    asked = argparse.Namespace(
        out=tmp_path / "heads.jsonl", data=tmp_path, sets=heads.SETS, limit=None, minutes=0.0
    )
    late = Scripted({}, choices={"": LLMError("late")})
    untrained = Scripted(readings)

    heads.run(asked, Kit(model=untrained, roles={TRAINED_READER: late}))
    kept = heads.lines_of(asked.out)
    assert {one["id"]: one["so"] for one in kept if one["of"] == "reading"} == {"4/0": True, "4/1": False}
    assert {one["arm"] for one in kept if one["fault"]} == {heads.TRAINED, heads.QUOTE}
    assert heads.rows_of(kept, "wikidata") == []

    before, trained = len(untrained.calls), Scripted({}, choices={"": {"same": 0.9, "different": 0.1}})
    heads.run(asked, Kit(model=untrained, roles={TRAINED_READER: trained}))
    kept = heads.lines_of(asked.out)
    assert len(untrained.calls) == before
    assert [one for one in kept if one["fault"]] == []
    assert len(heads.rows_of(kept, "wikidata")) == 1
    heads.run(asked, Kit(model=untrained, roles={TRAINED_READER: trained}))
    assert heads.lines_of(asked.out) == kept


def test_a_head_is_compared_over_what_every_arm_has_judged() -> None:
    lines = [
        line("a", heads.TRAINED, so=True, score=2.0),
        line("b", heads.TRAINED, so=False, score=-2.0),
        line("c", heads.TRAINED, so=False, score=9.0),  # the other arm failed
        line("a", heads.UNTRAINED, so=True, score=-1.0),
        line("b", heads.UNTRAINED, so=False, score=1.0),
        line("c", heads.UNTRAINED, so=False, score=0.0, fault="Timeout: late"),
    ]
    rows = heads.rows_of(lines, "wikidata")
    assert len(rows) == 2
    assert (heads.auc(heads.TRAINED, rows), heads.auc(heads.UNTRAINED, rows)) == (1.0, 0.0)
    assert heads.agreement(heads.TRAINED, rows) == 1.0
    assert heads.ahead(heads.auc, heads.UNTRAINED, rows) == 1.0
    page = "\n".join(heads.shown_lines(lines))
    assert "2 cases, 1 of them so" in page
    assert f"| {heads.UNTRAINED} | 1 | 1 | 0.000" in page


def test_of_an_answer_that_was_asked_for_again_the_last_counts(tmp_path: Path) -> None:
    out = tmp_path / "heads.jsonl"
    both = [
        line("a", heads.TRAINED, so=True, score=1.0, fault="x"),
        line("a", heads.TRAINED, so=True, score=1.0),
    ]
    out.write_text("\n".join(map(json.dumps, both)), encoding="utf-8")
    assert [one["fault"] for one in heads.lines_of(out)] == [""]
