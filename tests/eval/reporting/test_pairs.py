"""McNemar's test, Holm's correction and the lines of pairs agree with figures known by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from disputatio.eval.reporting.pairs import between, p_of
from disputatio.eval.reporting.report import report
from disputatio.eval.statistics import holm, mcnemar
from tests.eval.fakes import HALF, MANIFEST, RIGHT, ask, examples, run


@pytest.mark.parametrize(
    ("one_only", "other_only", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (5, 0, 2 / 2**5),
        (8, 1, 2 * (1 + 9) / 2**9),
        (10, 2, 2 * (1 + 12 + 66) / 2**12),  # 0.038574
        (6, 6, 1.0),
    ],
)
def test_mcnemar_is_the_exact_binomial_of_what_differs(one_only: int, other_only: int, p: float) -> None:
    one = [1.0] * one_only + [0.0] * other_only + [1.0, 0.0, 1.0]
    other = [0.0] * one_only + [1.0] * other_only + [1.0, 0.0, 1.0]
    mcnemar_result = mcnemar(one, other)
    assert mcnemar_result is not None
    assert (mcnemar_result.n, mcnemar_result.one_only, mcnemar_result.other_only) == (
        len(one),
        one_only,
        other_only,
    )
    assert mcnemar_result.p == pytest.approx(p)


def test_mcnemar_of_many_differences_is_near_the_normal_approximation() -> None:
    mcnemar_result = mcnemar([1.0] * 600 + [0.0] * 500, [0.0] * 600 + [1.0] * 500)
    assert mcnemar_result is not None
    z = (600 - 500 - 1) / math.sqrt(1100)
    assert mcnemar_result.p == pytest.approx(math.erfc(z / math.sqrt(2)), rel=0.01)


def test_mcnemar_leaves_out_pairs_without_a_score_and_refuses_shares() -> None:
    mcnemar_result = mcnemar([1.0, None, 1.0], [0.0, 1.0, None])
    assert mcnemar_result is not None
    assert mcnemar_result.n == 1
    assert mcnemar([0.5, 1.0], [1.0, 0.0]) is None
    with pytest.raises(ValueError, match="argument 2 is longer"):
        mcnemar([1.0], [1.0, 0.0])


def test_holm_keeps_the_order_and_never_exceeds_one() -> None:
    assert holm([]) == []
    assert holm([0.2]) == [0.2]
    assert holm([0.005, 0.01, 0.03, 0.04]) == pytest.approx([0.02, 0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_a_pair_is_the_same_both_ways_round(tmp_path: Path) -> None:
    run(examples(10), [RIGHT, HALF], ask=ask, out=tmp_path, manifest=MANIFEST)
    lines = report(tmp_path)["datasets"][0]["differences"]
    there, back = between(lines, "right", "half", "em"), between(lines, "half", "right", "em")
    assert there is not None
    assert back is not None
    assert (there["difference"], back["difference"]) == (0.5, -0.5)
    assert there["mcnemar"] == {"one_only": 5, "other_only": 0, "p": 0.0625}
    assert back["mcnemar"] == {"one_only": 0, "other_only": 5, "p": 0.0625}
    assert back["ci"] == [-there["ci"][1], -there["ci"][0]]
    assert p_of(there) == p_of(back) == 0.0625
    assert between(lines, "right", "nobody", "em") is None
