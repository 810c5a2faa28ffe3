"""Declarations of a strategy in its own file: the meaning of its options, and its needs.

An option is a keyword-only parameter, and its meaning stands in its annotation: `rounds: Annotated[int,
"maximum rounds of debate"] = 3`. Options of several strategies are named here. A strategy that asks its models
for log-probabilities says so in a constant of its module, `LOGPROBS`; one that weighs votes by estimated
reliabilities in `ESTIMATES`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from disputatio.kit import Kit
from disputatio.types import Answer

PassageCount = Annotated[int | None, "passages to read; none: all of those given, or the index's default"]
MaxTokens = Annotated[int, "maximum tokens per reply"]
PerSource = Annotated[int, "passages of each source to answer from, best first"]
Tau = Annotated[float, 'f_align below which an answer counts as "I don\'t know"; 0: not checked']
FAlign = Annotated[
    str, "checks of an answer: paper, ours, none, or of gate, lexical, echo, judge joined by +"
]
Votes = Annotated[int, "sampled votes in place of log-probabilities; 0: none"]
PossibleAnswers = Annotated[
    int | None, "L, the number of possible answers, in the weight L w - 1; none: as in the estimate"
]
SourceReader = Annotated[
    Literal["ours", "paper"],
    "reply of a source's agent: ours says whether it answers and quotes, paper gives keywords",
]
Deviations = Annotated[float, "drop passages that score this many deviations below the mean"]
Floor = Annotated[float, "lowest score of an answer that counts as evidence"]


@dataclass(frozen=True, slots=True)
class Logprobs:
    """A declaration that a strategy needs the log-probabilities of its models, or uses them if it can.

    `purpose` completes "used to". `instead` is the option that replaces them (`votes=10`), `only_with` the
    option without which they are not asked for, `not_with` the one with which they are not.
    """

    use: Literal["needed", "used"]
    purpose: str = ""
    instead: str = ""
    only_with: str = ""
    not_with: str = ""

    def __str__(self) -> str:
        """Return the text that `disputatio strategies` shows.

        >>> str(Logprobs("needed", instead="votes=10", not_with="aggregate=all"))
        'needed, or --set votes=10; not with --set aggregate=all'
        """
        text = f"{self.use} to {self.purpose}" if self.purpose else self.use
        text += f" with --set {self.only_with} alone" if self.only_with else ""
        text += f", or --set {self.instead}" if self.instead else ""
        return text + (f"; not with --set {self.not_with}" if self.not_with else "")


@dataclass(frozen=True, slots=True)
class Estimates:
    """A strategy's need of estimated reliabilities; an evaluation estimates them before it asks.

    `only_with` is the option with which it needs them (`weights=estimated`), empty if it always does.
    """

    only_with: str = ""

    def are_needed_with(self, options: Mapping[str, object]) -> bool:
        """Return whether a strategy with these options needs estimates; an option not given is at its default.

        >>> needs = Estimates(only_with="weights=estimated")
        >>> needs.are_needed_with({}), needs.are_needed_with({"weights": "uniform"})
        (True, False)
        """
        name, _, value = self.only_with.partition("=")
        return str(options.get(name, value)) == value


# --- presets of another strategy ----------------------------------------------------------------------
def preset(strategy: Callable[..., Answer], module: str, doc: str, **fixed: Any) -> Callable[..., Answer]:
    """Return a strategy that calls another with `fixed` options; the other options are its own.

    `module` is the name (`__name__`) of the file that defines it, whose last part is the strategy's name;
    `doc` describes it.
    """

    def run(question: str, kit: Kit, **options: Any) -> Answer:
        return strategy(question, kit, **fixed, **options)

    signature = inspect.signature(strategy)
    left = [parameter for name, parameter in signature.parameters.items() if name not in fixed]
    hints = typing.get_type_hints(strategy, include_extras=True)
    run.__name__ = run.__qualname__ = module.rpartition(".")[2]
    run.__module__, run.__doc__ = module, doc
    run.__annotations__ = {name: hint for name, hint in hints.items() if name not in fixed}
    run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]  # read by inspect
    return run
