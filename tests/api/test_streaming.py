"""Events as they happen, one a finished call; questions that are cancelled; answers that are awaited."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import disputatio as d
from disputatio import events
from disputatio.errors import ServerFault
from disputatio.llm.scripted import Scripted
from disputatio.strategies.madam_rag import madam_rag
from tests.shell import SCRIPT

QUESTION = "When did the ferry first cross?"
PASSAGES = [
    d.Passage(id="p1", text="The ferry first crossed in 1887.", source="museum.example"),
    d.Passage(id="p2", text="The ferry first crossed in 1887, in May.", source="almanac.example"),
    d.Passage(id="p3", text="They say the ferry first crossed in 1901.", source="buzz.example"),
]


def says(prompt: str) -> str:
    year = next((year for year in ("1887", "1901") if year in prompt.partition("<passage")[2]), "unknown")
    return json.dumps({"subject": "", "answer": year})


@pytest.fixture
def model() -> Scripted:
    return Scripted(says, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script")


def kinds(stream: Iterator[d.Event]) -> list[str]:
    return [event.kind for event in stream]


def test_passages_that_a_strategy_looks_up_twice_are_told_once(model: Scripted) -> None:
    seen = kinds(d.stream(QUESTION, passages=PASSAGES, model=model, strategy="majority_vote"))
    assert seen.count("found") == seen.count("evidence") == 1


@pytest.mark.long
def test_a_question_streams_from_its_start_to_its_cost(model: Scripted) -> None:
    seen = list(d.stream(QUESTION, passages=PASSAGES, model=model))
    order = list(dict.fromkeys(event.kind for event in seen))
    assert order == ["started", "found", "evidence", "read", "sides", "side", "claim", "answer", "cost"]
    first, found = seen[:2]
    assert isinstance(first, d.Started)
    assert (first.question, first.strategy, first.model) == (QUESTION, "disputation", "script")
    assert isinstance(found, d.Found)
    assert found.passages == ("p1", "p2", "p3")
    assert found.sources == ("museum.example", "almanac.example", "buzz.example")
    readers = [event for event in seen if isinstance(event, d.Read) and event.role == "reader"]
    assert [(event.call, event.calls, event.passages) for event in readers] == [
        (1, 3, ("p1",)),
        (2, 3, ("p2",)),
        (3, 3, ("p3",)),
    ]
    *_, answered, cost = seen
    assert isinstance(answered, d.Answered)
    assert isinstance(cost, d.Cost)
    assert answered.answer.answers == ("1887",)
    assert cost.usage == answered.answer.usage


@pytest.mark.long
def test_answers_are_counted_after_each_reading(model: Scripted) -> None:
    seen = list(d.stream(QUESTION, passages=PASSAGES, model=model, verify=False))
    counts = [event for event in seen if isinstance(event, d.Sides)]
    votes = [[(side.answer, side.votes) for side in event.sides] for event in counts]
    assert votes == [[("1887", 1)], [("1887", 2)], [("1887", 2), ("1901", 1)]]
    assert [(event.read, event.silent) for event in counts] == [(1, 0), (2, 0), (3, 0)]
    assert counts[-1].sides[1].sources == ("buzz.example",)
    order = [event.kind for event in seen if isinstance(event, d.Read | d.Sides)]
    assert order[:6] == ["read", "sides"] * 3


def test_passages_of_one_source_have_one_vote_and_those_without_an_answer_none(model: Scripted) -> None:
    again = replace(PASSAGES[0], id="p4", text=PASSAGES[0].text + " So says the museum.")
    quiet = d.Passage(id="p5", text="Nobody knows it.", source="farm.example")
    seen = list(d.stream(QUESTION, passages=[*PASSAGES[:1], again, quiet], model=model, verify=False))
    last = [event for event in seen if isinstance(event, d.Sides)][-1]
    assert [(side.votes, side.passages) for side in last.sides] == [(1, ("p1", "p4"))]
    assert last.line() == "1887 (1 vote), no answer in 1 of 3"


def test_sides_are_told_when_they_form_and_last_as_the_positions_of_the_answer(model: Scripted) -> None:
    seen = list(d.stream(QUESTION, passages=PASSAGES, model=model, verify=False))
    sides = [event for event in seen if isinstance(event, d.SideFormed)]
    formed = [event for event in sides if not event.final]
    assert [(side.answer, side.passages) for side in formed] == [("1887", ("p1", "p2")), ("1901", ("p3",))]
    assert formed[0].log_odds is not None
    answer = next(event.answer for event in seen if isinstance(event, d.Answered))
    final = [(side.answer, side.verdict) for side in sides if side.final]
    assert final == [(position.answer, position.verdict) for position in answer.conflict.positions]
    assert seen.index(formed[0]) < seen.index(next(event for event in seen if isinstance(event, d.Claimed)))


@pytest.mark.long
def test_the_stream_and_ask_give_the_same_answer(model: Scripted) -> None:
    with d.stream(QUESTION, passages=PASSAGES, model=model) as stream:
        before = stream.answer
        list(stream)
        after = stream.answer
        assert before is None
        assert after is not None
        assert after.claims == d.ask(QUESTION, passages=PASSAGES, model=model).claims
        assert stream.usage == after.usage
        assert next(stream, None) is None


def test_rounds_of_a_debate_are_told() -> None:
    replies = {text: json.dumps(reply) for text, reply in SCRIPT.items()}
    seen = list(
        d.stream(QUESTION, passages=PASSAGES, model=Scripted(replies), strategy="madam_rag", bound=True)
    )
    rounds = [event for event in seen if isinstance(event, d.Round)]
    assert [(event.number, event.converged) for event in rounds] == [(2, True)]


def test_every_call_is_told_when_it_finishes_not_with_its_batch() -> None:
    turns = [threading.Event() for _ in PASSAGES]

    def waits(prompt: str) -> str:
        number = next(n for n, passage in enumerate(PASSAGES) if passage.text in prompt)
        assert turns[number].wait(30)
        return says(prompt)

    bare = {"encoder": "none"}
    stream = d.stream(QUESTION, passages=PASSAGES, model=Scripted(waits), verify=False, settings=bare)
    seen = [next(stream), next(stream), next(stream)]
    for number, turn in enumerate(turns):  # the next call cannot finish before this event was seen
        turn.set()
        event = next(each for each in stream if isinstance(each, d.Read))
        assert (event.call, event.done) == (number + 1, number + 1)
        seen.append(event)
    assert [event.kind for event in seen] == ["started", "found", "evidence", "read", "read", "read"]
    stream.close()


def test_the_best_sentences_are_told_before_the_model_is_asked() -> None:
    passages = [
        d.Passage(
            id="p1", title="Quays", text="The quay is old. The ferry first crossed in 1887. It is red."
        ),
        d.Passage(id="p2", title="Boats", text="They say the ferry first crossed in 1901."),
    ]
    asked = threading.Event()

    def waits(prompt: str) -> str:
        assert asked.wait(30)
        return says(prompt)

    stream = d.stream(QUESTION, passages=passages, model=Scripted(waits), verify=False)
    *_, by_words, by_encoder = [next(stream) for _ in range(4)]
    assert isinstance(by_words, d.Evidence)
    assert isinstance(by_encoder, d.Evidence)
    first, second = by_words.excerpts
    assert (by_words.by, first.passage, first.title, first.answers) == ("words", "p1", "Quays", None)
    best = by_encoder.excerpts[0]
    assert (by_encoder.by, "ferry first crossed in" in best.sentence) == ("encoder", True)
    assert best.answers is not None
    assert best.answers > 0.5
    assert first.sentence == "The ferry first crossed in 1887." == passages[0].text[first.start : first.end]
    assert second.sentence == passages[1].text
    asked.set()
    readings = [event for event in stream if isinstance(event, d.Read) and event.role == "reader"]
    assert [event.titles for event in readings] == [("Quays",), ("Boats",)]
    assert 0 < readings[0].tokens < readings[1].tokens
    assert readings[0].seconds <= readings[1].seconds


@pytest.mark.long
def test_a_reply_is_in_its_event_where_the_trace_keeps_text(model: Scripted) -> None:
    trace = d.Trace(keep_text=True)
    seen = list(d.stream(QUESTION, passages=PASSAGES, model=model, trace=trace, verify=False))
    first = next(event for event in seen if isinstance(event, d.Read))
    assert json.loads(first.reply)["answer"] == "1887"
    assert trace.records()  # and the log is the caller's
    quiet = list(d.stream(QUESTION, passages=PASSAGES, model=model, verify=False))
    assert {event.reply for event in quiet if isinstance(event, d.Read)} == {""}


def test_every_event_is_written_as_json_with_its_kind(model: Scripted) -> None:
    for event in d.stream(QUESTION, passages=PASSAGES, model=model):
        fields = json.loads(event.to_json())
        assert fields == event.to_dict()
        assert next(iter(fields)) == "kind"
        assert fields["kind"] == event.kind


def test_every_kind_of_public_event_is_in_the_reference() -> None:
    reference = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
    for kind in events.PUBLIC:
        assert f"| `{kind.__name__}` | `{kind.kind}` |" in reference.read_text(encoding="utf-8")


# --- how it ends ----------------------------------------------------------------------------------
def slow() -> Scripted:
    return Scripted(says, delay=60.0)


@pytest.mark.long
def test_a_stream_is_cancelled_from_another_thread_at_once() -> None:
    stream = d.stream(QUESTION, passages=PASSAGES, model=slow())
    threading.Timer(0.1, stream.cancel).start()
    began = time.perf_counter()
    with pytest.raises(d.Cancelled):
        list(stream)
    assert time.perf_counter() - began < 30
    assert next(stream, None) is None


@pytest.mark.long
def test_a_cancel_ends_a_stream_that_was_given_it_and_no_other() -> None:
    cancel = d.Cancel()
    first = d.stream(QUESTION, passages=PASSAGES, model=slow(), cancel=cancel)
    other = d.stream(QUESTION, passages=PASSAGES, model=Scripted(says), verify=False)
    cancel.cancel()
    with pytest.raises(d.Cancelled):
        list(first)
    assert kinds(other)[-1] == "cost"
    shared = d.Cancel()
    d.stream(QUESTION, passages=PASSAGES, model=slow(), cancel=shared).cancel()
    assert not shared.cancelled  # which others may listen to


@pytest.mark.long
def test_closing_or_leaving_or_dropping_a_stream_ends_its_calls() -> None:
    def ended(model: Scripted) -> bool:
        """Return whether its first call, which takes a minute, was given up."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if not any(thread.name == "disputatio stream" for thread in threading.enumerate()):
                return model.calls == []
            time.sleep(0.01)
        return False

    model = slow()
    closed = d.stream(QUESTION, passages=PASSAGES, model=model)
    assert next(closed).kind == "started"
    closed.close()
    assert next(closed, None) is None
    assert ended(model)

    with d.stream(QUESTION, passages=PASSAGES, model=model) as left:
        next(left)
    assert ended(model)

    dropped = d.stream(QUESTION, passages=PASSAGES, model=model)
    next(dropped)
    del dropped
    gc.collect()
    assert ended(model)


