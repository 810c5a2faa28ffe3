"""RobustRAG: isolated answers, keywords that enough of them share, and what a liar cannot change."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence

import pytest

from disputatio.agents.reader import READER_SYSTEM
from disputatio.errors import InputError, NoLogprobs
from disputatio.kit import Kit
from disputatio.llm.scripted import Line, Odds, Scripted
from disputatio.store.in_memory import InMemory
from disputatio.strategies.robust_rag import most_likely, robust_rag
from disputatio.types import Answer, Passage
from tests.strategies.panel import concluded, said

QUESTION = "Who designed the lighthouse?"
TRUE, LIE = "Ingrid Vasmer", "Barnaby Croll"


class Readers(Scripted):
    """Each passage's reader says what stands in it after "designed by"; the aggregator says its line."""

    def __init__(self, aggregate: Line = "", odds: Mapping[str, Odds] | None = None) -> None:
        self.aggregate = aggregate
        super().__init__(self._say, choices=odds)

    def _say(self, text: str) -> Line:
        if not text.startswith(READER_SYSTEM):
            return self.aggregate
        shown_text = text.removeprefix(READER_SYSTEM).partition("Plans: by ")[2].partition(".")[0]
        return said(shown_text or "unknown")


def passages(*answers: str, owner: str = "") -> list[Passage]:
    return [
        Passage(
            id=f"p{n}",
            source=f"s{n}",
            owner=owner,
            text=f"Entry {n}. Plans: by {answer}." if answer else f"Entry {n}.",
        )
        for n, answer in enumerate(answers)
    ]


def answered(given: Sequence[Passage], model: Readers | None = None, **options: object) -> Answer:
    parts = Kit(model=model or Readers(), retriever=InMemory(given))
    return robust_rag(QUESTION, parts, **options)  # type: ignore[arg-type]


def test_a_keyword_that_too_few_tell_does_not_reach_the_answer() -> None:
    model = Readers()
    answer = answered(passages(TRUE, TRUE, TRUE, TRUE, LIE), model)
    assert answer.answers == (TRUE,)
    assert len(model.calls) == 5  # the kept keywords are all of one phrase, so nobody is asked
    assert [position.verdict for position in answer.conflict.positions] == []  # left to the audit


def test_an_answer_is_worded_as_it_was_told() -> None:
    read_passages = passages("Vasmer", "Ingrid Vasmer", "Mrs Vasmer")
    assert answered(read_passages).answers == ("Vasmer",)


def test_several_phrases_are_put_to_the_aggregator_as_keywords_alone() -> None:
    model = Readers(concluded(TRUE, "Somebody Else"))
    answer = answered(passages(TRUE, TRUE, TRUE, LIE, LIE, LIE), model)
    assert answer.answers == (TRUE,)
    prompt_text = model.calls[-1].prompt.messages[-1].content
    assert "barnaby croll, ingrid vasmer" in prompt_text
    assert "Entry" not in prompt_text


def test_the_aggregator_reads_the_same_whatever_else_was_told() -> None:
    """Keep more than the kept keywords out of the prompt: the answer is made of these alone."""
    prompts = []
    for extra in (("Someone New",), ("", LIE), (TRUE, "x", "y")):
        model = Readers(concluded(TRUE))
        answered(passages(TRUE, TRUE, TRUE, LIE, LIE, LIE, *extra), model)
        prompts.append(model.calls[-1].prompt)
    assert prompts[0] == prompts[1] == prompts[2]


@pytest.mark.parametrize(
    ("told", "abstained"), [((), "no_evidence"), (("", ""), "no_evidence"), ((TRUE, LIE, "", ""), "conflict")]
)
def test_where_no_keyword_is_told_enough_it_abstains_and_certifies_nothing(
    told: tuple[str, ...], abstained: str
) -> None:
    answer = answered(passages(*told))
    assert (answer.answers, answer.abstained, answer.certificate) == ((), abstained, None)


