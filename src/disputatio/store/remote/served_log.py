"""The log of calibrations as a server keeps it: entries as JSON, in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from disputatio.errors import StoreError
from disputatio.store.calibration_log import CalibrationLog, Outcomes, outcomes_of


def logged_outcomes(entries: Iterable[str], shown: str) -> Outcomes:
    """Return what the log of the index `shown` comes to; raises `StoreError` that names a damaged entry."""

    def damaged(number: int) -> StoreError:
        return StoreError(f"{shown}: row {number} of its calibrations is damaged; ingest into a new index")

    def parsed() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, entry in enumerate(entries, start=1):
            try:
                yield number, dict(json.loads(entry))
            except (ValueError, TypeError) as error:
                raise damaged(number) from error

    return outcomes_of(parsed(), damaged)


def log_into(append: Callable[[str], None]) -> CalibrationLog:
    """Return the log of calibrations whose entries `append` keeps."""
    return CalibrationLog(lambda entry: append(json.dumps(entry, separators=(",", ":"))))