def test_what_is_wrong_is_raised_at_once_and_a_fault_where_it_happens() -> None:
    with pytest.raises(d.ConfigError, match="not both"):
        d.stream(QUESTION, passages=PASSAGES, index="x")
    with pytest.raises(d.ConfigError, match="unknown option"):
        d.stream(QUESTION, passages=PASSAGES, model=slow(), rounds=2)
    stream = d.stream(QUESTION, passages=PASSAGES, model=Scripted([ServerFault("down", 503)] * 3))
    assert [next(stream).kind, next(stream).kind] == ["started", "found"]
    assert {next(stream).kind, next(stream).kind} == {"evidence"}  # by words, and by the encoder
    with pytest.raises(ServerFault):
        next(stream)
    assert next(stream, None) is None


# --- awaited --------------------------------------------------------------------------------------
@pytest.mark.long
def test_an_answer_can_be_awaited_beside_others(model: Scripted) -> None:
    async def both() -> list[d.Answer]:
        asks = [d.aask(QUESTION, passages=PASSAGES, model=model) for _ in range(2)]
        return list(await asyncio.gather(*asks))

    assert [answer.answers for answer in asyncio.run(both())] == [("1887",), ("1887",)]


@pytest.mark.long
def test_a_cancelled_task_ends_its_question() -> None:
    model = slow()

    async def cancelled() -> float:
        task = asyncio.create_task(d.aask(QUESTION, passages=PASSAGES, model=model))
        await asyncio.sleep(0.2)
        began = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.perf_counter() - began

    assert asyncio.run(cancelled()) < 30
    assert model.calls == []


