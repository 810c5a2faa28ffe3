"""The trace of a question: its events in order, their records in a file, and the cost."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from disputatio import events
from disputatio.events import (
    Answered,
    Claimed,
    Cost,
    Event,
    Found,
    ModelCall,
    Read,
    Round,
    Skipped,
    SourcesAsked,
    Started,
    TermLookedUp,
)
from disputatio.trace import Pace, Speeds, Trace, prompt_hash, total_usage
from disputatio.types import Message, Prompt, Usage

USAGE = Usage(calls=1, prompt_tokens=10, cached_tokens=4, completion_tokens=5, seconds=0.25)


def prompt(*contents: str) -> Prompt:
    return Prompt(messages=tuple(Message(role="user", content=content) for content in contents))


def test_the_cost_of_nothing_is_nothing() -> None:
    assert total_usage([]) == Usage()


def test_every_part_of_a_cost_is_summed() -> None:
    total = total_usage([USAGE, USAGE])
    assert total == Usage(calls=2, prompt_tokens=20, cached_tokens=8, completion_tokens=10, seconds=0.5)


def test_core_seconds_are_those_of_the_calls_that_tell_theirs() -> None:
    local = replace(USAGE, core_seconds=1.25)
    assert total_usage([local, USAGE, local]).core_seconds == 2.5
    assert total_usage([USAGE]).core_seconds is None


def test_totals_do_not_depend_on_the_order_in_which_calls_end() -> None:
    calls = [replace(USAGE, core_seconds=cores) for cores in (0.519, 1.6464, 2.1091)]
    totals = {total_usage(order) for order in permutations(calls)}
    assert [total.core_seconds for total in totals] == [4.275]


def test_a_prompt_is_named_by_roles_and_contents() -> None:
    names = {
        prompt_hash(prompt("a", "b")),
        prompt_hash(prompt("ab")),
        prompt_hash(prompt("b", "a")),
        prompt_hash(Prompt(messages=(Message(role="system", content="ab"),))),
    }
    assert len(names) == 4
    assert prompt_hash(prompt("a", "b")) == prompt_hash(prompt("a", "b"))


def found(query: str) -> Found:
    return Found(query=query, passages=("p1",), sources=("census.example",))


def test_events_keep_their_order_and_are_stamped_with_the_time_since_the_start() -> None:
    trace = Trace()
    trace.emit(found("ferry"))
    trace.emit(Round(number=1))
    first, last = trace.log
    assert [first.event, last.event] == trace.events == [found("ferry"), Round(number=1)]
    assert 0 <= first.at <= last.at


def test_a_listener_is_called_with_each_event_as_it_happens() -> None:
    seen: list[Event] = []
    trace = Trace(listener=seen.append)
    trace.emit(Round(number=1))
    assert seen == [Round(number=1)]
    trace.emit(Round(number=2))
    assert len(seen) == 2


def test_a_listener_may_write_to_the_trace_it_listens_to() -> None:
    trace = Trace()

    def echo(event: Event) -> None:
        if isinstance(event, Round):
            trace.emit(found("again"))

    trace.listener = echo
    trace.emit(Round(number=1))
    assert trace.events == [Round(number=1), found("again")]


def test_every_event_has_a_name_of_its_own_in_a_trace_file() -> None:
    named = [event for event in every(Event) if event not in (Read, Skipped, Answered, Claimed, Cost)]
    names = [event.logged_as for event in named if event not in (ModelCall, SourcesAsked, TermLookedUp)]
    assert "" not in names
    assert len(set(names)) == len(names)


def every(kind: type[Event]) -> list[type[Event]]:
    """Return the subclasses of an event, and theirs, that `disputatio.events` holds."""
    below = [found for child in kind.__subclasses__() for found in (child, *every(child))]
    return [event for event in below if getattr(events, event.__name__, None) is event]


def test_a_record_has_the_time_the_name_and_the_fields_of_an_event() -> None:
    trace = Trace()
    trace.emit(found("ferry"))
    trace.emit(SourcesAsked(number=2, asked=4, answered=3))
    search, turn = trace.records()
    assert search == {
        "at": search["at"],
        "event": "search",
        "query": "ferry",
        "hits": ["p1"],
        "sources": ["census.example"],
        "elsewhere": False,
    }
    assert (turn["event"], turn["round"], turn["asked"], turn["converged"]) == ("round", 2, 4, False)


def test_a_subclass_of_a_public_event_is_shown_as_the_public_one() -> None:
    event = SourcesAsked(number=2, asked=4, answered=3)
    assert event.to_dict() == Round(number=2).to_dict()


def test_threads_lose_no_event_and_no_cost() -> None:
    trace = Trace()

    def work() -> None:
        for _ in range(200):
            trace.emit(Round(number=1))
            trace.spend([USAGE])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(trace.events) == 800
    assert trace.usage().calls == 800


def test_a_trace_is_written_as_json_lines(tmp_path: Path) -> None:
    trace = Trace()
    trace.emit(found("Où est 人口?"))
    trace.emit(Round(number=1))
    trace.write(tmp_path / "trace.jsonl")
    text = (tmp_path / "trace.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in text.splitlines()] == trace.records()
    assert "人口" in text
    assert [path.name for path in tmp_path.iterdir()] == ["trace.jsonl"]


def test_half_a_character_in_an_event_does_not_lose_the_trace(tmp_path: Path) -> None:
    trace = Trace()
    trace.emit(found("\ud800 cut"))
    trace.write(tmp_path / "trace.jsonl")
    line = (tmp_path / "trace.jsonl").read_text(encoding="utf-8")
    assert json.loads(line)["query"] == "\ud800 cut"


def test_a_trace_that_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("before\n", encoding="utf-8")
    trace = Trace()
    trace.emit(Started(question="?", strategy="odd", model="m", options={"thing": object()}))
    with pytest.raises(TypeError):
        trace.write(path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        Trace().write(tmp_path / "folder")
    assert path.read_text(encoding="utf-8") == "before\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "trace.jsonl"]


# --- the time that is left ------------------------------------------------------------------------
class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def call(
    pace: Pace, clock: Clock, batch: int, index: int, *, cores: float, new: int, written: int, load: float
) -> None:
    """Let a call of a batch end, which takes so many core-seconds and `load` times as many seconds."""
    clock.now += cores * load
    usage = Usage(
        calls=1,
        prompt_tokens=new + 50,
        cached_tokens=50,
        completion_tokens=written,
        seconds=cores * load,
        core_seconds=cores,
    )
    pace.note(batch, index, usage, journalled=False)


def asked(speeds: Speeds, *, loading: float = 0.0, load: float = 1.0) -> list[float | None]:
    """Let a question read four passages and judge one claim, and return what was estimated on the way."""
    clock = Clock()
    pace = Pace("disputation", speeds, clock=clock)
    pace.begin(1, "m", "reader", [400] * 4)
    estimates = [pace.estimate_remaining()]
    clock.now += loading
    for index in range(4):
        call(pace, clock, 1, index, cores=2.5, new=100, written=20, load=load)
        estimates.append(pace.estimate_remaining())
    pace.begin(2, "m", "judge", [200])
    call(pace, clock, 2, 0, cores=2.0, new=50, written=1, load=load)
    pace.end()
    return [*estimates, pace.estimate_remaining()]


def test_nothing_is_estimated_of_a_model_that_was_never_called() -> None:
    first, *_ = asked(Speeds())
    assert first is None


def test_the_time_that_is_left_follows_the_speed_of_earlier_calls_and_what_comes_after_the_reading() -> None:
    speeds = Speeds()
    asked(speeds)
    first, *reading, last = asked(speeds)
    assert first == pytest.approx(12.0, rel=0.25)
    assert reading == [pytest.approx(left, abs=0.75) for left in (9.5, 7.0, 4.5, 2.0)]
    assert last == 0


def test_the_estimate_follows_a_load_that_grows_or_falls_within_a_batch() -> None:
    speeds = Speeds()
    for _ in range(3):
        asked(speeds)
    asked(speeds, load=4.0)
    first, *_ = asked(speeds, load=4.0)
    assert first == pytest.approx(4 * 12.0, rel=0.25)
    first, *_ = asked(speeds)
    assert first == pytest.approx(4 * 12.0, rel=0.25), "what was not noticed yet"
    first, *_ = asked(speeds)
    assert first == pytest.approx(12.0, rel=0.25)


def test_speeds_are_kept_with_the_time_of_loading_which_the_first_call_of_a_process_takes(
    tmp_path: Path,
) -> None:
    file = tmp_path / "speeds.json"
    asked(Speeds(file), loading=8.0)
    anew = Speeds(file)
    assert anew.loading == {"m": 8.0}
    assert asked(anew, loading=8.0)[0] == pytest.approx(20.0, rel=0.2)
    assert asked(anew)[0] == pytest.approx(12.0, rel=0.25)


@pytest.mark.parametrize("content", ["", "[]", '{"batches": {"m": [["r", -1]]}}', '{"batches": 1}', "\xff"])
def test_a_file_of_speeds_that_cannot_be_read_is_as_none(tmp_path: Path, content: str) -> None:
    file = tmp_path / "speeds.json"
    file.write_bytes(content.encode("latin-1"))
    assert asked(Speeds(file))[0] is None


def test_speeds_that_could_not_be_kept_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    Speeds(tmp_path / "speeds.json").save()
    assert not list(tmp_path.iterdir())


def test_replies_of_the_journal_tell_nothing_of_speed() -> None:
    speeds = Speeds()
    pace = Pace("disputation", speeds)
    pace.begin(1, "m", "reader", [400])
    pace.note(1, 0, USAGE, journalled=True)
    pace.end()
    assert (speeds.batches, speeds.questions) == ({}, {})
