"""Models in Hugging Face repositories: which files of a repository make a model, and how they are fetched.

The hub's own library makes the requests, so that its variables hold here, too: `HF_ENDPOINT` names another
hub, `HF_TOKEN` a key, which goes to the hub alone, `HF_HUB_OFFLINE` forbids requests.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from disputatio.errors import DownloadError, InputError, require_package
from disputatio.llm import disk
from disputatio.llm.models import Hub, ModelEntry, ModelFile

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoSibling

TRIES = 4
PAUSE = 1.0  # seconds before the second try, then doubled
_TIMEOUT = 30.0  # seconds
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}

_NAME = re.compile(r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?::(?P<file>[^:]+))?", re.ASCII)
_ONNX = ("model.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx")
# Where a repository says how its embedding model is used (sentence-transformers).
_USE = re.compile(
    r"(?:modules|config|tokenizer_config|sentence_bert_config|config_sentence_transformers)\.json"
    r"|\d+_\w+/config\.json",
    re.ASCII,
)
_SPLIT = re.compile(r"-\d{5}-of-\d{5}\.gguf$")


def parse(name: str) -> tuple[str, str] | None:
    """Return the repository and the file (empty if none is named) of `owner/repo[:file]`, else None.

    >>> parse("Qwen/Qwen2.5-GGUF:a.gguf"), parse("qwen2.5-coder-1.5b"), parse("../repo")
    (('Qwen/Qwen2.5-GGUF', 'a.gguf'), None, None)
    """
    match = _NAME.fullmatch(name)
    return (match["repo"], match["file"] or "") if match else None


def folder_name(name: str) -> str:
    """Return the name of the folder in the cache for a repository or a file of one.

    >>> folder_name("Qwen/Some-GGUF:q4/a.gguf")
    'Qwen--Some-GGUF--q4--a.gguf'
    """
    return name.replace("/", "--").replace(":", "--")


def entry(name: str) -> ModelEntry:
    """Ask the hub which files `owner/repo[:file]` has now; raises `DownloadError`, `InputError` for none."""
    parsed = parse(name)
    if parsed is None:
        raise InputError(f"{name!r} is not of the form owner/repo or owner/repo:file")
    repo, file = parsed
    with _faults(f"{_endpoint()}/{repo}"):
        from huggingface_hub import HfApi

        api = HfApi(endpoint=_endpoint(), library_name="disputatio")
        info = api.model_info(repo, revision="main", files_metadata=True, timeout=_TIMEOUT)
        commit, siblings = info.sha, info.siblings
    if not commit or siblings is None:
        raise DownloadError(f"the hub's description of {repo} is not as expected")
    files = {sibling.rfilename: sibling for sibling in siblings if _is_inside(sibling.rfilename)}
    if file and file not in files:
        raise InputError(f"{repo} has no file {file!r}: {_some(files)}")
    return ModelEntry(
        name=name,
        kind="unknown",
        about=f"from the hub, commit {commit[:12]}",
        licence="see its page",
        files=tuple(
            _model_file(repo, commit, files[name]) for name in choose_files(repo, sorted(files), file)
        ),
    )


def fetch(origin: Hub, target: Path, file: ModelFile, report: disk.Report) -> tuple[str, dict[str, str]]:
    """Fetch a file of a repository, or the rest of one; its SHA-256, and what to record of its origin."""
    address = f"{_endpoint()}/{origin.repo}/{origin.file}"
    with _faults(address):
        from huggingface_hub import get_hf_file_metadata, hf_hub_url

        url = hf_hub_url(origin.repo, origin.file, revision=origin.revision, endpoint=_endpoint())
        _check_url(url)
        about = get_hf_file_metadata(url, timeout=_TIMEOUT, library_name="disputatio", retry_on_errors=True)
        _check_url(about.location)
    if file.size is not None and about.size is not None and about.size != file.size:
        disk.forget(target)
        raise DownloadError(f"{url}: the file there is {about.size} bytes long, expected {file.size}")
    for attempt in range(TRIES):
        try:
            with _faults(url):
                _transfer(url, about.location, target, about.etag or "", about.size, report)
            break
        except _ServerBusy:
            if attempt == TRIES - 1:
                raise
            time.sleep(PAUSE * 2**attempt)
    digest = disk.hash_file(target)
    stated = about.etag if about.etag and re.fullmatch(r"[0-9a-f]{64}", about.etag) else ""
    for expected in (file.sha256, stated):
        if expected and digest != expected:
            disk.forget(target)
            disk.check_digest(url, expected, digest)
    if file.git_blob and disk.git_blob_of(target) != file.git_blob:
        disk.forget(target)
        raise DownloadError(f"{url}: is not the file that its commit names; it was not kept")
    trust = "pinned" if file.sha256 or file.git_blob else "stated by the server" if stated else "first use"
    return digest, {"origin": url, "etag": about.etag or "", "trust": trust}


def _transfer(
    url: str, location: str, target: Path, etag: str, size: int | None, report: disk.Report
) -> None:
    """Append what is missing of a file to `target`; a file that has changed on the hub is begun anew."""
    from huggingface_hub import get_token
    from huggingface_hub.file_download import http_get

    note = {"url": url, "etag": etag, "total": size}
    beside = target.with_name(target.name + ".json")
    have = target.stat().st_size if target.exists() and _note(beside) == note else 0
    headers = {"Accept-Encoding": "identity"}
    key = get_token()
    if key and urlsplit(location).netloc == urlsplit(url).netloc:  # the store of large files needs none
        headers["authorization"] = f"Bearer {key}"

    class Bar:
        """Counts for the progress of the caller; has what the library calls of a bar of tqdm's."""

        def __init__(self, *, initial: int = 0, **_: object) -> None:
            self._done = initial

        def update(self, count: float | None = 1) -> None:
            self._done += int(count or 0)
            report(self._done)

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None: ...

    with disk.disk_errors(target):
        disk.write_json(beside, note)
        out = target.open("r+b" if have else "wb", buffering=8192)  # so much is lost to a kill
    with out:
        out.seek(have)
        bar: Any = Bar
        http_get(location, out, resume_size=have, headers=headers, expected_size=size, tqdm_class=bar)
        with disk.disk_errors(target):
            out.flush()
            os.fsync(out.fileno())


