"""`/api/conflicts`: where the documents of the index contradict each other, without a question or a model."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel

from disputatio import __version__, platforms
from disputatio.api.checking import check
from disputatio.api.indexing import Index
from disputatio.contradictions.baseline import entry_of, read_entries, text_of_entries
from disputatio.contradictions.check import SEVERITIES
from disputatio.errors import InputError, StoreError
from disputatio.rendering.checks import check_page, check_sarif
from disputatio.serialisation import json_text
from disputatio.server.faults import NotFound
from disputatio.server.originals import download
from disputatio.server.replies import client_of, in_turn
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, Name
from disputatio.server.shapes import Request as Body
from disputatio.text import one_line
from disputatio.types import Check, Contradiction, Severity
from disputatio.versions.dates import moment

Holds = Literal["", "first", "second"]


class Decisions:
    """The contradictions that were accepted or settled, by id; safe for any thread of one process."""

    def __init__(self, path: FilePath | None) -> None:
        """Read the file when it is first asked for; None keeps decisions in memory."""
        self._path, self._lock = path, threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._entries: dict[str, dict[str, Any]] = {}

    def all(self) -> dict[str, dict[str, Any]]:
        """Return the entries as the file has them now; raises `StoreError` for a file that is no baseline."""
        with self._lock:
            return dict(self._read())

    def put(self, contradiction: Contradiction, *, holds: Holds, why: str) -> dict[str, Any]:
        """Accept a contradiction: one side holds, or none, and why. Raises `StoreError`."""
        at = moment()
        entry = {**entry_of(contradiction), "holds": holds, "why": why, "at": at}
        with self._lock:
            self._write({**self._read(), contradiction.id: entry})
        return entry

    def drop(self, name: str) -> bool:
        """Take a decision back; False where there was none. Raises `StoreError`."""
        with self._lock:
            entries = dict(self._read())
            found = entries.pop(name, None)
            if found is not None:
                self._write(entries)
        return found is not None

    def _read(self) -> dict[str, dict[str, Any]]:
        if self._path is None:
            return self._entries
        try:
            about = self._path.stat()
        except FileNotFoundError:
            self._seen, self._entries = None, {}
            return self._entries
        if self._seen != (about.st_mtime_ns, about.st_size):
            try:
                entries = read_entries(self._path)
                self._entries = {str(entry["id"]): entry for entry in entries}
            except InputError as error:
                raise StoreError(str(error)) from error
            self._seen = about.st_mtime_ns, about.st_size
        return self._entries

    def _write(self, entries: dict[str, dict[str, Any]]) -> None:
        if self._path is not None:
            try:
                with platforms.whole_file(self._path) as part:
                    part.write_text(text_of_entries(entries.values()), encoding="utf-8")
            except OSError as error:
                raise StoreError(f"{self._path}: cannot be written: {error.strerror}") from error
        self._entries, self._seen = entries, None


MOST_PASSAGES = 30_000  # of an index that is checked while a client waits
_PAGE = 500
_ENDINGS = {"json": "json", "sarif": "sarif", "html": "html", "baseline": "accepted.json"}
Format = Literal["json", "sarif", "html", "baseline"]
ConflictName = Annotated[str, Path(max_length=200)]


class Decision(BaseModel):
    """A decision about a contradiction: the side that holds, if one does, and why."""

    holds: Holds
    why: str
    at: str


class DecisionBody(Body):
    """A decision: the side that holds, or neither where the contradiction is accepted as it is; and why."""

    holds: Holds = ""
    why: Name = ""


class ConflictsShape(BaseModel):
    """One page of what was found, the gravest first; `total` counts all, `hidden` those of lower severity.

    `decisions` has what was decided, by the id of the contradiction, which is then not `new`.
    """

    contradictions: list[Contradiction]
    decisions: dict[str, Decision]
    total: int
    hidden: int
    documents: int
    statements: int
    compared: int
    left_out: int
    seconds: float


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["index"], responses=FAULTS)
    checks, decisions = Checks(), Decisions(service.keeping.baseline)

    @routes.get(
        "/conflicts",
        operation_id="conflicts",
        summary="Where the documents contradict each other; no question, no model",
        response_model=ConflictsShape,
    )
    @in_turn(service)
    def conflicts(
        severity: Annotated[Severity, Query(description="the least that is listed")] = "medium",
        limit: Annotated[int, Query(ge=1, le=_PAGE)] = 50,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
        document: Annotated[str | None, Query(max_length=500, description="only those of a document")] = None,
    ) -> object:
        found, decided = _mark_decided(checks.of(service.require_index(), severity), decisions)
        chosen = found.contradictions
        if document is not None:
            chosen = tuple(each for each in chosen if _concerns(each, document))
        listed = chosen[offset : offset + limit]
        return {
            **{name: getattr(found, name) for name in ConflictsShape.model_fields if hasattr(found, name)},
            "contradictions": [each.to_dict() for each in listed],
            "decisions": {each.id: decided[each.id] for each in listed if each.id in decided},
            "total": len(chosen),
        }

    @routes.get(
        "/conflicts/export",
        operation_id="export_conflicts",
        summary="The contradictions as a file: JSON, SARIF, HTML, or a baseline for `disputatio check`",
        response_class=Response,
        responses={200: {"content": {"application/octet-stream": {}}}},
    )
    @in_turn(service)
    def export(
        form: Annotated[Format, Query(alias="format")] = "json", severity: Severity = "medium"
    ) -> Response:
        found, _ = _mark_decided(checks.of(service.require_index(), severity), decisions)
        if form == "html":
            text = check_page(found)
        elif form == "baseline":
            text = text_of_entries(decisions.all().values())
        else:
            values = found.to_dict() if form == "json" else check_sarif(found, version=__version__)
            text = json_text(values) + "\n"
        return download(text.encode("utf-8", "backslashreplace"), f"contradictions.{_ENDINGS[form]}")

    @routes.put(
        "/conflicts/{name}",
        operation_id="decide",
        summary="Accept a contradiction: which side holds, and why; it is then in the baseline",
        response_model=Decision,
    )
    @in_turn(service)
    def decide(request: Request, name: ConflictName, body: DecisionBody) -> object:
        service.check_writing()
        found = checks.of(service.require_index(), "low").contradictions
        known = next((each for each in found if each.id == name), None)
        if known is None:
            raise NotFound(f"there is no contradiction {one_line(name)[:80]!r}")
        entry = decisions.put(known, holds=body.holds, why=one_line(body.why))
        holds = {"first": known.first, "second": known.second}.get(body.holds)
        detail = "; ".join(part for part in (holds.value if holds else "", entry["why"]) if part)
        service.note_change(
            "accepted", client=client_of(request), title=known.about[:200], detail=detail[:500]
        )
        return {field: entry[field] for field in Decision.model_fields}

    @routes.delete(
        "/conflicts/{name}",
        operation_id="reopen",
        summary="Take the decision about a contradiction back",
        status_code=204,
    )
    @in_turn(service)
    def reopen(request: Request, name: ConflictName) -> Response:
        service.check_writing()
        if not decisions.drop(name):
            raise NotFound(f"nothing was decided about {one_line(name)[:80]!r}")
        service.note_change("reopened", client=client_of(request), title=one_line(name)[:80])
        return Response(status_code=204)

    return routes


def _mark_decided(found: Check, decisions: Decisions) -> tuple[Check, dict[str, dict[str, str]]]:
    """Return a check in which what was decided is not new, and the decisions by id."""
    entries = decisions.all()
    marked = tuple(replace(each, new=each.id not in entries) for each in found.contradictions)
    decided = {
        name: {field: str(entry.get(field, "")) for field in Decision.model_fields}
        for name, entry in entries.items()
    }
    return replace(found, contradictions=marked), decided


def _concerns(each: Contradiction, document: str) -> bool:
    """Return whether a document states a side, or says the same in the same words."""
    return any(document in (side.document, *side.copies) for side in (each.first, each.second))


class Checks:
    """The newest check of an index, which holds until its next commit."""

    def __init__(self) -> None:
        self._known: tuple[tuple[str, int], Check] | None = None

    def of(self, index: Index, severity: Severity) -> Check:
        """Return the check of an index as it is now; raises `InputError` for one that is too large."""
        info = index.info()
        key = (info.path, info.commit)
        if self._known is None or self._known[0] != key:
            if info.passages > MOST_PASSAGES:
                raise InputError(
                    f"the index has {info.passages:,} passages, more than {MOST_PASSAGES:,}: check it by "
                    "disputatio check --index, which takes minutes"
                )
            self._known = key, check(index, severity="low")
        found = self._known[1]
        listed = SEVERITIES[SEVERITIES.index(severity) :]
        chosen = tuple(each for each in found.contradictions if each.severity in listed)
        return replace(
            found, contradictions=chosen, hidden=found.hidden + len(found.contradictions) - len(chosen)
        )
