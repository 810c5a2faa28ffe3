"""The map from weighed to true odds is found where there is one, and its error told where there is none."""

from __future__ import annotations

import math
import random

import pytest

from bench.verdict.calibration import Seen, error, fitted, tried


def _seen(count: int, slope: float, offset: float, seed: int) -> list[Seen]:
    """Positions that are right as often as a known map of their log-odds says."""
    rng = random.Random(seed)
    rows = []
    for row in range(count):
        odds = rng.uniform(-3, 3)
        right = rng.random() < 1 / (1 + math.exp(-(slope * odds + offset)))
        rows.append(Seen(row=row, log_odds=odds, verdict="accepted", right=right))
    return rows


@pytest.mark.long
def test_the_map_that_made_the_rows_is_found() -> None:
    slope, offset = fitted({"a": _seen(4_000, 0.5, -1.0, 1), "b": _seen(4_000, 0.5, -1.0, 2)})
    assert slope == pytest.approx(0.5, abs=0.08)
    assert offset == pytest.approx(-1.0, abs=0.12)


@pytest.mark.long
def test_a_corpus_of_few_rows_weighs_as_much_as_one_of_many() -> None:
    _, offset = fitted({"many": _seen(4_000, 1.0, 2.0, 3), "few": _seen(400, 1.0, -2.0, 4)})
    assert abs(offset) < 0.4


@pytest.mark.long
def test_the_map_of_others_mends_what_they_share_and_no_more() -> None:
    alike = tried({name: _seen(2_000, 0.5, -1.0, seed) for seed, name in enumerate("abc")})
    for part in alike["corpora"].values():
        assert part["left out"] < 0.05 < part["before"]
    stranger = _seen(2_000, 1.0, 3.0, 9)
    off = error(stranger, *fitted({"a": _seen(2_000, 0.5, -3.0, 1)}))
    assert off is not None and off > 0.4
