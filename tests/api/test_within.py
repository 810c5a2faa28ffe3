"""A deadline: what was read by then is answered from, what was not is named, and nothing is thrown away."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import disputatio as d
from disputatio.errors import InputError, ServerFault
from disputatio.llm.cached_llm import CachedLLM
from disputatio.llm.call_cache import CallCache
from disputatio.llm.scripted import Scripted

QUESTION = "When did the ferry first cross?"
PASSAGES = [
    d.Passage(id="p1", text="The ferry first crossed in 1887.", source="museum.example"),
    d.Passage(id="p2", text="The ferry first crossed in 1887, in May.", source="almanac.example"),
    d.Passage(id="p3", text="They say the ferry first crossed in 1901.", source="buzz.example"),
]
WITHOUT_ENCODER = {"encoder": "none", "journal": "none"}


def stuck_after(reads: int, released: threading.Event) -> Scripted:
    """Make a model that reads so many passages at once, and waits with the next."""
    asked: list[str] = []

    def says(prompt: str) -> str:
        asked.append(prompt)
        if len(asked) > reads:
            released.wait(30)
        passage = prompt.partition("<passage")[2]
        return json.dumps({"subject": "", "answer": "1887" if "1887" in passage else "1901"})

    return Scripted(says, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script")


@pytest.fixture
def released() -> threading.Event:
    return threading.Event()


@pytest.mark.long
def test_what_was_read_by_the_deadline_is_answered_from_and_the_rest_is_named(
    released: threading.Event,
) -> None:
    model = stuck_after(2, released)
    began = time.monotonic()
    answer = d.ask(QUESTION, passages=PASSAGES, model=model, within=4, settings=WITHOUT_ENCODER)
    took = time.monotonic() - began
    released.set()
    assert took < 25  # the model would take 30
    assert answer.answers == ("1887",)
    assert answer.read is not None
    assert (answer.read.read, answer.read.failed, answer.read.late) == (2, 1, ("p3",))
    assert answer.conflict.kind == "unresolved"  # what was not read may oppose it
    assert {claim.verdict for claim in answer.claims} == {"unchecked"}
    assert answer.to_dict()["read"]["late"] == ["p3"]
    assert d.Answer.from_dict(answer.to_dict()) == answer
    whole = d.ask(QUESTION, passages=PASSAGES[:2], model=stuck_after(9, released), settings=WITHOUT_ENCODER)
    assert answer.confidence is not None
    assert whole.confidence is not None
    assert answer.confidence <= whole.confidence


@pytest.mark.long
def test_the_encoder_reads_what_the_model_has_not(released: threading.Event) -> None:
    d.ask(QUESTION, passages=PASSAGES, model=stuck_after(99, released))  # loads the encoder
    answer = d.ask(QUESTION, passages=PASSAGES, model=stuck_after(1, released), within="4s")
    released.set()
    assert answer.answers == ("1887",)
    assert answer.read is not None
    assert (answer.read.read, answer.read.failed, answer.read.late) == (3, 0, ("p2", "p3"))
    assert {position.answer for position in answer.conflict.positions} == {"1887", "1901"}
    left = answer.without(sources=["buzz.example"])  # decided again with no model
    assert left.answers == ("1887",)


@pytest.mark.long
def test_a_question_in_time_is_answered_as_without_a_deadline() -> None:
    ready = threading.Event()
    ready.set()
    usual = d.ask(QUESTION, passages=PASSAGES, model=stuck_after(9, ready))
    timed = d.ask(QUESTION, passages=PASSAGES, model=stuck_after(9, ready), within="2m")
    assert timed.read is not None
    assert timed.read.late == ()
    assert (timed.claims, timed.conflict) == (usual.claims, usual.conflict)


@pytest.mark.long
def test_finished_calls_are_in_the_journal(tmp_path: Path, released: threading.Event) -> None:
    journal = CallCache(tmp_path / "calls.sqlite")
    model = CachedLLM(stuck_after(2, released), journal, engine="script")
    d.ask(QUESTION, passages=PASSAGES, model=model, within=4, settings=WITHOUT_ENCODER)
    inner = Scripted(lambda _: json.dumps({"subject": "", "answer": "1901"}), name="script")
    again = CachedLLM(inner, journal, engine="script")
    plain: dict[str, Any] = {"verify": False, "look": False, "belief": False, "debate": 0}
    answer = d.ask(QUESTION, passages=PASSAGES, model=again, settings=WITHOUT_ENCODER, **plain)
    released.set()
    assert answer.read is not None
    assert answer.read.failed == 0
    assert answer.answers == ("1887",)  # two readings are those of the journal
    assert len(inner.calls) == 1


def test_a_fault_of_the_model_is_one_before_the_deadline_too() -> None:
    down = Scripted([ServerFault("down", 503)] * 3)
    with pytest.raises(ServerFault, match="down"):
        d.ask(QUESTION, passages=PASSAGES, model=down, within=20, settings=WITHOUT_ENCODER)


@pytest.mark.parametrize("within", ["soon", "0s", -1, "25h", "1e9", "nan"])
def test_no_time_is_refused(within: float | str) -> None:
    with pytest.raises(InputError, match="write 20s"):
        d.ask(QUESTION, passages=PASSAGES, model=Scripted({}), within=within)


def test_what_cannot_answer_from_a_part_says_so() -> None:
    with pytest.raises(InputError, match="disputation does"):
        d.ask(QUESTION, passages=PASSAGES, model=Scripted({}), within=20, strategy="madam_rag")
    with pytest.raises(InputError, match="leave out within"):
        d.ask(QUESTION, passages=PASSAGES, model=Scripted({}), within=20, strict=True)