@pytest.mark.long
def test_an_awaited_question_takes_a_cancel_and_raises_faults() -> None:
    async def pressed() -> None:
        cancel = d.Cancel()
        asyncio.get_running_loop().call_later(0.1, cancel.cancel)
        await d.aask(QUESTION, passages=PASSAGES, model=slow(), cancel=cancel)

    with pytest.raises(d.Cancelled):
        asyncio.run(pressed())
    with pytest.raises(d.InputError, match="the question is empty"):
        asyncio.run(d.aask(" ", passages=PASSAGES, model=slow()))


@pytest.mark.long
def test_events_can_be_awaited(model: Scripted) -> None:
    async def collected(**how: Any) -> list[str]:
        return [event.kind async for event in d.astream(QUESTION, passages=PASSAGES, **how)]

    assert asyncio.run(collected(model=model)) == kinds(d.stream(QUESTION, passages=PASSAGES, model=model))
    with pytest.raises(ServerFault):
        asyncio.run(collected(model=Scripted([ServerFault("down", 503)] * 3)))
    with pytest.raises(d.ConfigError, match="not both"):
        asyncio.run(collected(model=model, index="x"))


@pytest.mark.long
def test_leaving_an_awaited_stream_ends_its_calls() -> None:
    model = slow()

    async def leaves() -> str:
        events = d.astream(QUESTION, passages=PASSAGES, model=model)
        async for event in events:
            await events.aclose()
            return event.kind
        return ""

    async def pressed() -> None:
        cancel = d.Cancel()
        asyncio.get_running_loop().call_later(0.1, cancel.cancel)
        async for _ in d.astream(QUESTION, passages=PASSAGES, model=slow(), cancel=cancel):
            pass

    assert asyncio.run(leaves()) == "started"
    with pytest.raises(d.Cancelled):
        asyncio.run(pressed())
    assert model.calls == []


def test_all_ways_to_ask_show_the_parameters_of_ask() -> None:
    parameters = inspect.signature(d.ask).parameters
    for way in (d.aask, d.stream, d.astream):
        assert inspect.signature(way).parameters == parameters
        assert way.__doc__ != d.ask.__doc__
    assert inspect.iscoroutinefunction(d.aask)
    assert inspect.signature(d.stream).return_annotation == "Stream"
    assert "rounds" in inspect.signature(madam_rag).parameters  # an option, which `**options` takes
