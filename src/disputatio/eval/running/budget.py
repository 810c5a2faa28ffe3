"""What many questions may cost, in calls, tokens or money, and what they have cost: counted call by call.

Every model of a kit is wrapped in a `Metered` one. Before a call the meter asks whether its worst case
still fits, and after it notes what it took, on disk. A question is begun only where what its
strategy took at most so far still fits, so that few are given up half-way.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from disputatio import calling
from disputatio.calling import Cancel
from disputatio.errors import BatchFault, InputError, NotJournalled
from disputatio.eval.running.prices import Prices
from disputatio.kit import Kit
from disputatio.protocols import LLM
from disputatio.trace import total_usage
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Usage

_Output = TypeVar("_Output", Completion, Choice)

Spent = tuple[str, str, str, Usage]
"""(example, entrant, model, what its calls took)."""
Keep = Callable[[str, str, str, Usage], None]

_BYTES_A_TOKEN = 2.0  # taken before a model's own texts are known; most tokens are longer
_MARGIN = 0.9  # of the fewest bytes a token seen, so that the next prompt may be denser
_TEMPLATE = 32  # tokens that a chat template adds at most


class BudgetSpent(BaseException):
    """A call was not made because it might exceed the budget.

    No fault and no error of a strategy, which must not be able to answer without it: so no `Exception`.
    """


class Amount(NamedTuple):
    """A sum of calls, tokens (read and written) and money."""

    calls: float = 0
    tokens: float = 0
    money: float = 0.0

    def plus(self, other: Amount, times: float = 1) -> Amount:
        """Return the sum, with the other one taken so many times."""
        return Amount(*(a + times * b for a, b in zip(self, other, strict=True)))

    def most(self, other: Amount) -> Amount:
        """Return the greater in each."""
        return Amount(*(max(a, b) for a, b in zip(self, other, strict=True)))


_NOTHING = Amount()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that all runs of one journal may take together; None is no bound. Money needs `prices`."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        if self.money is not None and self.prices is None:
            raise InputError("a budget of money needs a table of prices (--prices FILE)")

    @property
    def is_bound(self) -> bool:
        """Whether there is a bound at all."""
        return (self.calls, self.tokens, self.money) != (None, None, None)

    def exceeded(self, amount: Amount) -> str:
        """Return the bound that an amount is beyond, in words, or nothing.

        >>> Budget(calls=2).exceeded(Amount(calls=3)), Budget(calls=2).exceeded(Amount(calls=2))
        ('the budget of 2 calls', '')
        """
        if self.calls is not None and amount.calls > self.calls:
            return f"the budget of {self.calls:,} calls"
        if self.tokens is not None and amount.tokens > self.tokens:
            return f"the budget of {self.tokens:,} tokens"
        if self.money is not None and amount.money > self.money + 1e-12:
            return f"the budget of {self.money:g} {self.prices.currency if self.prices else ''}".rstrip()
        return ""

    def amount(self, model: str, usage: Usage) -> Amount:
        """Return what calls come to; money only where it is bounded or there are prices."""
        money = 0.0 if self.prices is None else self.prices.of(model).cost(usage)
        return Amount(usage.calls, usage.prompt_tokens + usage.completion_tokens, money)


@dataclass(slots=True)
class _Question:
    """A question in hand, or answered: whose it is and what it took so far."""

    example: str = ""
    entrant: str = ""
    took: Amount = field(default_factory=Amount)


class Allowance:
    """What is left of a budget, claimed before a call and settled after it. Threads share it.

    `holder` says for whom a claim is, so that all of his can be given up at once.
    """

    def __init__(self, budget: Budget, spent: Amount = _NOTHING) -> None:
        self.budget, self.spent = budget, spent
        self._held: dict[int, Amount] = defaultdict(Amount)
        self._changed = threading.Condition()

    def claim(self, worst: Amount, holder: int = 0, *, wait: bool = True) -> bool:
        """Set an amount aside; raises `BudgetSpent` where it does not fit beside what is spent.

        What others have set aside may be more than they will need: then it waits for them, or is False.
        """
        with self._changed:
            while self.budget.exceeded(self._reserved().plus(self.spent).plus(worst)):
                if over := self.budget.exceeded(self.spent.plus(worst)):
                    raise BudgetSpent(over)
                if not wait:
                    return False
                self._changed.wait()
            self._held[holder] = self._held[holder].plus(worst)
            return True

    def settle(self, worst: Amount, amount: Amount, holder: int = 0) -> None:
        """Count what was taken in place of what was set aside."""
        with self._changed:
            self._held[holder] = self._held[holder].plus(worst, -1)
            self.spent = self.spent.plus(amount)
            self._changed.notify_all()

    def forfeit(self, holder: int) -> None:
        """Count all that a holder set aside as spent: nobody knows what became of his calls."""
        with self._changed:
            self.spent = self.spent.plus(self._held.pop(holder, Amount()))
            self._changed.notify_all()

    def _reserved(self) -> Amount:
        total = Amount()
        for amount in self._held.values():
            total = total.plus(amount)
        return total


class Meter:
    """Counts what all models of an evaluation take, and holds it to a budget. Threads share it.

    `begin` tells what earlier runs took and where each call is to be kept.
    """

    def __init__(self, budget: Budget | None = None, allowance: Allowance | None = None) -> None:
        self.budget = budget or Budget()
        self._allowance = allowance or Allowance(self.budget)
        self.stopped = ""
        self._keep: Keep = lambda *_: None
        self._changed = threading.Lock()
        self._at = threading.local()
        self._hand: list[_Question] = []
        self._most: dict[str, Amount] = {}
        self._sums: dict[str, tuple[int, Amount]] = defaultdict(lambda: (0, Amount()))
        self._density: dict[str, float] = {}

    @property
    def spent(self) -> Amount:
        """What was taken so far, by earlier runs and this one."""
        return self._allowance.spent

    def begin(self, before: Iterable[Spent], keep: Keep) -> None:
        """Count what was spent before, and keep every call from now on by `keep`."""
        self._keep = keep
        questions: dict[tuple[str, str], Amount] = defaultdict(Amount)
        for example, entrant, model, usage in before:
            amount = self.budget.amount(model, usage)
            self._allowance.settle(Amount(), amount)
            questions[example, entrant] = questions[example, entrant].plus(amount)
        for (_, entrant), took in questions.items():
            self._note(entrant, took)

    def watch(self, kit: Kit) -> Kit:
        """Return the kit with every model metered; raises `InputError` where one has no price."""
        for model in (kit.model, *kit.roles.values()):
            if self.budget.prices is not None:
                self.budget.prices.of(model.name)
        metered_models = {id(model): Metered(model, self) for model in (kit.model, *kit.roles.values())}
        roles = {role: metered_models[id(model)] for role, model in kit.roles.items()}
        return replace(kit, model=metered_models[id(kit.model)], roles=roles)

    def admits(self, entrant: str) -> bool:
        """Return whether a question may be begun: the most that its entrant took still fits beside those in
        hand.
        """
        with self._changed:
            need = self.spent.plus(self._most.get(entrant, Amount(calls=1, tokens=1)))
            for question in self._hand:
                most = self._most.get(question.entrant, Amount())
                need = need.plus(Amount(*(max(a - b, 0) for a, b in zip(most, question.took, strict=True))))
            over = self.budget.exceeded(need)
            self.stopped = self.stopped or over
            return not over

    @contextmanager
    def question(self, example: str, entrant: str) -> Iterator[None]:
        """The calls of this thread belong to that question until the end of the block; see `bound`."""
        question = _Question(example=example, entrant=entrant)
        with self._changed:
            self._hand.append(question)
        self._at.question = question
        whole = False
        try:
            yield
            whole = True
        finally:
            self._at.question = None
            with self._changed:
                self._hand.remove(question)
                if whole:
                    self._note(entrant, question.took)

    def forecast(self, waiting: Mapping[str, int]) -> Amount | None:
        """Return what waiting questions will take by the means of their entrants; None where one was never
        seen.
        """
        with self._changed:
            total = Amount()
            for entrant, count in waiting.items():
                seen, took = self._sums[entrant]
                if count and not seen:
                    return None
                total = total.plus(took, count / max(seen, 1))
            return total

    def reserve(self, model: str, prompts: Sequence[Prompt], new_tokens: int) -> Amount:
        """Set aside the worst case of a batch; raises `BudgetSpent` where it does not fit.

        What others have set aside may be more than they will need: then their calls are waited for.
        """
        with self._changed:
            density = self._density.get(model, _BYTES_A_TOKEN / _MARGIN) * _MARGIN
        read = sum(_bytes(prompt) / density + _TEMPLATE for prompt in prompts)
        usage = Usage(
            calls=len(prompts), prompt_tokens=round(read), completion_tokens=new_tokens * len(prompts)
        )
        worst = self.budget.amount(model, usage)
        try:
            self._allowance.claim(worst)
        except BudgetSpent as error:
            self.stopped = self.stopped or str(error)
            raise
        return worst

    def current(self) -> _Question:
        """Return the question of this thread."""
        question: _Question | None = getattr(self._at, "question", None)
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
        events = [
            (reply.usage, prompt)
            for reply, prompt in zip(replies, prompts, strict=False)
            if reply is not None and not reply.journalled
        ]
        usage = total_usage(used for used, _ in events)
        usage = replace(usage, calls=usage.calls + sum(reply is None for reply in replies))
        self.count(question, model, usage, worst)
        with self._changed:
            for used, prompt in events:
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
        self._most[entrant] = took.most(self._most.get(entrant, Amount()))


class Metered:
    """A model whose calls are counted, and made only within the budget: an `LLM` around another one.

    They belong to `question`, or to that of the thread that makes them.
    """

    def __init__(self, llm: LLM, meter: Meter, question: _Question | None = None) -> None:
        self._llm, self._meter, self._question = llm, meter, question

    def bound(self) -> Metered:
        """Return the same model, all of whose calls belong to the question of this thread."""
        return Metered(self._llm, self._meter, self._meter.current())

    @property
    def name(self) -> str:
        """The name of the model within."""
        return self._llm.name

    def capabilities(self) -> Capabilities:
        """Return what the model within can do."""
        return self._llm.capabilities()

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        """As the model within; raises `BudgetSpent` where the batch may exceed the budget."""
        return self._made(lambda: self._llm.complete(prompts, sampling), prompts, sampling.max_tokens)

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """As the model within; raises `BudgetSpent` where the batch may exceed the budget."""
        return self._made(lambda: self._llm.choose(prompts, options), prompts, 1)

    def complete_as_done(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_done: Callable[[int, Completion], None],
        cancel: Cancel,
    ) -> list[Completion]:
        """As `complete`, each reported as it comes."""

        def make() -> list[Completion]:
            return calling.complete(self._llm, prompts, sampling, on_done, cancel)

        return self._made(make, prompts, sampling.max_tokens)

    def choose_as_done(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        on_done: Callable[[int, Choice], None],
        cancel: Cancel,
    ) -> list[Choice]:
        """As `choose`, each reported as it comes."""
        return self._made(lambda: calling.choose(self._llm, prompts, options, on_done, cancel), prompts, 1)

    def _made(self, make: Callable[[], list[_Output]], prompts: Sequence[Prompt], new: int) -> list[_Output]:
        question = self._question or self._meter.current()
        worst = self._meter.reserve(self.name, prompts, new)
        replies: Sequence[Completion | Choice | None] = [None] * len(prompts)
        try:
            done = make()
            replies = list[Completion | Choice | None](done)
            return done
        except BatchFault as fault:
            replies = fault.results
            raise
        except NotJournalled:
            replies, prompts = (), ()  # nothing was called
            raise
        finally:
            self._meter.settle(question, worst, self.name, prompts, replies)


def bound(kit: Kit) -> Kit:
    """Return the kit with its metered calls on the bill of this thread's question, whichever thread makes
    them.
    """

    def one(model: LLM) -> LLM:
        return model.bound() if isinstance(model, Metered) else model

    return replace(kit, model=one(kit.model), roles={role: one(model) for role, model in kit.roles.items()})


def _bytes(prompt: Prompt) -> int:
    return sum(len(message.content.encode("utf-8", "replace")) for message in prompt.messages)
