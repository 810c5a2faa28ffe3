"""RA-RAG: the most reliable sources that have an answer vote, each with the weight it has earned."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from disputatio.errors import InputError
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import ask
from disputatio.strategies.ra_rag import batch_size, ra_rag
from disputatio.types import Answer, Passage, Source
from tests.strategies.sources import QUESTION, Reader, kit, rated, source

TRUE, LIE = "Ingrid Vasmer", "Barnaby Croll"


def asked(
    model: Reader,
    shelves: list[list[Passage]],
    sources: dict[str, Source] | None = None,
    **options: object,
) -> Answer:
    return ra_rag(QUESTION, kit(model, shelves, sources), **{"options": 10, **options})  # type: ignore[arg-type]


def test_one_reliable_source_outweighs_two_that_are_not() -> None:
    shelves = [source("a", LIE), source("b", LIE), source("c", TRUE)]
    answer = asked(Reader(), shelves, rated(a=0.2, b=0.2, c=0.9))
    assert answer.answers == (TRUE,)
    won, lost = answer.conflict.positions
    assert (won.verdict, won.weight, won.sources) == ("accepted", 8.0, ("c",))
    assert won.reason == (
        "given by 1 source, against 2 sources for Barnaby Croll; "
        "its sources are more reliable (8.00 against 2.00)"
    )
    assert (lost.verdict, lost.weight, lost.sources) == ("rejected", 2.0, ("a", "b"))
    assert lost.reason == (
        "given by 2 sources, against 1 source for Ingrid Vasmer, "
        "whose sources are more reliable (2.00 against 8.00)"
    )
    assert answer.confidence == 0.8
    assert answer.conflict.kind == "misinformation"


def test_a_vote_has_as_many_possible_answers_as_the_estimate_has_sources() -> None:
    shelves = [source("a", LIE), source("b", LIE), source("c", LIE), source("d", TRUE)]
    known = rated(a=0.4, b=0.4, c=0.4, d=0.9)
    assert asked(Reader(), shelves, known, options=None).answers == (TRUE,)  # 4 w - 1: 2.6 against 1.8
    assert asked(Reader(), shelves, known, options=10).answers == (LIE,)  # 10 w - 1: 8 against 9
    more = known | rated(**{f"other{n}": 0.5 for n in range(6)})  # ten sources were estimated
    assert asked(Reader(), shelves, more, options=None).answers == (LIE,)


def test_the_papers_reader_is_asked_for_keywords_alone() -> None:
    lines = {"Ingrid": TRUE, "still stands": "I don't know"}
    model = Scripted(
        lambda text: json.dumps({"answer": lines["Ingrid" if TRUE in text else "still stands"]}),
        choices={"": {"Yes": 0.9, "No": 0.1}},
    )
    shelves = [source("a", TRUE), source("b")]
    parts = kit(model, shelves)
    answer = ra_rag(QUESTION, parts, reader="paper")
    assert (answer.answers, [reply.answer for reply in answer.replies]) == ((TRUE,), [TRUE, ""])
    prompts = [call.prompt.messages[0].content for call in model.calls if call.sampling]
    assert prompts and not any('"answered"' in prompt or '"quote"' in prompt for prompt in prompts)
    assert answer.conflict.positions[0].passages == ("a",)


def test_weights_of_equals_are_the_majority() -> None:
    shelves = [source("a", LIE), source("b", LIE), source("c", TRUE)]
    answer = asked(Reader(), shelves, rated(a=0.2, b=0.2, c=0.9), weights="uniform")
    assert answer.answers == (LIE,)
    assert [position.weight for position in answer.conflict.positions] == [2.0, 1.0]


def test_without_any_estimate_the_votes_are_equal_and_the_trace_says_so() -> None:
    parts = kit(Reader(), [source("a", TRUE), source("b", TRUE), source("c", LIE)])
    assert ra_rag(QUESTION, parts).answers == (TRUE,)
    [event] = [event for event in parts.trace.records() if event["event"] == "unestimated"]
    assert (sorted(event["sources"]), event["prior"]) == (["a", "b", "c"], None)


def test_a_source_without_an_estimate_has_the_prior() -> None:
    parts = kit(Reader(), [source("a", TRUE), source("b", LIE)], rated(b=0.4))
    answer = ra_rag(QUESTION, parts, options=10)
    assert answer.answers == (TRUE,)
    assert [position.weight for position in answer.conflict.positions] == [4.0, 3.0]
    [event] = [event for event in parts.trace.records() if event["event"] == "unestimated"]
    assert (event["sources"], event["prior"]) == (["a"], 0.5)


def test_estimates_older_than_the_passages_count_and_are_named() -> None:
    known = {"a": Source(name="a", reliability=0.9, stale=True), "b": Source(name="b", reliability=0.2)}
    parts = kit(Reader(), [source("a", TRUE), source("b", LIE)], known)
    assert ra_rag(QUESTION, parts).answers == (TRUE,)
    assert [event["sources"] for event in parts.trace.records() if event["event"] == "stale"] == [["a"]]


@pytest.mark.parametrize("options", [{"kappa": 0}, {"per_source": 0}])
def test_to_ask_nobody_or_nothing_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="at least 1"):
        asked(Reader(), [source("a", TRUE)], None, **options)


def test_a_tie_goes_to_the_answer_met_first_and_is_called_one() -> None:
    answer = asked(Reader(), [source("a", LIE), source("b", TRUE)], rated(a=0.7, b=0.7))
    won, tied = answer.conflict.positions
    assert answer.answers == (won.answer,)
    assert (won.verdict, tied.verdict, answer.conflict.kind) == ("accepted", "unresolved", "unresolved")
    assert (won.cause.kind, tied.cause.kind) == ("met_first", "unresolved")
    assert answer.confidence == 0.5


def test_the_oracle_reads_the_truth_that_passages_carry() -> None:
    low, high = {"true_reliability": "0.1"}, {"true_reliability": "0.9"}
    shelves = [
        source("a", LIE, metadata=low),
        source("b", LIE, metadata=low),
        source("c", TRUE, metadata=high),
    ]
    assert asked(Reader(), shelves, rated(a=0.9, b=0.9, c=0.1), weights="oracle").answers == (TRUE,)


@pytest.mark.parametrize("metadata", [{}, {"true_reliability": "high"}, {"true_reliability": "1.5"}])
def test_an_oracle_without_the_truth_names_passage_and_source(metadata: dict[str, str]) -> None:
    with pytest.raises(InputError, match="passage a of 'a' carries no true_reliability"):
        asked(Reader(), [source("a", TRUE, metadata=metadata)[:1]], weights="oracle")


def test_an_answer_that_its_passages_do_not_bear_out_counts_as_none() -> None:
    shelves = [source("a", LIE), source("b", LIE), source("c", TRUE)]
    answer = asked(Reader(doubted=["Barnaby"]), shelves)
    assert answer.answers == (TRUE,)
    assert [position.answer for position in answer.conflict.positions] == [TRUE]
    assert asked(Reader(doubted=["Barnaby"]), shelves, tau=0.0).answers == (LIE,)


def test_a_source_with_nothing_on_the_question_costs_no_call() -> None:
    idle = [Passage(id="z", source="z", text="Recipes: bread, soup, cake.")]
    model = Reader()
    answer = asked(model, [source("a", TRUE), idle], f_align="ours")
    assert answer.answers == (TRUE,)
    assert model.batches == [1]
    assert {passage.id for passage in answer.passages} == {"a", "a-2"}


def test_as_in_the_paper_every_source_is_asked_and_the_judge_alone_checks() -> None:
    idle = [Passage(id="z", source="z", text="Recipes: bread, soup, cake.")]
    model = Reader()
    asked(model, [source("a", TRUE), idle])
    assert model.batches == [2]


class Echoing(Reader):
    """Answers with words of the question, or with words of no passage, and its judge has no doubts."""

    def __init__(self, answer: str) -> None:
        super().__init__()
        self.said = answer

    def _answer(self, text: str) -> str:
        return json.dumps({"answered": "yes", "answer": self.said, "quote": ""})

    def _judge(self, text: str) -> Mapping[str, float]:
        return {"Yes": 0.95, "No": 0.05}


@pytest.mark.parametrize(
    ("said", "check"), [("Quillhaven lighthouse", "echo"), ("Otto Fremd", "lexical"), (TRUE, "")]
)
def test_each_check_of_an_answer_has_a_switch_of_its_own(said: str, check: str) -> None:
    shelves = [source("a", TRUE)]
    for f_align in ("paper", "judge", "none", "judge+lexical", "judge+echo", "ours"):
        kept = not check or (check not in f_align.split("+") and f_align != "ours")
        assert bool(asked(Echoing(said), shelves, f_align=f_align).answers) == kept, f_align


def test_without_the_judge_nobody_is_asked_whether_an_answer_is_supported() -> None:
    for f_align, judged in (("paper", True), ("none", False), ("lexical+echo+gate", False)):
        model = Reader(doubted=["Ingrid"])
        assert bool(asked(model, [source("a", TRUE)], f_align=f_align).answers) != judged
        assert any(not call.sampling for call in model.calls) == judged


@pytest.mark.parametrize("f_align", ["", "juge", "paper+echo"])
def test_checks_that_are_not_known_are_refused(f_align: str) -> None:
    with pytest.raises(InputError, match="f_align"):
        asked(Reader(), [source("a", TRUE)], f_align=f_align)


# --- who is asked -------------------------------------------------------------------------------
def test_sources_are_asked_by_falling_reliability_until_enough_have_an_answer() -> None:
    shelves = [source(name, TRUE if name in "bdf" else "") for name in "abcdefgh"]
    order = {name: 0.95 - 0.05 * n for n, name in enumerate("abcdefgh")}
    model = Reader()
    answer = asked(model, shelves, rated(**order), kappa=3, tau=0.0)
    assert model.sources_asked() == list("abcdef")
    assert model.batches == [3, 3]
    assert answer.rounds == 2
    assert answer.conflict.positions[0].sources == ("b", "d", "f")


def test_those_beyond_the_kappa_th_answer_do_not_vote() -> None:
    names = "abcdefghij"
    silent = "bcd"
    shelves = [source(name, "" if name in silent else TRUE if name < "g" else LIE) for name in names]
    order = {name: 0.95 - 0.05 * n for n, name in enumerate(names)}
    answer = asked(Reader(), shelves, rated(**order), kappa=4, tau=0.0)
    voters = [name for position in answer.conflict.positions for name in position.sources]
    assert sorted(voters) == ["a", "e", "f", "g"]


def test_rss_hears_the_most_reliable_whatever_they_say_and_all_hears_everybody() -> None:
    shelves = [source("a"), source("b", TRUE), source("c", LIE), source("d", LIE)]
    known = rated(a=0.9, b=0.8, c=0.7, d=0.6)
    model = Reader()
    assert asked(model, shelves, known, kappa=2, selection="rss").answers == (TRUE,)
    assert model.sources_asked() == ["a", "b"]
    model = Reader()
    assert asked(model, shelves, known, kappa=2, selection="all").answers == (LIE,)
    assert model.batches == [4]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("sources", [10, 20, 100])
def test_speculative_batches_ask_few_more_than_one_after_the_other_in_few_rounds(
    share: float, sources: int
) -> None:
    dice, kappa = random.Random(sources), 4
    asked_, least, rounds, trials = 0, 0, 0, 2_000
    for _ in range(trials):
        answers = [dice.random() < share for _ in range(sources)]
        least += next((n for n in range(1, sources + 1) if sum(answers[:n]) == kappa), sources)
        at = answer_count = 0
        while at < sources and answer_count < kappa:
            at = min(at + batch_size(kappa - answer_count, at, answer_count), sources)
            answer_count = sum(answers[:at])
            rounds += 1
        asked_ += at
    assert asked_ <= 1.15 * least
    assert rounds / trials <= 3.5


# --- who speaks for himself ---------------------------------------------------------------------
def test_an_owner_has_one_vote_however_many_sources_it_has() -> None:
    shelves = [source(f"copy{n}", LIE, owner="Mill") for n in range(6)]
    shelves += [source("b", TRUE, owner="B"), source("c", TRUE, owner="C")]
    known = rated(**{f"copy{n}": 0.8 for n in range(6)}, b=0.8, c=0.8)
    paper = asked(Reader(), shelves, known, selection="all")
    ours = asked(Reader(), shelves, known, selection="all", independent=True)
    assert (paper.answers, ours.answers) == ((LIE,), (TRUE,))
    assert "(1 independent, 5 copies)" in ours.conflict.positions[1].reason
    assert ours.certificate is not None
    assert (ours.certificate.owners, ours.certificate.voters) == (1, 3)


def test_an_owner_that_bears_the_name_of_a_source_does_not_take_its_vote() -> None:
    shelves = [source("b", TRUE), source("a", LIE, owner="source b"), source("c", LIE, owner="source b")]
    ours = asked(Reader(), shelves, rated(a=0.8, b=0.8, c=0.8), selection="all", independent=True)
    assert [position.weight for position in ours.conflict.positions] == [6.0, 6.0]
    assert ours.certificate is not None
    assert ours.certificate.voters == 2


def test_copies_do_not_use_up_the_places_of_others() -> None:
    shelves = [source(f"copy{n}", LIE) for n in range(6)] + [source("b", TRUE), source("c", TRUE)]
    known = rated(**{f"copy{n}": 0.9 for n in range(6)}, b=0.8, c=0.8)
    known = {
        name: Source(
            name=name, reliability=estimate.reliability, low=estimate.low, group="g" if "copy" in name else ""
        )
        for name, estimate in known.items()
    }
    model = Reader()
    assert asked(model, shelves, known, kappa=3, independent=True).answers == (TRUE,)
    assert model.sources_asked() == ["copy0", "b", "c"]


def test_a_record_too_thin_to_tell_weighs_nothing_beside_one_that_is_not() -> None:
    known = {
        "a": Source(name="a", reliability=0.9, low=0.05),
        "b": Source(name="b", reliability=0.9, low=0.05),
        "c": Source(name="c", reliability=0.8, low=0.7),
    }
    shelves = [source("a", LIE), source("b", LIE), source("c", TRUE)]
    assert asked(Reader(), shelves, known, independent=True).answers == (TRUE,)
    assert asked(Reader(), shelves, known).answers == (LIE,)


# --- what is told of the vote -------------------------------------------------------------------
def test_the_certificate_counts_the_owners_whose_lie_would_change_the_answer() -> None:
    answer = asked(Reader(), [source(name, TRUE) for name in "abcd"], rated(a=0.9, b=0.8, c=0.7, d=0.6))
    assert answer.certificate is not None
    assert (answer.certificate.owners, answer.certificate.voters) == (2, 4)
    assert answer.certificate.names == ("a", "b")


def test_a_vote_that_counts_against_its_answer_leaves_no_exact_certificate() -> None:
    parts = kit(Reader(), [source("a", TRUE), source("b", LIE)], rated(a=0.9, b=0.02))
    assert ra_rag(QUESTION, parts).certificate is None
    assert "uncertified" in {event["event"] for event in parts.trace.records()}


@pytest.mark.parametrize("selection", ["rrss", "rss", "all"])
def test_when_nobody_knows_there_is_no_evidence_and_nothing_is_certified(selection: str) -> None:
    answer = asked(Reader(), [source("a"), source("b")], rated(a=0.9), selection=selection)
    assert (answer.answers, answer.abstained, answer.certificate) == ((), "no_evidence", None)
    assert answer.conflict.positions == ()


def test_passages_without_a_source_are_a_source_each() -> None:
    claims = [LIE, TRUE, TRUE, TRUE, TRUE]
    loose = [
        Passage(id=f"p{n}", text=f"Log of p{n}. Quillhaven lighthouse, designed by {designer}.")
        for n, designer in enumerate(claims)
    ]
    answer = asked(Reader(), [loose], selection="all")
    assert answer.answers == (TRUE,)
    assert [position.weight for position in answer.conflict.positions] == [4.0, 1.0]
    assert answer.conflict.positions[0].sources == ()


def test_a_claim_to_be_checked_has_two_answers() -> None:
    class Checker(Reader):
        def _answer(self, text: str) -> str:
            return '{"answered": "yes", "answer": "%s", "quote": ""}' % (
                "no" if "Log of c" in text else "yes"
            )

        def _judge(self, text: str) -> dict[str, float]:
            return {"Yes": 0.9, "No": 0.1}

    shelves = [source("a", LIE), source("b", LIE), source("c", TRUE)]
    parts = kit(Checker(), shelves, rated(a=0.6, b=0.6, c=0.9))
    answer = ra_rag("Is it true that the Quillhaven lighthouse is white?", parts)
    assert answer.answers == ("no",)
    assert [position.weight for position in answer.conflict.positions] == [0.8, 0.4]


def test_the_audit_cites_the_source_by_its_own_quote_and_states_the_answer() -> None:
    parts = kit(Reader(), [source("a", TRUE), source("b", TRUE)], rated(a=0.9, b=0.8))
    answer = ask(QUESTION, kit=parts, strategy="ra_rag")
    [claim] = answer.claims
    assert claim.text == f"{TRUE} designed the Quillhaven lighthouse."
    assert [(citation.passage, citation.quote) for citation in claim.citations] == [
        ("a", f"designed by {TRUE}"),
        ("b", f"designed by {TRUE}"),
    ]


def test_a_declared_tier_is_a_prior_on_the_weight_that_the_record_overrules() -> None:
    law = [replace(passage, authority="binding") for passage in source("law", TRUE)]
    shelves = [source("a", LIE), source("b", LIE), law]
    answer = asked(Reader(), shelves)
    assert answer.answers == (TRUE,)
    won, lost = answer.conflict.positions
    assert (won.weight, won.cause.kind, won.cause.support.declared) == (4.0, "higher_authority", 3.0)
    assert (lost.weight, lost.cause.kind) == (2.0, "lower_authority")
    assert asked(Reader(), shelves, weights="uniform").answers == (LIE,)
    known = {name: replace(rated(**{name: 0.6})[name], answered=90.0) for name in ("a", "b")}
    known |= {"law": replace(rated(law=0.2)["law"], answered=90.0)}
    wrong = asked(Reader(), shelves, known)
    assert wrong.answers == (LIE,)
    assert round(wrong.conflict.positions[1].weight, 2) == 2.5  # 0.1 of 4 * 4 and 0.9 of 10 * 0.2 - 1


def test_what_is_retracted_has_no_vote() -> None:
    paper = [replace(passage, by_people={"status": "retracted"}) for passage in source("paper", LIE)]
    assert asked(Reader(), [paper, source("b", TRUE)]).answers == (TRUE,)
