"""The loop of MADAM-RAG's release, as it is asked beside others: a call at a time, replies as they stand."""

from __future__ import annotations

import doctest

from bench.verdict import readers, released_loop
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.store.in_memory import InMemory
from disputatio.types import Answer, Passage

FIRST = ["Answer: 1921. Explanation: a.", "Answer: 1948. Explanation: b."]
PASSAGES = [Passage(text="Opened in 1921."), Passage(text="Opened in 1948.")]


def debate(*replies: str) -> tuple[Answer, list[str]]:
    """Return the answer, and the prompts that it took."""
    model = Scripted(list(replies))
    answer = released_loop.released_loop("When?", Kit(model=model, retriever=InMemory(PASSAGES)))
    return answer, [call.text for call in model.calls]


def test_the_loop_ends_where_all_keep_their_answers_with_the_aggregate_of_the_round_before() -> None:
    kept = ["Answer: in 1921. Explanation: c.", "Explanation: it is gone"]  # an empty one counts as kept
    answer, prompts = debate(*FIRST, 'All Correct Answers: ["1921"]. Explanation: d.', *kept)
    assert (answer.answers, answer.rounds, len(prompts)) == (("1921",), 2, 5)
    assert (
        "Agent 2: Answer: 1948. Explanation: b." in prompts[3]
    )  # the first agent hears the second, not itself
    assert "Agent 1: Answer: 1921" not in prompts[3]


def test_the_loop_ends_after_three_rounds_with_their_last_aggregate() -> None:
    moved = ["Answer: 1948. Explanation: c.", "Answer: 1921. Explanation: c."]
    rounds = [*FIRST, "Answers: [1]", *moved, "Answers: [2]", *FIRST, 'Answers: ["3"]']
    answer, prompts = debate(*rounds)
    assert (answer.answers, answer.rounds, len(prompts)) == (("3",), 3, 9)


def test_no_two_prompts_begin_alike() -> None:
    _, prompts = debate(*FIRST, "Answers: [1]", *FIRST)
    assert len({prompt[:10] for prompt in prompts}) == 5


def test_the_costs_are_compared_over_the_rows_that_both_have_answered() -> None:
    def row(arm: str, number: int, cores: float | None) -> dict[str, object]:
        cost = {"tokens": 100, "calls": 1, "core_seconds": cores, "em": 0.0, "right": 0.0, "fault": ""}
        return {"corpus": "ramdocs", "arm": arm, "row": number, **cost}

    rows = [
        row("released", 1, 90.0),
        row("released", 2, 30.0),
        row("trained", 1, 3.0),
        row("trained", 3, 1.0),
    ]
    assert "| trained | 1 | 0 |" in (shown := "\n".join(readers.costs(rows)))
    assert "30.0 [30.0, 30.0] times" in shown
    assert not list(readers.costs([row("released", 1, None), row("trained", 1, 3.0)]))


def test_the_examples_in_the_docstrings_hold() -> None:
    for module in (released_loop, readers):
        assert not doctest.testmod(module).failed