class _ServerBusy(DownloadError):
    """The hub answered with a status of 500 or above."""


@contextmanager
def _faults(address: str) -> Iterator[None]:
    with require_package("huggingface-hub", "local"):
        import httpx2
        from huggingface_hub import constants
        from huggingface_hub.errors import HfHubHTTPError
    constants.HF_HUB_DISABLE_TELEMETRY = True  # else it asks the hub which agents there are, to report yours
    try:
        yield
    except HfHubHTTPError as error:
        status = error.response.status_code
        kind = _ServerBusy if status >= 500 else DownloadError
        raise kind(f"{address}: HTTP {status} {error.response.reason_phrase}") from error
    except httpx2.HTTPError as error:
        why = str(error) or type(error).__name__
        raise DownloadError(f"{address}: {why}; what came is kept, run again to go on") from error
    except OSError as error:
        if error.errno is None:  # offline, or of another length: the library's own
            raise DownloadError(f"{address}: {' '.join(str(error).split())}") from error
        with disk.disk_errors(Path(error.filename or "the download")):
            raise
    except (ValueError, TypeError, KeyError, AttributeError) as error:  # a reply that is no description
        raise DownloadError(f"{address}: the reply is not what a hub sends ({error})") from error


def _note(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _check_url(url: str) -> None:
    """Raise `DownloadError` unless the address is https, or http to this very machine.

    >>> _check_url("https://example.org/a.gguf")
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise DownloadError(f"{url}: only https addresses are fetched from")


def choose_files(repo: str, files: Sequence[str], named: str = "") -> list[str]:
    """Return the files of the model, `named` or the one: converted, GGUF (Q4_K_M of several), or ONNX.

    >>> choose_files("o/r", ["README.md", "m-q4_k_m.gguf", "m-q8_0.gguf"])
    ['m-q4_k_m.gguf']
    >>> choose_files("o/r", ["onnx/model.onnx", "tokenizer.json", "vocab.txt"])
    ['onnx/model.onnx', 'tokenizer.json']
    >>> choose_files("o/r", ["1_Pooling/config.json", "a.onnx", "b.onnx", "tokenizer.json"], "b.onnx")
    ['b.onnx', 'tokenizer.json', '1_Pooling/config.json']
    """
    if named:
        return _onnx(named, files) if named.endswith(".onnx") else [named]
    if "openvino_model.xml" in files:
        return [
            name
            for name in files
            if "/" not in name
            and (
                name.startswith("openvino_") or name.endswith((".json", ".jinja", "merges.txt", "vocab.txt"))
            )
        ]
    ggufs = [name for name in files if name.endswith(".gguf") and not _SPLIT.search(name)]
    preferred = [name for name in ggufs if "q4_k_m" in name.lower()]
    if len(preferred) == 1 or len(ggufs) == 1:
        return preferred if len(preferred) == 1 else ggufs
    if ggufs:
        raise InputError(f"{repo} has several models, name one as {repo}:FILE: {_some(ggufs)}")
    models = [name for name in _ONNX if name in files]
    if models and "tokenizer.json" in files:
        return _onnx(models[0], files)
    raise InputError(f"{repo} holds no GGUF, OpenVINO or ONNX model with a tokenizer.json: {_some(files)}")


def _onnx(model: str, files: Sequence[str]) -> list[str]:
    """Return an ONNX model with what it needs: weights beside it, its tokenizer, and how it is used."""
    weights = [name for name in files if re.fullmatch(re.escape(model) + r"[._]data\w*", name)]
    tokenizer = [name for name in files if name == "tokenizer.json"]
    return [model, *weights, *tokenizer, *(name for name in files if _USE.fullmatch(name))]


def _model_file(repo: str, commit: str, sibling: RepoSibling) -> ModelFile:
    name, blob = sibling.rfilename, sibling.blob_id
    digest = sibling.lfs.sha256 if sibling.lfs else None
    in_repository = digest is None and blob and re.fullmatch(r"[0-9a-f]{40}", blob)
    local = name if _USE.fullmatch(name) else PurePosixPath(name).name
    return ModelFile(
        name="model.onnx" if name.endswith(".onnx") else local,
        size=sibling.size,
        sha256=digest,
        git_blob=blob if in_repository else None,
        origins=(Hub(repo=repo, file=name, revision=commit),),
    )


def _endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def _is_inside(name: str) -> bool:
    return not name.startswith("/") and ".." not in name.split("/")


def _some(names: Iterable[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
