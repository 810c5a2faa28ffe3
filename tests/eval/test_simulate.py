"""The paper's world without a model."""

from __future__ import annotations

import json

import numpy as np
import pytest

from disputatio.errors import InputError
from disputatio.eval.simulate import (
    DATA,
    METHODS,
    MODELS,
    OURS,
    PAPER,
    READERS,
    TAUS,
    build,
    passages,
    read,
    reader_of,
    reliabilities,
    simulate,
    table,
)
from tests.shell import run

RNG = np.random.default_rng


def test_every_table_of_the_paper_is_there_and_its_shares_sum_to_one() -> None:
    assert len(READERS) == 36
    for reader in READERS.values():
        for shares in (reader.factual, reader.misleading, reader.irrelevant):
            assert sum(shares) == pytest.approx(1)
            assert min(shares) >= 0


def test_a_table_is_read_as_printed() -> None:
    """Table 14: GPT-4o-mini on NQ at threshold 0.1."""
    reader = reader_of("nq", "gpt-4o-mini", 0.1)
    assert reader.factual == pytest.approx((0.7545, 0.0827, 0.1628), abs=1e-4)
    assert reader.misleading == pytest.approx((0.0051, 0.8788, 0.0505, 0.0657), abs=2e-4)
    assert reader.irrelevant == pytest.approx((0.0086, 0.9510, 0.0404), abs=1e-4)


def test_the_papers_accuracies_are_there() -> None:
    assert PAPER["nq", "MV"] == (0.740, 0.719, 0.686, 0.634, 0.557, 0.454, 0.327)
    assert {name for name, _ in PAPER} == set(DATA)


def test_passages_cover_and_err_as_they_should() -> None:
    held = passages(RNG(0), np.array([0.9, 0.1]), 20_000)
    assert (held >= 0).mean() == pytest.approx(0.6, abs=0.01)
    right = (held == 0).sum(axis=0) / (held >= 0).sum(axis=0)
    assert right == pytest.approx([0.9, 0.1], abs=0.02)
    assert sorted(np.unique(held)) == list(range(-1, 10))


def test_the_ideal_reader_says_what_is_there() -> None:
    held = passages(RNG(1), np.array([0.5, 0.5, 0.5]), 50)
    assert read(RNG(2), held, reader_of("nq", "ideal", 0.1)).tolist() == held.tolist()


@pytest.mark.parametrize("common", [0.0, 0.5, 1.0])
def test_a_reader_errs_with_the_shares_of_its_table_whatever_is_common(common: float) -> None:
    reader = reader_of("nq", "llama3-8b", 0.1)
    questions = 40_000
    for kind, shares in ((0, reader.factual), (-1, reader.irrelevant)):
        said = read(RNG(3), np.full((questions, 2), kind), reader, common)
        found = [(said == 0).mean(), (said == -1).mean(), (said > 9).mean()]
        assert found == pytest.approx(shares, abs=0.01)
    said = read(RNG(4), np.full((questions, 2), 3), reader, common)
    found = [(said == 0).mean(), (said == 3).mean(), (said == -1).mean(), (said > 9).mean()]
    assert found == pytest.approx(reader.misleading, abs=0.01)


def test_readings_in_common_are_the_same_for_all_sources() -> None:
    reader = reader_of("tqa", "llama3-8b", 0.1)
    held = np.zeros((500, 4), dtype=np.int64)
    together = read(RNG(5), held, reader, 1.0)
    assert np.all(together == together[:, :1])
    apart = read(RNG(5), held, reader, 0.0)
    assert np.any(apart != apart[:, :1])
    made_up = np.where(apart > 9, apart, -1)
    assert all(len(set(row[row >= 0])) == (row >= 0).sum() for row in made_up)  # each source's own


def test_adversaries_are_as_many_as_asked_and_beta_has_its_mean() -> None:
    p = reliabilities(RNG(0), "adversary-hammer", 9, 3)
    assert sorted(p) == [0.1] * 3 + [0.9] * 6
    assert reliabilities(RNG(0), "beta", 20_000).mean() == pytest.approx(0.6, abs=0.01)


