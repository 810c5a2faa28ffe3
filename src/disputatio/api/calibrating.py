"""Estimates how reliable each source of an index is, without labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from disputatio.api.asking import kit_with
from disputatio.api.indexing import Index
from disputatio.arguments import check_calls
from disputatio.calibration import inputs
from disputatio.calibration.calibrate import DEFAULT_QUESTIONS, CalibrationPlan, Listener, Report
from disputatio.calibration.calibrate import calibrate as calibrate_index
from disputatio.errors import InputError
from disputatio.protocols import Cancel, ModelObject
from disputatio.rendering.markup import table
from disputatio.rendering.plain import align_rows
from disputatio.serialisation import Serialisable
from disputatio.store import contract as store
from disputatio.store.calibration_log import FactQuestion
from disputatio.versions.dates import today

_MOST = 100_000  # questions that can be drawn
_HEAD = ("source", "owner", "reliability", "95 % interval", "answered", "group")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration(Report, Serialisable):
    """The result of a calibration (`Report`), which shows itself and is written as JSON."""

    def __str__(self) -> str:
        return "\n".join([align_rows(_HEAD, self._rows()), self._summary(), *self.notices])

    def _repr_html_(self) -> str:
        return table(_HEAD, self._rows(), caption="\n".join([self._summary(), *self.notices]))

    def _summary(self) -> str:
        return (
            f"{self.questions} questions on record ({self.anchors} verified), {self.cross_checked} of them "
            f"cross-checked; {self.calls:,} calls in {self.seconds:.1f} s"
        )

    def _rows(self) -> list[tuple[str, ...]]:
        """Return a row a source, the most reliable first."""
        order = sorted(self.sources.values(), key=lambda source: (-(source.reliability or 0), source.name))
        return [
            (
                source.name,
                source.owner,
                "unknown" if source.reliability is None else f"{source.reliability:.2f}",
                "" if source.low is None or source.high is None else f"{source.low:.2f} to {source.high:.2f}",
                f"{source.answered:.4g} of {source.questions}" if source.questions else "",
                source.group,
            )
            for source in order
        ]


@check_calls
def calibrate(
    index: str | Path | store.Index,
    *,
    questions: int | str | Path | Iterable[str] = DEFAULT_QUESTIONS,
    anchors: str | Path | Mapping[str, str | Iterable[str]] | None = None,
    owners: str | Path | Mapping[str, str] | None = None,
    half_life: float | None = None,
    estimator: str | None = None,
    seed: int = 0,
    anew: bool = False,
    model: str | ModelObject | None = None,
    role: Mapping[str, str | ModelObject] | None = None,
    planned: Callable[[CalibrationPlan], None] = lambda _: None,
    progress: Callable[[int, int, float | None], None] = lambda *_: None,
    cancel: Cancel | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Calibration:
    """Estimate how reliable each source of an index is, by cross-checking them; store that in the index.

    `questions` is how many to draw from the passages, a file of them, or the questions themselves. `anchors`
    are verified answers by question, `owners` the owner of each source, either also as a file. An outcome
    counts half after `half_life` days. `estimator` is `paper` (RA-RAG's equations 3 and 4) or `ours` (with
    owners, copies and anchors); None keeps the last one, `ours` at first. `seed` is that of drawing passages;
    `anew` drops what earlier calibrations found. `model`, `role`, `settings` and `cancel` are as for `ask`.

    `planned` is called with what is going to be done, `progress` with (done, total, seconds to go or None).
    What is done is on record at once, so that the same call goes on where an earlier one stopped. Raises
    `InputError`, `StoreError` for an index that is empty or cannot be written to, `LLMError` for faults of
    a model.
    """
    count, own_questions = _questions(questions)
    verified = _anchors(anchors)
    owned = inputs.read_owners(Path(owners)) if isinstance(owners, str | Path) else dict(owners or {})
    opened = Index.open(index, create=False) if isinstance(index, str | Path) else index
    kit, _ = kit_with(model=model, role=role, settings=settings)
    report = calibrate_index(
        opened,
        replace(kit, cancel=cancel or Cancel()),
        day=today().isoformat(),
        count=count,
        questions=own_questions,
        anchors=verified,
        owners=owned,
        half_life=half_life,
        estimator=estimator,
        seed=seed,
        anew=anew,
        listener=Listener(planned=planned, progress=progress),
    )
    return Calibration(**{each.name: getattr(report, each.name) for each in fields(report)})


def _questions(questions: int | str | Path | Iterable[str]) -> tuple[int, list[FactQuestion]]:
    if isinstance(questions, int):
        if not 0 <= questions <= _MOST:
            raise InputError(f"questions: choose from 0 to {_MOST}, not {questions}")
        return questions, []
    if isinstance(questions, str | Path):
        return DEFAULT_QUESTIONS, inputs.read_questions(Path(questions))
    rows = [(f"question {n}", {"question": text}) for n, text in enumerate(questions, start=1)]
    return DEFAULT_QUESTIONS, inputs.questions_of(rows, "questions")


def _anchors(anchors: str | Path | Mapping[str, str | Iterable[str]] | None) -> list[FactQuestion]:
    if not anchors:
        return []
    if isinstance(anchors, str | Path):
        return inputs.read_anchors(Path(anchors))
    rows: list[inputs.Row] = []
    for number, (question, answer) in enumerate(anchors.items(), start=1):
        is_one = isinstance(answer, str) or not hasattr(answer, "__iter__")
        wordings = answer if is_one else list(answer)
        rows.append((f"anchor {number}", {"question": question, "answer": wordings}))
    return inputs.anchors_of(rows, "anchors")
