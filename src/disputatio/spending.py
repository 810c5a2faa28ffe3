"""Budgets for model calls: prices, what calls took, and models that make no call beyond a budget.

Every model of a kit is wrapped in a `Metered` one. Before a call its `Meter` sets the worst case aside, and
after it counts what the call took. The API, the server and evaluation share this module; workers of a
cluster claim from one allowance, which the driver keeps.
"""

from __future__ import annotations

import threading
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from disputatio import calling
from disputatio.errors import BatchFault, BudgetSpent, InputError, NotJournalled
from disputatio.kit import Kit
from disputatio.protocols import LLM, Cancel
from disputatio.trace import total_usage
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Usage
from disputatio.workers.desk import Shared

_Output = TypeVar("_Output", Completion, Choice)

Spent = tuple[str, str, str, Usage]
"""(question, entrant, model, usage of its calls)."""
Keep = Callable[[str, str, str, Usage], None]

AT_DESK = "allowance"
"""The name of a shared allowance at the desk of a cluster."""

_MILLION = 1_000_000
_OUR_PRICES = "prices.toml"
_BYTES_A_TOKEN = 2.0  # assumed until a model's own prompts are known; most tokens are longer
_MARGIN = 0.9  # of the fewest bytes a token seen, so that the next prompt may be denser
_TEMPLATE = 32  # tokens that a chat template adds at most
_NEXT_CLAIM = 0.05  # seconds between two claims of a worker for an amount that others have set aside


# --- prices -----------------------------------------------------------------------------------
class Price(BaseModel):
    """The price of a million tokens: read anew, read from the server's prefix cache, and written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(None, ge=0)

    def cost(self, usage: Usage) -> float:
        """Return the cost of calls.

        >>> Price(prompt=1.0, cached=0.5, completion=4.0).cost(
        ...     Usage(prompt_tokens=2_000_000, cached_tokens=1_000_000, completion_tokens=500_000)
        ... )
        3.5
        """
        cached = self.prompt if self.cached is None else self.cached
        fresh = usage.prompt_tokens - usage.cached_tokens
        sums = fresh * self.prompt + usage.cached_tokens * cached + usage.completion_tokens * self.completion
        return sums / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """A table of prices by model name; a name that ends in `*` stands for all that begin so.

    `origin` names the file, `as_of` the day that it states.
    """

    origin: str
    currency: str
    models: Mapping[str, Price]
    as_of: str = ""

    def of(self, model: str) -> Price:
        """Return the price of a model; raises `InputError` with what to add to the table if it has none."""
        if model in self.models:
            return self.models[model]
        fitting = [
            pattern for pattern in self.models if pattern.endswith("*") and model.startswith(pattern[:-1])
        ]
        if not fitting:
            raise InputError(
                f"{self.origin}: no price of {model}: give --prices FILE with "
                f'[models."{model}"] and its prompt and completion, in {self.currency} for a million tokens '
                "(`disputatio eval prices` prints a table to begin with)"
            )
        return self.models[max(fitting, key=len)]


def read_prices(path: Path | None = None) -> Prices:
    """Read a table of prices, by default ours; raises `InputError` that names the file and the field."""
    try:
        text = our_prices() if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    origin = "the table of prices" if path is None else str(path)
    try:
        table = tomllib.loads(text)
        file = _File.model_validate({**table, "as_of": str(table.get("as_of", ""))})
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{origin}: is not TOML: {error}") from error
    except ValidationError as error:
        first: Any = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{origin}: {where}: {first['msg']}") from error
    return Prices(origin=origin, currency=file.currency, models=file.models, as_of=file.as_of)


def our_prices() -> str:
    """Return the text of the table that comes with the package, as a start for one's own."""
    return resources.files("disputatio").joinpath(_OUR_PRICES).read_text(encoding="utf-8")


