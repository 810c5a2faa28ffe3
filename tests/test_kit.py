"""The kit: every call of a model goes through one place that casts, batches, counts and traces it."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import pytest

from disputatio.errors import BatchFault, Malformed, MissingPart, ServerFault
from disputatio.events import Read
from disputatio.kit import Kit, chat
from disputatio.llm.scripted import Scripted
from disputatio.store.in_memory import InMemory
from disputatio.trace import Trace, prompt_hash
from disputatio.types import Completion, Hit, Message, Passage, Prompt, Sampling, Source, Usage

PASSAGES = [Passage(id=f"p{n}", source=f"s{n}", text=f"Text number {n}.") for n in (1, 2, 3)]
ASK = chat("Be brief.", "Which town?")


def test_a_chat_has_what_stays_the_same_first() -> None:
    assert ASK.messages == (
        Message(role="system", content="Be brief."),
        Message(role="user", content="Which town?"),
    )


def test_a_role_is_played_by_its_own_model_and_others_by_the_kits() -> None:
    plain, judge = Scripted(["plain"], name="plain"), Scripted(["judge"], name="judge")
    kit = Kit(model=plain, roles={"judge": judge})
    assert kit.cast("judge") is judge
    assert kit.cast("reader") is plain
    assert kit.complete("judge", [ASK])[0].text == "judge"
    assert kit.complete("reader", [ASK])[0].text == "plain"
    assert [event["model"] for event in kit.trace.records()] == ["judge", "plain"]


def test_prompts_with_a_sampling_of_their_own_are_asked_together() -> None:
    together = threading.Barrier(3, timeout=30)

    class Engine(Scripted):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
            together.wait()  # which only three calls at once pass
            usage = Usage(calls=1, completion_tokens=sampling.seed, seconds=3.0)
            return [Completion(text=f"{sampling.seed}", finish_reason="stop", usage=usage)]

    kit = Kit(model=Engine([]), trace=Trace(keep_text=True))
    done = kit.complete_each("verifier", [(ASK, Sampling(seed=seed)) for seed in (5, 7, 6)])
    assert [one.text for one in done] == ["5", "7", "6"]
    assert {event["call"]: event["reply"] for event in kit.trace.records()} == {1: "5", 2: "7", 3: "6"}
    spent = kit.trace.usage()
    assert (spent.calls, spent.completion_tokens, spent.seconds) == (3, 18, 3.0)  # they shared their time
    assert kit.complete_each("verifier", []) == []


def test_a_fault_among_prompts_with_a_way_of_their_own_is_raised() -> None:
    kit = Kit(model=Scripted([ServerFault("down", 503)]))
    with pytest.raises(ServerFault):
        kit.complete_each("verifier", [(ASK, Sampling())])


def test_a_batch_is_one_call_of_the_engine_in_the_order_of_the_prompts() -> None:
    batches: list[int] = []

    class Counting(Scripted):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
            batches.append(len(prompts))
            return super().complete(prompts, sampling)

    kit = Kit(model=Counting(str.upper))
    prompts = [chat("s", one) for one in ("a", "b", "c")]
    assert [one.text for one in kit.complete("reader", prompts)] == ["S\nA", "S\nB", "S\nC"]
    assert batches == [3]


def test_no_prompts_are_no_call() -> None:
    model = Scripted([])
    kit = Kit(model=model)
    assert kit.complete("reader", []) == []
    assert kit.choose("judge", [], ("Yes", "No")) == []
    assert model.calls == []
    assert kit.trace.records() == []


def test_sampling_reaches_the_model_and_is_greedy_unless_given() -> None:
    model = Scripted(["a", "b"])
    kit = Kit(model=model)
    kit.complete("reader", [ASK])
    kit.complete("reader", [ASK], Sampling(max_tokens=7))
    assert model.calls[0].sampling == Sampling()
    assert Sampling().temperature == 0
    assert model.calls[1].sampling == Sampling(max_tokens=7)


def test_every_call_is_counted_and_traced_by_its_hash_alone() -> None:
    kit = Kit(model=Scripted(["Broken Bow"], name="m"))
    kit.complete("reader", [ASK])
    kit.choose("judge", [ASK], ("Yes", "No"))
    assert kit.trace.usage().calls == 2
    first, second = kit.trace.records()
    assert (first["event"], first["role"], first["model"]) == ("complete", "reader", "m")
    assert (second["event"], second["role"]) == ("choose", "judge")
    assert first["prompt_hash"] == second["prompt_hash"] == prompt_hash(ASK)
    assert (first["prompt_tokens"], first["completion_tokens"]) == (4, 2)
    assert first["journalled"] is False
    assert "Which town" not in str(kit.trace.records())
    assert "Broken Bow" not in str(kit.trace.records())


def test_prompts_and_replies_are_kept_on_request() -> None:
    model = Scripted(["Broken Bow"], choices={"town": {"Yes": 0.9, "No": 0.1}})
    kit = Kit(model=model, trace=Trace(keep_text=True))
    kit.complete("reader", [ASK])
    kit.choose("judge", [ASK], ("Yes", "No"))
    said, chosen = kit.trace.records()
    assert said["prompt"][1] == {"role": "user", "content": "Which town?"}
    assert said["reply"] == "Broken Bow"
    assert math.isclose(chosen["reply"]["Yes"], math.log(0.9))


def test_a_fault_of_the_model_is_passed_on() -> None:
    with pytest.raises(ServerFault):
        Kit(model=Scripted([ServerFault("down", 500)])).complete("reader", [ASK])
    with pytest.raises(BatchFault):
        Kit(model=Scripted(["a", ServerFault("down", 500)])).complete("reader", [ASK, ASK])


def test_an_engine_that_returns_too_few_words_is_not_trusted() -> None:
    class Short(Scripted):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
            return super().complete(prompts, sampling)[:-1]

    with pytest.raises(Malformed, match="2 calls were made and 1 answered"):
        Kit(model=Short(["a", "b"])).complete("reader", [ASK, ASK])


def test_another_question_gets_the_same_parts_and_a_trace_of_its_own() -> None:
    kit = Kit(model=Scripted(["a", "b"]), sources={"s": Source(name="s", reliability=0.7)})
    other = kit.with_trace(Trace())
    other.complete("reader", [ASK])
    assert (other.model, other.reliabilities) == (kit.model, kit.reliabilities)
    assert kit.trace.records() == []
    assert len(other.trace.records()) == 1


def test_two_kits_share_no_trace_by_default() -> None:
    assert Kit(model=Scripted([])).trace is not Kit(model=Scripted([])).trace


def test_a_search_without_anything_to_search_names_what_is_missing() -> None:
    with pytest.raises(MissingPart, match=r"--index|--passages"):
        Kit(model=Scripted([])).search("ferry")


def test_a_search_is_traced_and_passes_its_limits_on() -> None:
    kit = Kit(model=Scripted([]), retriever=InMemory(PASSAGES))
    hits = kit.search("number", k=3, sources={"s1", "s2"}, exclude={"p1"})
    assert [hit.passage.id for hit in hits] == ["p2"]
    assert kit.trace.records()[0]["query"] == "number"
    assert kit.trace.records()[0]["hits"] == ["p2"]


def test_passages_in_hand_are_read_in_their_order() -> None:
    kit = Kit(model=Scripted([]), retriever=InMemory(PASSAGES))
    assert [one.id for one in kit.passages("number 3")] == ["p1", "p2", "p3"]
    assert [one.id for one in kit.passages("number 3", k=1)] == ["p3"]


def test_what_a_retriever_finds_against_the_options_is_dropped() -> None:
    class Careless:
        def search(self, query: str, *, k: int | None = None, **_: object) -> list[Hit]:
            texts = [("a", "x"), ("b", "x"), ("c", "x"), ("d", "y"), ("e", ""), ("f", "")]
            return [Hit(passage=Passage(id=i, source=s, text=i), score=1.0) for i, s in texts]

    kit = Kit(model=Scripted([]), retriever=Careless())
    assert [hit.passage.id for hit in kit.search("?", exclude=("a", "d"))] == ["b", "c", "e", "f"]
    assert [hit.passage.id for hit in kit.search("?", sources=("y", ""))] == ["d", "e", "f"]
    assert [hit.passage.id for hit in kit.search("?", per_source=2)] == ["a", "b", "d", "e", "f"]
    # What is excluded takes no place of its source.
    found = kit.search("?", per_source=2, exclude=("a",))
    assert [hit.passage.id for hit in found] == ["b", "c", "d", "e", "f"]


def test_the_calls_of_a_batch_are_counted_apart_from_those_of_an_earlier_one() -> None:
    kit = Kit(model=Scripted(lambda _: "yes"))
    for size in (3, 2, 1):
        kit.complete("reader", [chat("", str(number)) for number in range(size)])
    done = [(event.done, event.calls) for event in kit.trace.events if isinstance(event, Read)]
    assert done == [(1, 3), (2, 3), (3, 3), (1, 2), (2, 2), (1, 1)]
