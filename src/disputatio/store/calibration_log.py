"""The log of calibrations: questions and the answers of each source, append-only.

Reliabilities are computed from it and can be computed again at any time. An entry is kept before it is acted
upon; beside an index in a folder it is a line of `calibration.jsonl` (`calibration_file`), a server keeps
its own. A source that is removed leaves an entry that says so: what it said before is then never read again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from disputatio.errors import StoreError
from disputatio.text import bare_words, content_id
from disputatio.values import canonical

UNKNOWN, NOBODY = -2, -1  # of `Outcome.known`, as in the arithmetic of the estimate

Kind = Literal["drawn", "given", "anchor", "asked"]
Estimator = Literal["paper", "ours"]
PAPER: Estimator = "paper"  # RA-RAG's equations 3 and 4
OURS: Estimator = "ours"  # with owners, copies and verified answers


@dataclass(frozen=True, slots=True, kw_only=True)
class FactQuestion:
    """A question drawn from a `passage` (what it `said`, at a `spot`), or one given, with right answers or
    asked.
    """

    id: str
    text: str
    kind: Kind
    gold: tuple[str, ...] = ()
    passage: str = ""
    source: str = ""
    spot: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOutcome:
    """The answers of the sources to a question on one day.

    `answers` has the words of those that answered, `clusters` the number of each one's semantic cluster,
    from 0 in the order met. `winner` is the cluster that was taken for right then (-1: none); `known` the
    one that an anchor shows to be right (-1: no source gave it, -2: no anchor). `states` is what each
    source that was asked, or that had nothing to say, held at the time. `recalled` is what the reader answers
    with no passage, `own` the cluster of that (-1: no source says so, -2: it does not know or was not asked).
    """

    question: str
    answers: Mapping[str, str]
    clusters: Mapping[str, int]
    winner: int = NOBODY
    known: int = UNKNOWN
    day: str = ""
    states: Mapping[str, str] = field(default_factory=dict)
    recalled: str = ""
    own: int = UNKNOWN

    def without(self, sources: Collection[str]) -> QuestionOutcome:
        """Return the same as if some sources had never been asked; clusters are numbered anew."""
        if not any(name in sources for name in self.states) and not any(
            name in sources for name in self.answers
        ):
            return self
        clusters = {name: number for name, number in self.clusters.items() if name not in sources}
        numbers: dict[int, int] = {}
        for number in clusters.values():
            numbers.setdefault(number, len(numbers))
        return replace(
            self,
            answers={name: answer for name, answer in self.answers.items() if name not in sources},
            clusters={name: numbers[number] for name, number in clusters.items()},
            winner=numbers.get(self.winner, NOBODY),
            known=numbers.get(self.known, NOBODY) if self.known >= 0 else self.known,
            own=numbers.get(self.own, NOBODY) if self.own >= 0 else self.own,
            states={name: state for name, state in self.states.items() if name not in sources},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """The whole log: questions and the newest outcome of each, by id, in the order first met.

    `tried` are the spots that gave no question, `owners` those that were named by a file, `spent`
    maps a model to its calls and the seconds they took. An outcome counts half after `half_life` days;
    None: always in full. `estimator` is how sources are estimated from it.
    """

    checks: Mapping[str, FactQuestion] = field(default_factory=dict)
    outcomes: Mapping[str, QuestionOutcome] = field(default_factory=dict)
    tried: frozenset[str] = frozenset()
    owners: Mapping[str, str] = field(default_factory=dict)
    spent: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    half_life: float | None = None
    estimator: Estimator = OURS


def check_id(question: str) -> str:
    """Return the name of a question: however it is written, it is one, unless its figures or names differ.

    >>> check_id("Who built it?") == check_id("who built  it")
    True
    >>> check_id("Is it 3.5 km?") == check_id("Is it 35 km?")
    False
    """
    forms = (str(item) for item in canonical(question).items)
    marked = [form for form in forms if " ".join(bare_words(form)) != form.casefold()]
    return content_id("f", " ".join(bare_words(question)) or question, *marked)


def outcomes_of(
    entries: Iterable[tuple[int, dict[str, Any]]], damaged: Callable[[int], StoreError]
) -> Outcomes:
    """Return what numbered entries come to; raises the fault that `damaged` names for the number of one."""
    checks: dict[str, FactQuestion] = {}
    outcomes: dict[str, QuestionOutcome] = {}
    tried: set[str] = set()
    owners: dict[str, str] = {}
    spent: dict[str, tuple[int, float]] = {}
    half_life: float | None = None
    estimator: Estimator = OURS
    for number, fields in entries:
        try:
            kind = fields.pop("kind")
            estimator = estimator_named(fields.pop("estimator", estimator))
            if kind == "check":
                check = FactQuestion(**{**fields["check"], "gold": tuple(fields["check"].get("gold", ()))})
                checks[check.id] = check
            elif kind == "outcome":
                question_outcome = QuestionOutcome(**fields["outcome"])
                outcomes[question_outcome.question] = question_outcome
            elif kind == "tried":
                tried.add(fields["spot"])
            elif kind == "owners":
                owners.update(fields["owners"])
            elif kind == "spent":
                calls, seconds = spent.get(fields["model"], (0, 0.0))
                spent[fields["model"]] = calls + fields["calls"], seconds + fields["seconds"]
            elif kind == "forgetting":
                half_life = fields["half_life"]
            elif kind == "removed":
                gone = frozenset(fields["sources"])
                outcomes = {
                    name: question_outcome.without(gone) for name, question_outcome in outcomes.items()
                }
                owners = {name: owner for name, owner in owners.items() if name not in gone}
            elif kind in ("anew", "estimator"):
                for by_question in (checks, outcomes, tried) if kind == "anew" else ():
                    by_question.clear()
            else:
                raise ValueError(kind)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(number) from error
    return Outcomes(
        checks=checks,
        outcomes=outcomes,
        tried=frozenset(tried),
        owners=owners,
        spent=spent,
        half_life=half_life,
        estimator=estimator,
    )


def estimator_named(name: object) -> Estimator:
    """Return the estimator of that name; raises `ValueError` for another.

    >>> estimator_named("paper")
    'paper'
    """
    known: Estimator
    for known in get_args(Estimator):
        if name == known:
            return known
    raise ValueError(f"estimator {name!r}: choose paper or ours")


class CalibrationLog:
    """The log open for appending: `append` keeps one entry, and returns when it is kept."""

    def __init__(self, append: Callable[[Mapping[str, Any]], None]) -> None:
        self._append = append

    def note(self, kind: str, **fields: Any) -> None:
        """Add one entry; on return it is kept. Raises `StoreError` when it cannot be written."""
        self._append({"kind": kind, **fields})

    def check(self, question: FactQuestion) -> None:
        self.note("check", check={name: value for name, value in asdict(question).items() if value})

    def outcome(self, question_outcome: QuestionOutcome) -> None:
        self.note("outcome", outcome=asdict(question_outcome))