class _File(BaseModel):
    """The fields of a table as TOML."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: dict[str, Price]
    currency: str = "USD"
    as_of: str = ""


# --- budgets ----------------------------------------------------------------------------------
class Amount(NamedTuple):
    """A sum of calls, tokens (read and written) and money."""

    calls: float = 0
    tokens: float = 0
    money: float = 0.0

    def plus(self, other: Amount, times: float = 1) -> Amount:
        """Add another amount so many times."""
        return Amount(*(a + times * b for a, b in zip(self, other, strict=True)))

    def maximum(self, other: Amount) -> Amount:
        return Amount(*(max(a, b) for a, b in zip(self, other, strict=True)))


_NOTHING = Amount()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that questions may take together; None is no bound. Money needs `prices`."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        if self.money is not None and self.prices is None:
            raise InputError("a budget of money needs a table of prices (--prices FILE)")

    @property
    def is_bound(self) -> bool:
        """True if there is a bound at all."""
        return (self.calls, self.tokens, self.money) != (None, None, None)

    def find_exceeded(self, amount: Amount) -> str:
        """Return a sentence that names the bound an amount exceeds, empty if it is within all.

        >>> Budget(calls=2).find_exceeded(Amount(calls=3)), Budget(calls=2).find_exceeded(Amount(calls=2))
        ('the budget of 2 calls is spent', '')
        """
        bound = ""
        if self.calls is not None and amount.calls > self.calls:
            bound = f"{self.calls:,} calls"
        elif self.tokens is not None and amount.tokens > self.tokens:
            bound = f"{self.tokens:,} tokens"
        elif self.money is not None and amount.money > self.money + 1e-12:
            bound = f"{self.money:g} {self.prices.currency if self.prices else ''}".rstrip()
        return f"the budget of {bound} is spent" if bound else ""

    def amount(self, model: str, usage: Usage) -> Amount:
        """Convert the usage of a model's calls; money is counted only where there are prices."""
        money = 0.0 if self.prices is None else self.prices.of(model).cost(usage)
        return Amount(usage.calls, usage.prompt_tokens + usage.completion_tokens, money)


class Allowance:
    """The rest of a budget, claimed before a call and settled after it. Threads share it.

    `holder` is the number of the worker that claims, so that all its claims can be charged at once.
    """

    def __init__(self, budget: Budget, spent: Amount = _NOTHING) -> None:
        self.budget, self.spent = budget, spent
        self._reserved: dict[int, Amount] = defaultdict(Amount)
        self._changed = threading.Condition()

    def claim(self, worst: Amount, holder: int = 0, wait: bool = True) -> bool:
        """Set an amount aside; raises `BudgetSpent` if it does not fit beside what is spent.

        If it only does not fit beside other claims, which may turn out smaller, wait for them, or return
        False.
        """
        with self._changed:
            while self.budget.find_exceeded(self._all_reserved().plus(self.spent).plus(worst)):
                if reason := self.budget.find_exceeded(self.spent.plus(worst)):
                    raise BudgetSpent(reason)
                if not wait:
                    return False
                self._changed.wait()
            self._reserved[holder] = self._reserved[holder].plus(worst)
            return True

    def settle(self, worst: Amount, amount: Amount, holder: int = 0) -> None:
        """Count what was taken in place of what was set aside."""
        with self._changed:
            self._reserved[holder] = self._reserved[holder].plus(worst, -1)
            self.spent = self.spent.plus(amount)
            self._changed.notify_all()

    def forfeit(self, holder: int) -> None:
        """Charge all that a lost worker had set aside, in full: its calls may have been made."""
        with self._changed:
            self.spent = self.spent.plus(self._reserved.pop(holder, Amount()))
            self._changed.notify_all()

    def _all_reserved(self) -> Amount:
        total = Amount()
        for amount in self._reserved.values():
            total = total.plus(amount)
        return total


# --- counting calls -----------------------------------------------------------------------------
@dataclass(slots=True)
class _Question:
    """A question being answered: its entrant, what it took so far, and why a call was refused, if one was."""

    example: str = ""
    entrant: str = ""
    took: Amount = field(default_factory=Amount)
    refused: str = ""


