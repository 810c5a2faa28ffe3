"""MAIN-RAG: passages are judged alone, and the answer is read from those that the judge keeps."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from disputatio.errors import NoLogprobs, ReplyError
from disputatio.kit import Kit
from disputatio.llm.scripted import Line
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.strategies.main_rag import SYSTEM, main_rag
from disputatio.types import Answer, Passage
from tests.strategies.desk import Desk, found
from tests.strategies.panel import concluded

TOWER = Passage(id="t", source="a.example", text="The tower was built in 1890 by Ola Berg.")
OTHER = Passage(id="o", source="b.example", text="A plaque says that the tower was built in 1890.")
FISH = Passage(id="f", source="c.example", text="Fish of the river are many.")
LINES = {
    "Berg": found("The tower was built in 1890."),
    "plaque": found("The tower was built in 1890."),
    "Fish": found("Fish of the river are many."),
}


class Reading(Desk):
    """A desk whose last agent reads passages and gives an answer in brief."""

    last: Line = concluded("1890", explanation="The tower was built in 1890.")

    def _say(self, text: str) -> Line:
        return self.last if text.startswith(SYSTEM) else super()._say(text)

    def read(self) -> list[str]:
        """Return what the last agent was given."""
        return [call.prompt.messages[-1].content for call in self.calls if call.text.startswith(SYSTEM)]


def answered(desk: Desk, passages: Sequence[Passage], **options: float) -> Answer:
    return main_rag("When was the tower built?", Kit(model=desk, retriever=InMemory(passages)), **options)  # type: ignore[arg-type]


def test_it_is_three_batches_and_the_best_passage_is_read_first() -> None:
    desk = Reading(LINES, relevant={"Berg": 0.7, "plaque": 0.95, "Fish": 0.05})
    answer = answered(desk, [TOWER, FISH, OTHER])
    assert [size for _, size in desk.batches] == [3, 3, 1]
    [prompt] = desk.read()
    assert prompt.index("plaque") < prompt.index("Berg")
    assert "Fish" not in prompt
    assert (answer.answers, [passage.id for passage in answer.passages]) == (("1890",), ["o", "t"])


def test_a_rejected_passage_is_not_cited_for_the_answer() -> None:
    liar = Passage(id="l", text="Some say 1890 about the fish.")
    desk = Reading({**LINES, "Some": found("Some say 1890 about the fish.")}, relevant={"Some": 0.01})
    kit = Kit(model=desk, retriever=InMemory([TOWER, OTHER, liar]))
    answer = ask("When was the tower built?", kit=kit, strategy="main_rag")
    assert {citation.passage for claim in answer.claims for citation in claim.citations} == {"t", "o"}


@pytest.mark.parametrize(("relevant", "read"), [(0.4, 0), (0.6, 1)])
def test_passages_that_are_all_irrelevant_are_no_evidence_though_some_are_kept(
    relevant: float, read: int
) -> None:
    desk = Reading(LINES, relevant={"": relevant})
    answer = answered(desk, [TOWER, FISH])
    assert len(desk.read()) == read
    assert answer.abstained == (None if read else "no_evidence")


def test_a_last_reply_that_cannot_be_read_twice_is_an_error() -> None:
    desk = Reading(LINES)
    desk.last = "1890"
    with pytest.raises(ReplyError):
        answered(desk, [TOWER])


def test_without_log_probabilities_it_says_what_to_do_or_votes() -> None:
    with pytest.raises(NoLogprobs, match="--role judge=MODEL"):
        answered(Reading(LINES, logprobs=False), [TOWER])
