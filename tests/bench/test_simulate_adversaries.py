"""The correlations of Figure 5 tell estimates that follow reliability from those that do not."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.papers import simulate_adversaries
from disputatio.reliability.weighted_vote import estimate


def _pcc(page: str) -> float:
    found = re.search(r"^\| PCC \| (-?[\d.]+)", page, re.MULTILINE)
    assert found
    return float(found[1])


@pytest.mark.long
def test_estimates_follow_the_reliability_that_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _pcc(simulate_adversaries.correlations(2, 1)) > 0.95

    def backwards(votes: NDArray[np.int32], *, options: int) -> object:
        estimates = estimate(votes, options=options)
        return dataclasses.replace(estimates, reliability=1 - estimates.reliability)

    monkeypatch.setattr(simulate_adversaries, "estimate", backwards)
    assert _pcc(simulate_adversaries.correlations(2, 1)) < -0.95