class Meter:
    """Counts what all models of a kit take, and refuses calls beyond a budget. Threads share it.

    With `reserve_tokens=False` only calls are claimed ahead; tokens and money are checked reply by reply, so
    that a question ends after the reply that exceeds its budget.
    """

    def __init__(
        self, budget: Budget | None = None, allowance: Allowance | None = None, *, reserve_tokens: bool = True
    ) -> None:
        self.budget = budget or Budget()
        self._allowance = allowance or Allowance(self.budget)
        self._reserve_tokens = reserve_tokens
        self.stopped = ""
        self._keep: Keep = lambda *_: None
        self._changed = threading.Lock()
        self._thread = threading.local()
        self._open: list[_Question] = []
        self._most: dict[str, Amount] = {}
        self._sums: dict[str, tuple[int, Amount]] = defaultdict(lambda: (0, Amount()))
        self._density: dict[str, float] = {}

    @property
    def spent(self) -> Amount:
        """The amount taken so far, by earlier runs and this one."""
        return self._allowance.spent

    def begin(self, before: Iterable[Spent], keep: Keep) -> None:
        """Count what earlier runs spent, and pass every call from now on to `keep`."""
        self._keep = keep
        questions: dict[tuple[str, str], Amount] = defaultdict(Amount)
        for example, entrant, model, usage in before:
            amount = self.budget.amount(model, usage)
            self._allowance.settle(Amount(), amount)
            questions[example, entrant] = questions[example, entrant].plus(amount)
        for (_, entrant), took in questions.items():
            self._note(entrant, took)

    def wrap(self, kit: Kit) -> Kit:
        """Return the kit with every model metered; raises `InputError` if one has no price."""
        models = {id(model): model for model in (kit.model, *kit.roles.values())}
        for model in models.values():
            if self.budget.prices is not None:
                self.budget.prices.of(model.name)
        metered = {key: Metered(model, self) for key, model in models.items()}
        roles = {role: metered[id(model)] for role, model in kit.roles.items()}
        return replace(kit, model=metered[id(kit.model)], roles=roles)

    def admits(self, entrant: str) -> bool:
        """Return True if the most that a question of this entrant took fits beside the open questions."""
        with self._changed:
            need = self.spent.plus(self._most.get(entrant, Amount(calls=1, tokens=1)))
            for question in self._open:
                most = self._most.get(question.entrant, Amount())
                need = need.plus(Amount(*(max(a - b, 0) for a, b in zip(most, question.took, strict=True))))
            reason = self.budget.find_exceeded(need)
            self.stopped = self.stopped or reason
            return not reason

    @contextmanager
    def question(self, example: str, entrant: str) -> Iterator[None]:
        """Charge the calls of this thread to a question until the end of the block; see `charge_to_thread`.

        Raises `BudgetSpent` at the end if a call was refused and the strategy answered without it.
        """
        question = _Question(example=example, entrant=entrant)
        with self._changed:
            self._open.append(question)
        self._thread.question = question
        whole = False
        try:
            yield
            if question.refused:
                raise BudgetSpent(question.refused)
            whole = True
        finally:
            self._thread.question = None
            with self._changed:
                self._open.remove(question)
                if whole:
                    self._note(entrant, question.took)

    def forecast(self, waiting: Mapping[str, int]) -> Amount | None:
        """Estimate what waiting questions will take, by the means of their entrants; None if one is new."""
        with self._changed:
            total = Amount()
            for entrant, count in waiting.items():
                seen, took = self._sums[entrant]
                if count and not seen:
                    return None
                total = total.plus(took, count / max(seen, 1))
            return total

    def reserve(self, question: _Question, model: str, prompts: Sequence[Prompt], new_tokens: int) -> Amount:
        """Set aside the worst case of a batch; raises `BudgetSpent` if it does not fit.

        Calls under way may need less than was set aside for them: if these are in the way, wait for them.
        """
        worst = Amount(calls=len(prompts))
        if self._reserve_tokens:
            with self._changed:
                density = self._density.get(model, _BYTES_A_TOKEN / _MARGIN) * _MARGIN
            read = sum(_bytes(prompt) / density + _TEMPLATE for prompt in prompts)
            written = new_tokens * len(prompts)
            usage = Usage(calls=len(prompts), prompt_tokens=round(read), completion_tokens=written)
            worst = self.budget.amount(model, usage)
        try:
            self._allowance.claim(worst)
        except BudgetSpent as error:
            self.refuse(question, str(error))
        return worst

    def refuse(self, question: _Question, reason: str) -> NoReturn:
        """Begin no further question, and raise `BudgetSpent` with its reason."""
        self.stopped = self.stopped or reason
        question.refused = reason
        raise BudgetSpent(reason)

    def check(self, question: _Question, model: str, usages: Sequence[Usage]) -> None:
        """Raise `BudgetSpent` if a batch under way exceeds the budget by its replies so far."""
        if not self._reserve_tokens:
            usage = total_usage(usages)
            reason = self.budget.find_exceeded(self.spent.plus(self.budget.amount(model, usage)))
            if reason:
                self.refuse(question, reason)

    def current(self) -> _Question:
        question: _Question | None = getattr(self._thread, "question", None)
        return _Question() if question is None else question

    def settle(
        self,
        question: _Question,
        worst: Amount,
        model: str,
        prompts: Sequence[Prompt],
        replies: Sequence[Completion | Choice | None],
    ) -> None:
        """Count what a batch took in place of what was set aside; a failed call has no known tokens."""
        made = [
            (reply.usage, prompt)
            for reply, prompt in zip(replies, prompts, strict=False)
            if reply is not None and not reply.journalled
        ]
        usage = total_usage(used for used, _ in made)
        usage = replace(usage, calls=usage.calls + sum(reply is None for reply in replies))
        self.count(question, model, usage, worst)
        with self._changed:
            for used, prompt in made:
                if used.prompt_tokens:
                    density = _bytes(prompt) / used.prompt_tokens
                    self._density[model] = min(density, self._density.get(model, density))

    def count(self, question: _Question, model: str, usage: Usage, worst: Amount = _NOTHING) -> None:
        """Keep what calls of a question took, and count it in place of what was set aside for them."""
        if usage.calls:
            self._keep(question.example, question.entrant, model, usage)
        amount = self.budget.amount(model, usage)
        self._allowance.settle(worst, amount)
        with self._changed:
            question.took = question.took.plus(amount)

    def _note(self, entrant: str, took: Amount) -> None:
        seen, total = self._sums[entrant]
        self._sums[entrant] = (seen + 1, total.plus(took))
        self._most[entrant] = took.maximum(self._most.get(entrant, Amount()))


