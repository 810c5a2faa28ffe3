"""Spending is counted call by call, and a call that may exceed the budget is not made."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import BatchFault, BudgetSpent, InputError, ServerFault
from disputatio.kit import Kit, chat
from disputatio.llm.scripted import Scripted
from disputatio.spending import Amount, Budget, Meter, charge_to_thread, read_prices
from disputatio.types import Completion, Sampling, Usage

ASK = chat("You count.", "How many are they?")


def _words(tokens: int, written: int = 2) -> Completion:
    usage = Usage(calls=1, prompt_tokens=tokens, completion_tokens=written)
    return Completion(text="two", finish_reason="stop", usage=usage)


def _kit(meter: Meter, *replies: Any, name: str = "scripted:one") -> Kit:
    return meter.wrap(Kit(model=Scripted(list(replies), name=name)))


def test_every_call_is_kept_with_its_question_and_model() -> None:
    kept: list[Any] = []
    meter = Meter()
    meter.begin([], lambda *call: kept.append(call))
    kit = _kit(meter, _words(10), _words(20), _words(30))
    with meter.question("x1", "madam"):
        kit.complete("reader", [ASK, ASK])
    kit.complete("reader", [ASK])
    assert kept == [
        ("x1", "madam", "scripted:one", Usage(calls=2, prompt_tokens=30, completion_tokens=4)),
        ("", "", "scripted:one", Usage(calls=1, prompt_tokens=30, completion_tokens=2)),
    ]
    assert meter.spent == (3, 66, 0.0)


def test_calls_that_a_question_makes_in_other_threads_are_on_its_bill_too() -> None:
    kept: list[Any] = []
    meter = Meter()
    meter.begin([], lambda *call: kept.append(call[:2]))
    kit = _kit(meter, *[_words(10)] * 4)
    with meter.question("x1", "speculative"):
        bound_kit = charge_to_thread(kit)
        bound_kit.complete_each("drafter", [(ASK, Sampling(max_tokens=n)) for n in (1, 2, 3)])
    with meter.question("x2", "concat"):
        charge_to_thread(kit).complete("reader", [ASK])
    assert kept == [("x1", "speculative")] * 3 + [("x2", "concat")]
    assert meter.forecast({"speculative": 1, "concat": 2}) == Amount(calls=5, tokens=60)


def test_a_kit_that_is_not_metered_stays_as_it_is() -> None:
    kit = Kit(model=Scripted(["a"]))
    assert charge_to_thread(kit).model is kit.model


def test_a_call_from_a_journal_costs_nothing() -> None:
    meter = Meter(Budget(calls=1))
    free = Completion(text="a", finish_reason="stop", usage=Usage(calls=1, prompt_tokens=9), journalled=True)
    kit = _kit(meter, free, free)
    kit.complete("reader", [ASK])
    kit.complete("reader", [ASK])
    assert meter.spent == (0, 0, 0.0)


def test_a_call_beyond_the_budget_is_not_made() -> None:
    meter = Meter(Budget(calls=2))
    model = Scripted([_words(5), _words(5), _words(5)])
    kit = meter.wrap(Kit(model=model))
    kit.complete("reader", [ASK])
    with pytest.raises(BudgetSpent) as refused:
        kit.complete("reader", [ASK, ASK])
    assert (len(model.calls), meter.spent.calls) == (1, 1)
    assert meter.stopped == "the budget of 2 calls is spent"
    assert str(refused.value) == "the budget of 2 calls is spent"


def test_a_question_ends_with_a_refused_call_even_if_its_strategy_catches_the_error() -> None:
    meter = Meter(Budget(calls=0))
    kit = _kit(meter, _words(5))
    with pytest.raises(BudgetSpent), meter.question("x1", "stubborn"), contextlib.suppress(Exception):
        charge_to_thread(kit).complete("reader", [ASK])


def test_tokens_are_bounded_by_what_may_be_written_at_most() -> None:
    meter = Meter(Budget(tokens=200))
    kit = _kit(meter, _words(20, 5), _words(20, 5))
    kit.complete("reader", [ASK], Sampling(max_tokens=100))
    with pytest.raises(BudgetSpent):
        kit.complete("reader", [ASK], Sampling(max_tokens=180))
    kit.complete("reader", [ASK], Sampling(max_tokens=100))
    assert meter.spent.tokens == 50 <= 200


def test_tokens_may_be_checked_reply_by_reply_instead_of_ahead() -> None:
    meter = Meter(Budget(tokens=50), reserve_tokens=False)
    kit = _kit(meter, _words(20, 5), _words(20, 5), _words(20, 5))
    kit.complete("reader", [ASK], Sampling(max_tokens=1_000))
    with pytest.raises(BudgetSpent, match="50 tokens"):
        kit.complete("reader", [ASK, ASK])
    assert meter.stopped


def test_calls_that_failed_count_as_calls_and_those_beside_them_in_full() -> None:
    meter = Meter()
    fault = ServerFault("down", 503)
    kit = _kit(meter, _words(7), fault, fault)
    with pytest.raises(BatchFault):
        kit.complete("reader", [ASK, ASK])
    assert tuple(meter.spent) == (2, 9, 0.0)
    with pytest.raises(ServerFault):
        kit.complete("reader", [ASK])
    assert tuple(meter.spent) == (3, 9, 0.0)


def test_choices_are_counted_too() -> None:
    meter = Meter(Budget(calls=1))
    kit = _kit(meter)
    assert kit.choose("judge", [ASK], ["Yes", "No"])[0].options == ("Yes", "No")
    with pytest.raises(BudgetSpent):
        kit.choose("judge", [ASK], ["Yes", "No"])


def test_a_call_waits_for_what_others_have_set_aside_and_may_not_need() -> None:
    meter = Meter(Budget(tokens=400))
    entered, leave = threading.Event(), threading.Event()

    def slowly(_: str) -> Completion:
        entered.set()
        leave.wait(10)
        return _words(10, 5)

    slow = meter.wrap(Kit(model=Scripted(slowly)))
    quick = _kit(meter, _words(10, 5))
    one = threading.Thread(target=lambda: slow.complete("reader", [ASK], Sampling(max_tokens=300)))
    two = threading.Thread(target=lambda: quick.complete("reader", [ASK], Sampling(max_tokens=300)))
    one.start()
    assert entered.wait(10)
    two.start()
    leave.set()
    one.join(10)
    two.join(10)
    assert meter.spent == (2, 30, 0.0)


def test_a_question_is_begun_only_where_the_most_its_strategy_took_still_fits() -> None:
    meter = Meter(Budget(calls=10))
    kit = _kit(meter, *[_words(1)] * 6)
    assert meter.admits("a")
    with meter.question("x1", "a"):
        kit.complete("reader", [ASK] * 4)
    assert meter.admits("a")
    with meter.question("x2", "a"):
        assert meter.admits("b")  # not seen: one call at least
        assert not meter.admits("a")  # 4 spent, 4 to come in hand, 4 more
    assert meter.stopped == "the budget of 10 calls is spent"


def test_what_earlier_runs_took_counts_and_tells_what_a_question_takes() -> None:
    meter = Meter(Budget(calls=10))
    before = [("x1", "a", "scripted:one", Usage(calls=3)), ("x2", "a", "scripted:one", Usage(calls=5))]
    meter.begin(before, lambda *_: None)
    assert meter.spent.calls == 8
    assert not meter.admits("a")
    assert meter.forecast({"a": 3}) == Amount(calls=12)
    assert meter.forecast({"b": 1}) is None


def test_money_goes_by_the_model_and_needs_its_price(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('[models."scripted:one"]\nprompt = 1.0\ncompletion = 10.0\n')
    table = read_prices(path)
    meter = Meter(Budget(money=0.01, prices=table))
    kit = _kit(meter, _words(1_000, 100), _words(1_000, 100))
    kit.complete("reader", [ASK], Sampling(max_tokens=500))
    assert meter.spent.money == pytest.approx(0.002)
    with pytest.raises(BudgetSpent):
        kit.complete("reader", [ASK], Sampling(max_tokens=900))
    assert meter.stopped == "the budget of 0.01 USD is spent"
    with pytest.raises(InputError, match="no price of scripted:two"):
        _kit(Meter(Budget(money=1.0, prices=table)), name="scripted:two")
    with pytest.raises(InputError, match="needs a table of prices"):
        Budget(money=1.0)