def test_the_threshold_may_be_the_smaller_of_the_two_as_in_the_released_code() -> None:
    read_passages = passages(TRUE, TRUE, "", "", "")
    assert answered(read_passages).answers == ()
    assert answered(read_passages, threshold="min").answers == (TRUE,)


@pytest.mark.parametrize("options", [{"alpha": 1.5}, {"alpha": -0.1}, {"beta": 0}])
def test_thresholds_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="alpha lies between 0 and 1"):
        answered(passages(TRUE), Readers(), **options)


@pytest.mark.slow
def test_no_corruption_of_so_many_passages_changes_the_answer() -> None:
    honest = [TRUE] * 7
    answer = answered(passages(*honest), alpha=0.5)
    assert answer.certificate is not None
    k = answer.certificate.corrupted
    assert k == 3
    for which in itertools.combinations(range(len(honest)), k):
        for lies in itertools.product([LIE, "Ingrid Croll", ""], repeat=k):
            tampered = [*honest]
            for at, lie in zip(which, lies, strict=True):
                tampered[at] = lie
            assert answered(passages(*tampered), alpha=0.5).answers == (TRUE,)


def test_the_certificate_counts_owners_that_hold_more_passages_than_it_survives() -> None:
    answer = answered(passages(TRUE, TRUE, TRUE, TRUE, TRUE))
    assert answer.certificate is not None
    assert (answer.certificate.corrupted, answer.certificate.owners, answer.certificate.voters) == (2, 3, 5)
    certificate = answered(passages(TRUE, TRUE, TRUE, TRUE, TRUE, owner="Mill")).certificate
    assert certificate is not None
    assert (certificate.owners, certificate.names) == (1, ("Mill",))


# --- decoding -----------------------------------------------------------------------------------
SPLIT = (TRUE, TRUE, TRUE, LIE, LIE, LIE, LIE)


def test_decoding_sums_the_probabilities_that_passages_give_the_phrases() -> None:
    odds: dict[str, Odds] = {
        f"by {TRUE}": {"B": 0.98, "A": 0.01},
        f"by {LIE}": {"A": 0.4, "B": 0.3, "C": 0.3},
    }
    model = Readers(odds=odds)
    answer = answered(passages(*SPLIT), model, aggregation="decoding")
    assert answer.answers == (TRUE,)
    assert [call.options for call in model.calls if call.options] == [("A", "B", "C")] * 7


def test_decoding_without_log_probabilities_is_a_fault_of_the_model() -> None:
    model = Readers(odds={"by": NoLogprobs("this model gives no log-probabilities")})
    with pytest.raises(NoLogprobs, match="no log-probabilities"):
        answered(passages(*SPLIT), model, aggregation="decoding")


def test_phrases_that_lead_by_no_more_than_eta_are_a_conflict() -> None:
    even: dict[str, Odds] = {"by": {"A": 0.5, "B": 0.5}}
    answer = answered(passages(*SPLIT), Readers(odds=even), aggregation="decoding")
    assert (answer.answers, answer.abstained) == ((), "conflict")


def test_what_decoding_survives_is_what_trying_every_lie_finds() -> None:
    chances = [[0.9, 0.1], [0.7, 0.2], [0.8, 0.0], [0.3, 0.6], [1.0, 0.0], [0.9, 0.0]]
    silent = 1
    (best,), safe = most_likely(["a", "b"], chances, 0.0, len(chances) + silent)
    assert best == "a"
    rows = [*chances, [0.0, 0.0]]

    def stands(k: int) -> bool:
        return all(
            sum(row[0] - row[1] for at, row in enumerate(rows) if at not in which) - k > 0
            for which in itertools.combinations(range(len(rows)), k)
        )

    assert stands(safe)
    assert not stands(safe + 1)


def test_a_reply_names_its_one_passage() -> None:
    answer = answered(passages(TRUE, TRUE, TRUE))
    assert [reply.passages for reply in answer.replies] == [("p0",), ("p1",), ("p2",)]
    assert json.loads(answer.replies[0].raw)["answer"] == TRUE
