"""Calling a model: results are reported as they come, and a call can be cancelled from any thread."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from disputatio import calling
from disputatio.errors import BatchFault, Cancelled, Malformed, ServerFault
from disputatio.kit import Kit, chat
from disputatio.llm.scripted import Scripted
from disputatio.protocols import LLM, Cancel
from disputatio.types import Capabilities, Choice, Completion, Passage, Prompt, Sampling, Usage

PROMPTS = [chat("Be brief.", text) for text in ("a", "b", "c")]


class Plain:
    """A model that ignores `on_done` and `cancel`."""

    name = "plain"

    def __init__(self, missing: int = 0) -> None:
        self.batches: list[int] = []
        self._missing = missing

    def capabilities(self) -> Capabilities:
        return Capabilities(engine="plain", logprobs=True, max_options=9, schema=True)

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
        self.batches.append(len(prompts))
        texts = [prompt.messages[-1].content.upper() for prompt in prompts][self._missing :]
        return [Completion(text=text, finish_reason="stop", usage=Usage(calls=1)) for text in texts]

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str], **_: object) -> list[Choice]:
        even = tuple(-1.0 for _ in options)
        unbounded = tuple(False for _ in options)
        choice = Choice(options=tuple(options), logprobs=even, bounded=unbounded, usage=Usage(calls=1))
        return [choice] * len(prompts)


def test_a_model_that_ignores_on_done_is_reported_when_its_batch_is_back() -> None:
    model, reported = Plain(), list[tuple[int, str]]()
    assert isinstance(model, LLM)
    results = calling.complete(
        model, PROMPTS, Sampling(), lambda index, done: reported.append((index, done.text)), Cancel()
    )
    assert [result.text for result in results] == ["A", "B", "C"]
    assert reported == [(0, "A"), (1, "B"), (2, "C")]
    assert model.batches == [3]


def test_a_model_that_reports_is_reported_while_its_batch_runs() -> None:
    model, waiting = Scripted(str), list[int]()
    calling.complete(model, PROMPTS, Sampling(), lambda *_: waiting.append(len(model.calls)), Cancel())
    calling.choose(model, PROMPTS, ["Yes"], lambda *_: waiting.append(len(model.calls)), Cancel())
    assert waiting == [1, 2, 3, 4, 5, 6]


def test_a_subclass_that_overrides_complete_and_does_not_report_is_reported_once() -> None:
    class Shouting(Scripted):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
            return Plain().complete(prompts, sampling)

    model = Shouting(["from the script"])
    reported: list[int] = []
    [result] = calling.complete(model, PROMPTS[:1], Sampling(), lambda at, _: reported.append(at), Cancel())
    assert (result.text, reported) == ("A", [0])


def test_what_succeeded_in_a_batch_that_failed_in_part_is_reported_and_costs() -> None:
    class Failing(Plain):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
            [good] = super().complete(prompts[:1], sampling)
            raise BatchFault([good, None, None], [ServerFault("down", 503)])

    kit = Kit(model=Failing())
    with pytest.raises(BatchFault):
        kit.complete("reader", PROMPTS)
    assert [(event["call"], event["calls"]) for event in kit.trace.records()] == [(1, 3)]
    assert kit.trace.usage().calls == 1


def test_a_model_that_answers_too_little_is_not_trusted() -> None:
    with pytest.raises(Malformed, match="3 calls were made and 2 answered"):
        calling.complete(Plain(missing=1), PROMPTS, Sampling(), lambda *_: None, Cancel())


def test_nothing_is_called_for_a_question_that_was_cancelled() -> None:
    model, cancel = Scripted(str), Cancel()
    kit = Kit(model=model, cancel=cancel)
    cancel.cancel()
    for call in (
        lambda: kit.complete("reader", PROMPTS),
        lambda: kit.choose("judge", PROMPTS, ["Yes"]),
        lambda: kit.complete_each("reader", [(PROMPTS[0], Sampling())]),
        lambda: kit.search("town"),
    ):
        with pytest.raises(Cancelled, match="was cancelled"):
            call()
    assert model.calls == []


def test_a_batch_that_runs_is_cancelled_from_another_thread() -> None:
    cancel = Cancel()
    kit = Kit(model=Scripted(str, delay=60.0), cancel=cancel)
    threading.Timer(0.05, cancel.cancel).start()
    with pytest.raises(Cancelled):
        kit.complete("reader", PROMPTS)
    assert kit.trace.usage() == Usage()


def test_results_that_come_back_after_the_cancel_are_not_reported() -> None:
    cancel = Cancel()

    class Late(Plain):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
            cancel.cancel()
            return super().complete(prompts, sampling)

    reported: list[int] = []
    with pytest.raises(Cancelled):
        calling.complete(Late(), PROMPTS, Sampling(), lambda index, _: reported.append(index), cancel)
    assert reported == []


def test_a_cancel_calls_back_once_within_its_context_or_at_once_where_it_came_before() -> None:
    cancel, calls = Cancel(), list[str]()
    with cancel.calling(lambda: calls.append("over")):
        pass
    with cancel.calling(lambda: calls.append("within")):
        cancel.cancel()
        cancel.cancel()
    with cancel.calling(lambda: calls.append("late")):
        assert cancel.cancelled
    assert calls == ["within", "late"]


def test_each_call_is_traced_with_its_place_in_the_batch_and_its_passages() -> None:
    kit = Kit(model=Scripted(str))
    first, second, third = (Passage(id=f"p{n}", text="Text.") for n in (1, 2, 3))
    kit.complete("reader", PROMPTS, passages=[[first], [second], [first, third]])
    assert [(event["call"], event["calls"], event["passages"]) for event in kit.trace.records()] == [
        (1, 3, ["p1"]),
        (2, 3, ["p2"]),
        (3, 3, ["p1", "p3"]),
    ]


@pytest.mark.parametrize("value", [float("nan"), 0.5, float("inf")])
def test_log_probabilities_that_are_none_are_a_fault_and_choose_nothing(value: float) -> None:
    class Liar(Plain):
        def choose(self, prompts: Sequence[Prompt], options: Sequence[str], **_: object) -> list[Choice]:
            choices = super().choose(prompts, options)
            return [replace(choice, logprobs=(value, *choice.logprobs[1:])) for choice in choices]

    with pytest.raises(Malformed, match="log-probabilities that are none"):
        Kit(model=Liar()).choose("reader", PROMPTS, ["a", "b"])
