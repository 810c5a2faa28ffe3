"""`/api/sources`: the reliability of each source, the answers behind it, and its owner."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from disputatio.api.indexing import Index
from disputatio.calibration.agreement import Agreement, agreements
from disputatio.calibration.learn import set_owner
from disputatio.errors import DisputatioError
from disputatio.server.faults import NotFound
from disputatio.server.replies import in_turn
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS
from disputatio.server.shapes import Request as Body
from disputatio.store.calibration_log import NOBODY, UNKNOWN, Outcomes, check_id
from disputatio.types import Answer, Source
from disputatio.versions.dates import today

_ANSWERS = 500  # of the newest kept answers, from which agreement is counted
SourceName = Annotated[str, Path(max_length=500)]


class SourceRow(BaseModel):
    """A source with its counts in the index and its estimate; null if there is none.

    Sources of one `group` are not independent: copies, or shared false values. `declared` has the number of
    documents of each authority that people declared.
    """

    name: str
    owner: str | None
    reliability: float | None
    low: float | None
    high: float | None
    questions: int
    answered: float
    agreed: float
    group: str | None
    updated: str | None
    stale: bool
    documents: int
    passages: int
    declared: dict[str, int]


class Said(BaseModel):
    """The answer of a source to a question of a calibration; `right` is null if that is not known."""

    question: str
    said: str
    right: bool | None
    winner: str | None
    anchor: bool
    day: str
    passage: str | None


class SourceRecord(BaseModel):
    """A source with its answers to the questions of calibrations, the newest first."""

    source: SourceRow
    said: list[Said]


class Agreements(BaseModel):
    """Pairs of sources that answered enough questions in common, of the `questions` that were counted.

    A question is one of a calibration, or one that a kept answer is to.
    """

    questions: int
    pairs: list[Agreement]


class OwnerBody(Body):
    """The owner of a source; sources of one owner have one vote together."""

    owner: str = Field(min_length=1, max_length=500)


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["sources"], responses=FAULTS)

    @lru_cache(maxsize=_ANSWERS)
    def sides_of(name: str) -> Sides:
        return _sides(service.answers.answer(name))

    @routes.get(
        "/agreement",
        operation_id="agreement",
        summary="How often two sources give the same answer",
        response_model=Agreements,
    )
    @in_turn(service)
    def agreement() -> object:
        return _agreement(service.require_index(), service.answers.newest(_ANSWERS), sides_of)

    @routes.get(
        "/sources",
        operation_id="sources",
        summary="Every source with its estimate",
        response_model=list[SourceRow],
    )
    @in_turn(service)
    def sources() -> object:
        return rows_of(service.require_index())

    @routes.get(
        "/sources/{name:path}",
        operation_id="source",
        summary="A source, and on which questions it was right",
        response_model=SourceRecord,
    )
    @in_turn(service)
    def source(name: SourceName) -> object:
        index = service.require_index()
        row = row_of(index, name)
        return {"source": row, "said": [each for record in index.records() for each in _said(record, name)]}

    @routes.patch(
        "/sources/{name:path}",
        operation_id="set_owner",
        summary="Say who owns a source",
        response_model=SourceRow,
    )
    @in_turn(service)
    def owner(name: SourceName, body: OwnerBody) -> object:
        service.check_writing()
        index = service.require_index()
        row_of(index, name)
        set_owner(index, name, body.owner, day=today().isoformat())
        return row_of(index, name)

    return routes


def rows_of(index: Index) -> list[dict[str, Any]]:
    """Return every source of an index by name, as `sources --json` prints it, with its counts."""
    estimates = index.estimates()
    named = {name: owner for record in index.records() for name, owner in record.owners.items()}
    rows, tiers = [], index.tiers()
    for counted in index.sources():
        owner = counted.owner or named.get(counted.name, "")
        source = estimates.get(counted.name) or Source(name=counted.name, owner=owner)
        fields = {name: None if value == "" else value for name, value in asdict(source).items()}
        sizes = {"documents": counted.documents, "passages": counted.passages}
        rows.append({**fields, "name": counted.name, **sizes, "declared": tiers.get(counted.name, {})})
    return rows


def row_of(index: Index, name: str) -> dict[str, Any]:
    for row in rows_of(index):
        if row["name"] == name:
            return row
    raise NotFound(f"there is no source {name!r}")


Sides = tuple[str, dict[str, int]]  # the id of a question, and the number of each source's answer to it


def _agreement(index: Index, answers: list[str], sides_of: Callable[[str], Sides]) -> dict[str, Any]:
    """Count on calibrations and kept `answers`, the newest first; each question once."""
    known = {source.name for source in index.sources()}
    questions: dict[str, dict[str, int]] = {}
    for name in reversed(answers):  # the newest answer to a question stands
        with suppress(DisputatioError):  # deleted meanwhile, or damaged, which shows when it is opened
            question, sides = sides_of(name)
            questions[question] = {source: side for source, side in sides.items() if source in known}
    for record in index.records():
        questions |= {
            outcome.question: {
                source: number for source, number in outcome.clusters.items() if source in known
            }
            for outcome in record.outcomes.values()
        }
    told = [sides for sides in questions.values() if len(sides) > 1]
    return {"questions": len(told), "pairs": [asdict(pair) for pair in agreements(told)]}


def _sides(answer: Answer) -> Sides:
    """Return the position of each source that has one; none where several answers may be right."""
    positions = answer.conflict.positions
    sides: dict[str, int] = {}
    if answer.conflict.kind not in ("ambiguity", "opinion"):
        both = set()
        for number, position in enumerate(positions):
            for source in position.sources:
                both |= {source} & sides.keys()
                sides[source] = number
        sides = {source: number for source, number in sides.items() if source not in both}
    accepted = sum(position.verdict == "accepted" for position in positions)
    return check_id(answer.question), sides if accepted <= 1 else {}


def _said(record: Outcomes, name: str) -> list[dict[str, Any]]:
    """Return the answer of a source to each question, and if that was taken for right."""
    said = []
    for outcome in record.outcomes.values():
        if name not in outcome.answers:
            continue
        check = record.checks.get(outcome.question)
        settled = outcome.known if outcome.known != UNKNOWN else outcome.winner
        telling = outcome.known != UNKNOWN or settled != NOBODY
        others = (other for other, number in outcome.clusters.items() if number == settled)
        winner = next((outcome.answers[other] for other in others if other in outcome.answers), None)
        said.append(
            {
                "question": outcome.question if check is None else check.text,
                "said": outcome.answers[name],
                "right": outcome.clusters.get(name) == settled if telling else None,
                "winner": winner,
                "anchor": check is not None and check.kind == "anchor",
                "day": outcome.day,
                "passage": check.passage or None if check is not None and check.source == name else None,
            }
        )
    return said[::-1]
