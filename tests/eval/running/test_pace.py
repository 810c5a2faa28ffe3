"""The time that remains follows each strategy's own times, less what those in hand have had, with a range."""

from __future__ import annotations

import random

from disputatio.eval.running.runner import QuestionPace


def _pace(workers: int = 1, **times: list[float]) -> QuestionPace:
    pace = QuestionPace(workers=workers)
    for entrant, seconds in times.items():
        for second in seconds:
            pace.note(entrant, second)
    return pace


def test_nothing_is_guessed_before_the_first_question() -> None:
    assert QuestionPace().left({"a": 3}, []) is None


def test_each_strategy_counts_by_its_own_mean() -> None:
    left = _pace(quick=[1.0, 1.0], slow=[9.0, 11.0]).left({"quick": 5, "slow": 2}, [])
    assert left is not None
    assert left.seconds == 25.0


def test_a_question_in_hand_counts_for_what_is_left_of_it() -> None:
    pace = _pace(a=[10.0, 10.0])
    assert pace.left({"a": 1}, [("a", 4.0)]) == (16.0, 16.0, 16.0)
    assert pace.left({}, [("a", 40.0)]) == (0.0, 0.0, 0.0)


def test_several_in_hand_share_the_work_but_the_longest_bounds_it() -> None:
    pace = _pace(workers=4, a=[10.0, 10.0])
    assert pace.left({"a": 8}, []) == (20.0, 20.0, 20.0)
    assert pace.left({}, [("a", 2.0)]) == (8.0, 8.0, 8.0)


def test_a_strategy_that_was_not_seen_is_taken_at_the_mean_and_has_no_range() -> None:
    left = _pace(a=[4.0, 6.0]).left({"a": 1, "new": 2}, [])
    assert left == (15.0, None, None)
    assert _pace(a=[4.0]).left({"a": 1}, []) == (4.0, None, None)


def test_the_range_holds_the_truth_nineteen_times_of_twenty() -> None:
    rng, held, trials = random.Random(3), 0, 400
    for _ in range(trials):
        pace = _pace(a=[rng.gauss(10.0, 2.0) for _ in range(30)])
        left = pace.left({"a": 40}, [])
        truth = sum(rng.gauss(10.0, 2.0) for _ in range(40))
        assert left is not None and left.low is not None and left.high is not None
        held += left.low <= truth <= left.high
    assert 0.91 < held / trials < 0.98