class Metered:
    """A model whose calls are counted, and made only within the budget.

    Calls are charged to `question`, or to that of the thread that makes them.
    """

    def __init__(self, llm: LLM, meter: Meter, question: _Question | None = None) -> None:
        self._llm, self._meter, self._question = llm, meter, question

    def charge_to_thread(self) -> Metered:
        """Return the same model with all calls charged to the question of this thread."""
        return Metered(self._llm, self._meter, self._meter.current())

    @property
    def name(self) -> str:
        return self._llm.name

    def capabilities(self) -> Capabilities:
        return self._llm.capabilities()

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        *,
        on_done: Callable[[int, Completion], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Completion]:
        """Complete prompts; raises `BudgetSpent` if the batch may exceed the budget."""
        make = partial(calling.complete, self._llm, prompts, sampling, cancel=cancel or Cancel())
        return self._call(make, prompts, sampling.max_tokens, on_done)

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        *,
        on_done: Callable[[int, Choice], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Choice]:
        """Choose among options; raises `BudgetSpent` if the batch may exceed the budget."""
        make = partial(calling.choose, self._llm, prompts, options, cancel=cancel or Cancel())
        return self._call(make, prompts, 1, on_done)

    def _call(
        self,
        make: Callable[..., list[_Output]],
        prompts: Sequence[Prompt],
        new_tokens: int,
        on_done: Callable[[int, _Output], None] | None,
    ) -> list[_Output]:
        question = self._question or self._meter.current()
        worst = self._meter.reserve(question, self.name, prompts, new_tokens)
        replies: list[Completion | Choice | None] = [None] * len(prompts)
        used: list[Usage] = []

        def done(index: int, reply: _Output) -> None:
            replies[index] = reply
            if on_done is not None:
                on_done(index, reply)
            if not reply.journalled:
                used.append(reply.usage)
                self._meter.check(question, self.name, used)

        try:
            return make(on_done=done)
        except BatchFault as fault:
            replies[:] = fault.results
            raise
        except NotJournalled:
            replies, prompts = [], ()  # no call was made
            raise
        finally:
            self._meter.settle(question, worst, self.name, prompts, replies)


def charge_to_thread(kit: Kit) -> Kit:
    """Return the kit with metered calls charged to this thread's question, whichever thread makes them."""

    def charge_model(model: LLM) -> LLM:
        return model.charge_to_thread() if isinstance(model, Metered) else model

    roles = {role: charge_model(model) for role, model in kit.roles.items()}
    return replace(kit, model=charge_model(kit.model), roles=roles)


def _bytes(prompt: Prompt) -> int:
    return sum(len(message.content.encode("utf-8", "replace")) for message in prompt.messages)


# --- one allowance for the workers of a cluster ---------------------------------------------------
class SharedAllowance(Shared):
    """An `Allowance` at the desk, as a worker has it; a claim that must wait is made again."""

    def __init__(self, desk: Any, worker: int) -> None:
        super().__init__(desk, AT_DESK)
        self._worker = worker
        self.spent = Amount()  # only the driver knows the total

    def claim(self, worst: Amount) -> None:
        """Set an amount aside; raises `BudgetSpent`."""
        while not self.call("claim", worst, self._worker, False):
            time.sleep(_NEXT_CLAIM)

    def settle(self, worst: Amount, amount: Amount) -> None:
        """Count what was taken in place of what was set aside."""
        if worst.calls or amount.calls:
            self.tell("settle", worst, amount, self._worker)


def allowance_at_desk(meter: Meter) -> dict[str, Callable[[], Any]]:
    """Return the allowance to open at the desk for a driver's meter; empty without a bound."""
    return {AT_DESK: partial(Allowance, meter.budget, meter.spent)} if meter.budget.is_bound else {}


def worker_meter(budget: Budget, desk: Any, number: int) -> Meter:
    """Return the meter of a worker, which claims from the allowance at the desk."""
    allowance: Any = SharedAllowance(desk, number) if budget.is_bound else None
    return Meter(budget, allowance)


def forfeit_of(desk: Any, budget: Budget) -> Callable[[int], None]:
    """Return a function that charges all that a dead worker (by number) had set aside."""
    if not budget.is_bound:
        return lambda _: None
    shared = Shared(desk, AT_DESK)
    return lambda number: shared.tell("forfeit", number)
