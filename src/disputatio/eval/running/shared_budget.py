"""One budget for all workers of a cluster: it stands at the desk, where each claims what a call may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from disputatio.eval.running.budget import Allowance, Amount, Budget, BudgetSpent, Meter
from disputatio.workers.desk import Shared

PART = "allowance"
"""Its name at the desk."""
_ASKING = 0.05  # seconds between two claims of what others have set aside


class AllowanceAtDesk(Allowance):
    """An allowance that answers at once, for workers that ask again."""

    def try_claim(self, worst: Amount, holder: int) -> tuple[bool, str]:
        """Return whether the amount was set aside, or the bound that it can never be within."""
        try:
            return self.claim(worst, holder, wait=False), ""
        except BudgetSpent as error:
            return False, str(error)


class SharedAllowance(Shared):
    """An `Allowance` at the desk; claims that must wait are made again, so that none fills the desk."""

    def __init__(self, desk: Any, holder: int) -> None:
        super().__init__(desk, PART)
        self._holder = holder
        self.spent = Amount()  # what all have spent the driver knows

    def claim(self, worst: Amount) -> None:
        """Set an amount aside; raises `BudgetSpent`."""
        while True:
            granted, over = self.call("try_claim", worst, self._holder)
            if over:
                raise BudgetSpent(over)
            if granted:
                return
            time.sleep(_ASKING)

    def settle(self, worst: Amount, amount: Amount) -> None:
        """Count what was taken in place of what was set aside."""
        if worst.calls or amount.calls:
            self.tell("settle", worst, amount, self._holder)


def at_desk(meter: Meter) -> dict[str, Callable[[], Any]]:
    """Return what stands at the desk for the budget of a driver's meter; nothing without a bound."""
    return {PART: partial(AllowanceAtDesk, meter.budget, meter.spent)} if meter.budget.is_bound else {}


def worker_meter(budget: Budget, desk: Any, number: int) -> Meter:
    """Return the meter of a worker of this number, within the budget of all."""
    allowance: Any = SharedAllowance(desk, number) if budget.is_bound else None
    return Meter(budget, allowance)


def forfeit_of(desk: Any, budget: Budget) -> Callable[[int], None]:
    """Return what is to be done when the worker of a number dies: all that it had set aside counts
    as spent.
    """
    if not budget.is_bound:
        return lambda _: None
    shared = Shared(desk, PART)
    return lambda number: shared.tell("forfeit", number)
