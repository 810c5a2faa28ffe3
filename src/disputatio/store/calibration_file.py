"""The log of calibrations beside an index in a folder: `calibration.jsonl`, a line an entry.

A line carries a checksum of itself and is on the disk before it is acted upon; a last line that a kill cut
short is not there.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from io import RawIOBase
from pathlib import Path
from typing import Any

from disputatio import platforms
from disputatio.errors import StoreError
from disputatio.store.addresses import require_one
from disputatio.store.calibration_log import CalibrationLog, Outcomes, outcomes_of
from disputatio.store.record.layout import LARGEST_LOG, read_bytes, refuse_links
from disputatio.store.record.manifest import report_faults

NAME = "calibration.jsonl"
LOCK = "calibration.lock"


def read_outcomes(path: Path) -> Outcomes:
    """Return everything on record for the index at `path`; raises `StoreError` that names a damaged line."""
    return outcomes_of(_lines(path), lambda number: _make_damage_error(path, number))


def find_damaged_lines(path: Path) -> list[int]:
    """Return the numbers, from 1, of lines whose bytes have changed; a last line cut short is not damage."""
    wrong = []
    for number, line in _raw(path):
        try:
            _parse_line(line)
        except (ValueError, TypeError, KeyError, RecursionError):
            wrong.append(number)
    return wrong


@contextmanager
def open_log(path: Path) -> Iterator[CalibrationLog]:
    """Open the log of the index at `path`, made where it is not there; raises `StoreError` beside another."""
    require_one(path)
    with report_faults(path, "opening the calibration"):
        refuse_links(path, passed=lambda name: name not in (NAME, LOCK))
        lock = (path / LOCK).open("ab")
    with lock:
        with report_faults(path, "locking the calibration"):
            locked = platforms.lock(lock)
        if not locked:
            raise StoreError(f"{path}: another process is estimating reliabilities here; try again later")
        file = path / NAME
        with report_faults(path, "opening the calibration"):
            fresh = not file.exists()
            if not fresh:
                raw = read_bytes(file, LARGEST_LOG)
                if not raw.endswith(b"\n") and not _has_lost_its_end(raw):  # a kill cut the last line short
                    os.truncate(file, raw.rfind(b"\n") + 1)
            out = file.open("ab", buffering=0)
            if fresh:
                platforms.sync_folder(path)
        with out:
            yield CalibrationLog(lambda entry: _append(path, out, entry))


def _append(path: Path, out: RawIOBase, entry: Mapping[str, Any]) -> None:
    with report_faults(path, "writing to the calibration"):
        end = os.fstat(out.fileno()).st_size
        try:
            out.write(_line(entry))
            os.fsync(out.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(path / NAME, end)  # no half a line before the next one
            raise


def _raw(path: Path) -> Iterator[tuple[int, bytes]]:
    with report_faults(path, "reading the calibration"):
        try:
            raw = read_bytes(path / NAME, LARGEST_LOG)
        except (FileNotFoundError, NotADirectoryError):
            return
    *lines, rest = raw.split(b"\n")
    yield from enumerate([*lines, rest] if _has_lost_its_end(raw) else lines, start=1)


def _has_lost_its_end(raw: bytes) -> bool:
    """Return whether the last line is whole but for its line end, which a kill cannot do to it."""
    try:
        _parse_line(raw[raw.rfind(b"\n") + 1 : -1])
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    return True


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _raw(path):
        try:
            yield number, _parse_line(line)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise _make_damage_error(path, number) from error


def _make_damage_error(path: Path, number: int) -> StoreError:
    return StoreError(
        f"{path / NAME}, row {number}: is damaged; move the file away and estimate anew with: "
        "disputatio calibrate"
    )


def _line(entry: Mapping[str, Any]) -> bytes:
    words = json.dumps(entry, separators=(",", ":"))  # half a character stays JSON
    return f'["{_sum(words)}",{words}]\n'.encode()


def _parse_line(line: bytes) -> dict[str, Any]:
    text = line.decode("ascii")
    checksum, entry = json.loads(text)
    if checksum != _sum(text[len(checksum) + 4 : -1]):
        raise ValueError("its bytes have changed")
    return dict(entry)


def _sum(words: str) -> str:
    return blake2b(words.encode(), digest_size=8).hexdigest()
