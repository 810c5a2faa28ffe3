"""Semantic clusters: mutual entailment, the cheap match first, and every call counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from disputatio.attribution.clusters import Clusters, cluster
from disputatio.errors import NoLogprobs
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted

QUESTION = "Where is the pier?"


class Judge:
    """Entailment by a rule on the two answers, counted by batch."""

    def __init__(self, rule: Callable[[str, str], bool]) -> None:
        self.rule, self.batches = rule, [0][:0]

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.batches.append(len(pairs))
        bare = [[side.rsplit(": ", 1)[1].rstrip(".") for side in pair] for pair in pairs]
        return [0.9 if self.rule(first, second) else 0.1 for first, second in bare]


def clustered(answers: Sequence[str], rule: Callable[[str, str], bool]) -> tuple[Clusters, Judge]:
    judge = Judge(rule)
    return cluster(QUESTION, answers, Kit(model=Scripted([]), entailment=judge)), judge


def never(first: str, second: str) -> bool:
    return False


def same_letter(first: str, second: str) -> bool:
    return first[0].casefold() == second[0].casefold()


def test_what_normalisation_shows_to_be_equal_takes_no_call() -> None:
    clusters, judge = clustered(["The Orrin", "orrin.", "ORRIN"], never)
    assert clusters == Clusters(votes=(0, 0, 0), answers=("The Orrin",), calls=0)
    assert judge.batches == []


def test_figures_that_differ_and_yes_and_no_take_no_call() -> None:
    clusters, judge = clustered(["1,921", "1948", "yes", "no"], never)
    assert clusters.votes == (0, 1, 2, 3)
    assert sum(judge.batches) == clusters.calls == 4  # each figure against yes and no


@pytest.mark.parametrize(
    ("answers", "votes"),
    [
        (["10", "$10", "€10"], (0, 0, 1)),
        (["3.5", "35", "-3.5"], (0, 1, 2)),
        (["5 km", "5 miles", "5,000 m"], (0, 1, 0)),
        (["12 May 1962", "May 12, 1962", "13 May 1962"], (0, 0, 1)),
    ],
)
def test_different_values_are_separated_without_a_call(answers: list[str], votes: tuple[int, ...]) -> None:
    clusters, judge = clustered(answers, never)
    assert (clusters.votes, sum(judge.batches)) == (votes, 0)


def test_answers_that_contradict_each_other_never_join_the_same_cluster() -> None:
    clusters, _ = clustered(["about ten", "$10 or so", "€10 or so"], lambda *_: True)
    assert clusters.votes == (0, 0, 1)


def test_a_unit_that_a_wording_of_a_cluster_states_keeps_another_unit_out() -> None:
    clusters, judge = clustered(["10", "$10", "€10"], lambda *_: True)
    assert (clusters.votes, sum(judge.batches)) == ((0, 0, 1), 0)


def test_two_answers_share_a_cluster_only_if_each_entails_the_other() -> None:
    narrower = {("Orrin", "an island"): True}
    clusters, _ = clustered(["Orrin", "an island"], lambda first, other: narrower.get((first, other), False))
    assert clusters.votes == (0, 1)
    assert clusters.calls == 2


def test_the_first_answer_represents_a_cluster_and_others_join_greedily() -> None:
    clusters, _ = clustered(["Orrin", "Quill", "Orrin Island", "Quillhaven"], same_letter)
    assert clusters.votes == (0, 1, 0, 1)
    assert clusters.answers == ("Orrin", "Quill")


def test_no_answer_forms_or_joins_a_cluster() -> None:
    assert clustered(["", "Orrin", " ", "Orrin"], same_letter)[0].votes == (-1, 0, -1, 0)
    assert clustered(["", ""], same_letter)[0] == Clusters(votes=(-1, -1), answers=())


def test_clustering_makes_the_greedy_calls_in_two_batches_a_cluster() -> None:
    clusters, judge = clustered(["a1 x", "a2 x", "b1 x", "b2 x", "c x"], same_letter)
    assert clusters.votes == (0, 0, 1, 1, 2)
    assert judge.batches == [4, 1, 2, 1]
    assert clusters.calls == 8


def test_the_trace_notes_the_number_of_entailments() -> None:
    kit = Kit(model=Scripted([]), entailment=Judge(never))
    cluster(QUESTION, ["Orrin", "Quill", "Orrin"], kit)
    [event] = [event for event in kit.trace.records() if event["event"] == "clusters"]
    assert (event["answers"], event["clusters"], event["entailments"]) == (2, 2, 1)


def test_without_log_probabilities_contained_answers_are_equal_and_the_trace_notes_it() -> None:
    model = Scripted([], choices=lambda _: NoLogprobs("this model gives none"))
    kit = Kit(model=model)
    clusters = cluster(QUESTION, ["Orrin", "the island of Orrin", "Quill"], kit)
    assert clusters.votes == (0, 0, 1)
    assert "unchecked" in {event["event"] for event in kit.trace.records()}


@pytest.mark.parametrize("answers", [["Ωmega", "№ 5"], ["!!!", "???"], ["1887年", "1887"]])
def test_odd_answers_are_separated(answers: list[str]) -> None:
    assert clustered(answers, never)[0].votes == (0, 1)
