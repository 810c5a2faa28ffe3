"""Estimates of each source's reliability, kept beside an index as `reliability.json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from disputatio.errors import InputError, StoreError
from disputatio.store.record.layout import read_bytes
from disputatio.store.record.manifest import replace_file, report_faults
from disputatio.types import Source

NAME = "reliability.json"
_NOT_KEPT = ("name", "stale")  # the name is the key; what is stale is found by comparing


def read_reliabilities(path: Path) -> dict[str, float]:
    """Return the estimated probability of each source; raises `StoreError` for a damaged file."""
    known = {name: fields.get("reliability") for name, fields in _read(path).items()}
    return {name: reliability for name, reliability in known.items() if reliability is not None}


def get_change_time(path: Path) -> int:
    """Return when the estimates of an index were last written, in nanoseconds; 0 where there are none."""
    try:
        return (path / NAME).stat().st_mtime_ns
    except OSError:
        return 0


def read_states(path: Path) -> dict[str, str]:
    """Return what each source held when it was estimated (`View.states`), where that is on record."""
    return {name: fields["state"] for name, fields in _read(path).items() if fields.get("state")}


def estimates_with_staleness(path: Path, now: Callable[[], Mapping[str, str]]) -> dict[str, Source]:
    """Return the estimates, `stale` where a source no longer holds what it did (`now`, `View.states`)."""
    rows = _read(path)
    states = now() if rows else {}
    sources = {name: Source(name=name) for name in states}
    for name, fields in rows.items():
        stale = name not in states or fields.get("state", states[name]) != states[name]
        sources[name] = replace(_source(name, fields), stale=stale)
    return sources


def pool_estimates(parts: Sequence[Mapping[str, Source]]) -> dict[str, Source]:
    """Return estimates of several indexes as one, weighed by the answers that they rest on.

    >>> a = Source(name="s", reliability=0.9, answered=30.0)
    >>> pool_estimates([{"s": a}, {"s": replace(a, reliability=0.5, answered=10.0)}])["s"].reliability
    0.8
    """
    known: dict[str, list[Source]] = {}
    for part in parts:
        for name, source in part.items():
            known.setdefault(name, []).append(source)
    return {name: _pool(several) for name, several in sorted(known.items())}


def _pool(several: Sequence[Source]) -> Source:
    estimated = [source for source in several if source.reliability is not None]
    if len(estimated) < 2:
        return (estimated or list(several))[0]
    answered = sum(source.answered for source in estimated)
    shares = [source.answered / answered if answered else 1 / len(estimated) for source in estimated]
    mean = sum(share * (source.reliability or 0.0) for share, source in zip(shares, estimated, strict=True))
    below, above = 0.0, 0.0
    for share, source in zip(shares, estimated, strict=True):
        at = source.reliability or 0.0
        below += (share * (at - (0.0 if source.low is None else source.low))) ** 2
        above += (share * ((1.0 if source.high is None else source.high) - at)) ** 2
    return replace(
        estimated[0],
        owner=next((source.owner for source in several if source.owner), ""),
        reliability=min(max(mean, 0.0), 1.0),
        low=max(mean - below**0.5, 0.0),
        high=min(mean + above**0.5, 1.0),
        questions=sum(source.questions for source in estimated),
        answered=answered,
        agreed=sum(source.agreed for source in estimated),
        group=next((source.group for source in estimated if source.group), ""),
        updated=max(source.updated for source in estimated),
        stale=any(source.stale for source in estimated),
    )


def write_estimates(path: Path, estimates: Mapping[str, Source], states: Mapping[str, str]) -> None:
    """Replace the estimates, whole or not at all; raises `InputError` for one that is no probability."""
    sources = {}
    for name, source in sorted(estimates.items()):
        fields = {key: value for key, value in asdict(source).items() if key not in _NOT_KEPT and value != ""}
        sources[name] = {**fields, "state": states[name]} if name in states else fields
        _source(name, fields)
    with report_faults(path, "writing to the index"):
        body = {"sources": sources, "checksum": _checksum(sources)}
        raw = json.dumps(body, indent=1).encode()  # half a character stays JSON
        replace_file(path / NAME, raw)


def reliable_sources(
    reliabilities: Mapping[str, float], least: float, sources: Collection[str] | None
) -> Collection[str]:
    """Return the sources to search: those named, or all, whose estimated reliability is at least `least`.

    >>> sorted(reliable_sources({"a": 0.9, "b": 0.4}, 0.5, None)), reliable_sources({"a": 0.9}, 0.5, ["c"])
    (['a'], set())
    """
    names = {name for name, reliability in reliabilities.items() if reliability >= least}
    return names if sources is None else names & set(sources)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    file = path / NAME
    with report_faults(path, "reading the index"):
        try:
            raw = read_bytes(file)
        except (FileNotFoundError, NotADirectoryError):
            return {}
    try:
        content = json.loads(raw)
        if content["checksum"] != _checksum(content["sources"]):
            raise ValueError("its bytes have changed")
        rows = {str(name): dict(fields) for name, fields in content["sources"].items()}
        for name, fields in rows.items():
            _source(name, fields)
    except (ValueError, KeyError, TypeError, AttributeError, InputError, RecursionError) as error:
        raise StoreError(f"{file}: is damaged; estimate anew with: disputatio calibrate") from error
    return rows


def _source(name: str, fields: Mapping[str, Any]) -> Source:
    for key in ("reliability", "low", "high"):
        value = fields.get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and 0 <= value <= 1):
            raise InputError(f"the reliability of {name!r} lies between 0 and 1, not at {value!r}")
    return Source(name=name, **{key: value for key, value in fields.items() if key != "state"})


def _checksum(sources: Mapping[str, Any]) -> str:
    return blake2b(json.dumps(sources, sort_keys=True).encode(), digest_size=16).hexdigest()