def test_a_question_that_nobody_answers_rightly_is_never_counted_right() -> None:
    world = build(RNG(0), np.zeros(3), 40, reader_of("nq", "ideal", 0.1))
    assert set(world.truth.tolist()) == {-1}
    assert world.accuracy(np.full(40, -1, dtype=np.int32)) == 0


def test_the_same_seed_gives_the_same_figures_and_another_gives_others() -> None:
    first, again, other = (
        list(simulate(adversaries=[5], trials=2, estimated=60, tested=60, seed=seed)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_ra_rag_is_near_oracle_and_far_above_the_majority_among_seven_adversaries() -> None:
    [grade] = simulate(adversaries=[7], trials=4)
    ours, oracle, theirs = (grade.accuracy[name].mean for name in ("RA-RAG", "Oracle", "MV"))
    assert ours is not None
    assert oracle is not None
    assert theirs is not None
    assert abs(ours - oracle) < 0.02
    assert ours > theirs + 0.2
    assert grade.paper == {"MV": 0.327, "RA-RAG": 0.558, "Oracle": 0.558}
    assert grade.unsettled == 0


def test_beta_is_one_setting_and_a_setting_that_the_paper_lacks_has_no_figure_of_it() -> None:
    [grade] = simulate(prior="beta", sources=5, trials=2, estimated=50, tested=50)
    assert grade.adversaries is None
    assert grade.paper == {}
    assert "| MV |" in table([grade])


@pytest.mark.parametrize("sources", [1, 2, 3])
def test_few_sources_are_no_error(sources: int) -> None:
    [*found] = simulate(sources=sources, trials=1, estimated=20, tested=20)
    assert [entrant.adversaries for entrant in found] == [1]


def test_one_to_seven_adversaries_of_nine_are_the_default() -> None:
    found = simulate(trials=1, estimated=10, tested=10)
    assert [entrant.adversaries for entrant in found] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"adversaries": [10]}, "9 sources"),
        ({"adversaries": [-1]}, "9 sources"),
        ({"trials": 0}, "at least 1"),
        ({"common": 1.5}, "common"),
        ({"data": "squad"}, "nq, tqa"),
        ({"tau": 0.3}, "0.8"),
        ({"sources": 10**6, "adversaries": [1]}, "at most"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        list(simulate(**options))  # type: ignore[arg-type]


def test_the_lists_of_names_are_those_of_the_tables() -> None:
    assert (DATA, MODELS, TAUS) == (
        ("nq", "tqa", "hotpotqa"),
        ("llama3-8b", "phi3-mini", "gpt-4o-mini", "ideal"),
        (0.0, 0.1, 0.5, 0.8),
    )


SMALL = ["--trials", "2", "--estimated", "30", "--tested", "40"]


def test_the_command_prints_a_table_beside_the_papers_row(capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, "simulate", "--adversaries", "7", *SMALL)
    assert done.code == 0
    assert "\n          7  MV  " in done.out
    assert "0.327" in done.out


@pytest.mark.long
def test_the_command_prints_one_line_of_json_a_setting(capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, "simulate", "--json", *SMALL)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["adversaries"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert set(rows[0]["accuracy"]) == set(METHODS)


@pytest.mark.parametrize(
    "words",
    [
        ["--prior", "normal"],
        ["--prior", "beta", "--adversaries", "3"],
        ["--adversaries", "12"],
        ["--reader", "gpt-9"],
        ["--trials", "0"],
    ],
)
def test_wrong_options_are_one_line_and_exit_code_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    done = run(capsys, "simulate", *words)
    assert done.code == 2
    assert done.err.count("\n") == 1


@pytest.mark.long
def test_a_reader_that_answers_from_memory_is_set_apart_and_the_sources_told_better() -> None:
    (outcome,) = simulate(adversaries=[5], trials=4, estimated=40, tested=400, memory=0.35)
    assert set(outcome.accuracy) == {*METHODS, *OURS} and not outcome.paper
    apart, paper = (outcome.accuracy[name].mean or 0 for name in ("ours, reader apart", "RA-RAG"))
    assert apart > paper + 0.02
    with pytest.raises(InputError, match="memory"):
        next(simulate(memory=1.5))
