"""A model's texts are taken where they pass the checks, and what the code made stays where they do not."""

from __future__ import annotations

import json
import re
from pathlib import Path

from disputatio.eval.builders.fabrication import fabricate, wrong_answers
from disputatio.kit import Kit
from disputatio.llm.cached_llm import CachedLLM
from disputatio.llm.call_cache import CallCache
from disputatio.llm.scripted import Scripted
from tests.eval.material import material

LIES = [f"Invented{n}" for n in range(9)]


def _author(prompt: str) -> str:
    """Wrong answers, then texts that bear the answer asked for, each with its number."""
    if "wrong answers" in prompt and "Right answer" in prompt:
        return json.dumps({"answers": [*LIES, "Goldtown0"]})
    found = re.search(r"Answer (?:that must stay|in that world): (\S+)\nWrite version (\d+)", prompt)
    assert found
    return json.dumps({"text": f"The mill stands in {found[1]}, so version {found[2]} says."})


def test_good_texts_take_the_place_of_those_made_in_code() -> None:
    (fabricated_row,) = fabricate([material()], Kit(model=Scripted(_author)))
    assert [lie.answer for lie in fabricated_row.lies] == LIES
    assert fabricated_row.factual[0] == "The mill stands in Goldtown0, so version 1 says."
    assert fabricated_row.made == {"generated": 36, "kept": 0}
    assert fabricated_row.faults() == []


def test_texts_that_fail_the_checks_twice_stay_as_they_were() -> None:
    def liar(prompt: str) -> str:
        if "Right answer" in prompt:
            return _author(prompt)
        return json.dumps({"text": "The mill is old."})

    model = Scripted(liar)
    (fabricated_row,) = fabricate([material()], Kit(model=model))
    assert fabricated_row.factual == material().factual
    assert fabricated_row.lies == material().lies
    assert fabricated_row.made == {"generated": 0, "kept": 36}
    assert len(model.calls) == 1 + 2 * 36


def test_a_false_text_that_names_the_truth_is_not_taken() -> None:
    def honest(prompt: str) -> str:
        reply = _author(prompt)
        return (
            reply.replace("so version", "not in Goldtown0, so version") if "that world" in prompt else reply
        )

    (fabricated_row,) = fabricate([material()], Kit(model=Scripted(honest)))
    assert fabricated_row.lies == material().lies
    assert fabricated_row.made == {"generated": 9, "kept": 27}


def test_a_broken_reply_costs_only_itself() -> None:
    (fabricated_row,) = fabricate([material()], Kit(model=Scripted(lambda _: "no JSON")))
    assert (fabricated_row.factual, fabricated_row.lies) == (material().factual, material().lies)


def test_wrong_answers_are_short_told_apart_and_wrong() -> None:
    offered = [
        "Goldtown0",
        "Oslo.",
        "Old Oslo",
        "mill 0",
        "one two three four five",
        "",
        "Liefield0x1",
        "Goldtown0 Bay",
    ]
    assert wrong_answers(material(), offered) == ["Oslo", "Liefield0x1"]


def test_an_interrupted_run_goes_on_from_the_journal(tmp_path: Path) -> None:
    materials = [material(n) for n in range(6)]
    first = Scripted(_author)
    with_journal = CachedLLM(first, CallCache(tmp_path / "calls.sqlite"), engine="scripted 1")
    once = fabricate(materials[:4], Kit(model=with_journal))
    second = Scripted(_author)
    again = CachedLLM(second, CallCache(tmp_path / "calls.sqlite"), engine="scripted 1")
    assert fabricate(materials, Kit(model=again))[:4] == once
    assert len(second.calls) < len(first.calls)
