"""Data sets by their name on a hub: `hf:OWNER/NAME/FILE`, fetched once into the hub's own cache.

`HF_ENDPOINT` names another hub, `HF_HUB_OFFLINE=1` uses the cache alone, as for that hub's own tools.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath

from disputatio.errors import DownloadError, InputError, require_package

PREFIX = "hf:"
SUFFIXES = (".jsonl", ".json", ".tsv", ".csv", ".parquet")
_NAME = re.compile(
    r"hf:(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[\w.-]+))?(?:/(?P<file>.+))?",
    re.ASCII,
)

Listing = Callable[[], Sequence[str]]
Fetch = Callable[[str], Path]


def parse(name: str) -> tuple[str, str, str]:
    """Return the repository, the revision (main if none is named) and the file (empty if none is).

    Raises `InputError` for another form.

    >>> parse("hf:HanNight/RAMDocs/RAMDocs_test.jsonl"), parse("hf:o/n@v1")
    (('HanNight/RAMDocs', 'main', 'RAMDocs_test.jsonl'), ('o/n', 'v1', ''))
    """
    match = _NAME.fullmatch(name)
    if not match or ".." in (match["file"] or "").split("/"):
        raise InputError(f"{name}: write hf:OWNER/NAME or hf:OWNER/NAME/FILE")
    return match["repo"], match["revision"] or "main", match["file"] or ""


def match_files(files: Sequence[str], patterns: Sequence[str], name: str) -> list[str]:
    """List the files of a repository that a format reads, by its first pattern that fits.

    Raises `InputError` that names some where there are several, or none.

    >>> match_files(["README.md", "data/test-0.parquet", "x.json"], ["data/test-*.parquet"], "hf:o/n")
    ['data/test-0.parquet']
    >>> match_files(["README.md", "x.jsonl"], [], "hf:o/n")
    ['x.jsonl']
    """
    for pattern in patterns:
        fit = sorted(
            file for file in files if file.count("/") == pattern.count("/") and fnmatchcase(file, pattern)
        )
        if fit:
            return fit
    some = sorted(
        file for file in files if PurePosixPath(file.removesuffix(".gz")).suffix.lower() in SUFFIXES
    )
    if len(some) == 1:
        return some
    if not some:
        raise InputError(f"{name}: holds no file of rows ({', '.join(SUFFIXES)})")
    raise InputError(f"{name}: name the file, as in {name}/{some[0]}: {', '.join(some[:8])}")


@lru_cache(maxsize=64)
def fetch_file(name: str, patterns: tuple[str, ...] = (), beside: tuple[str, ...] = ()) -> Path:
    """Return the path of a hub's file, fetched if it is not there: the folder if the name has no file.

    Files `beside` it come too, where the repository has them. Raises `InputError` for a name that means
    nothing, `DownloadError` where the hub does not give it, `MissingDependency` without the hub's client.
    """
    repo, revision, file = parse(name)
    list_files, fetch = _client(name, repo, revision)
    files = [file] if file else match_files(list_files(), patterns, name)
    if beside:
        folder = PurePosixPath(files[0]).parent
        there = set(list_files())
        files += [file for file in ((folder / more).as_posix() for more in beside) if file in there]
    paths = [fetch(file) for file in files]
    return paths[0] if file else paths[0].parents[files[0].count("/")]


def _client(name: str, repo: str, revision: str) -> tuple[Listing, Fetch]:
    """Return functions that list and fetch files of a repository, with every failure told in one line."""
    with require_package("huggingface_hub", "local"):
        from httpx2 import HTTPError
        from huggingface_hub import HfApi, constants, hf_hub_download
        from huggingface_hub.errors import (
            EntryNotFoundError,
            HfHubHTTPError,
            LocalEntryNotFoundError,
            OfflineModeIsEnabled,
            RepositoryNotFoundError,
        )
        from huggingface_hub.utils.tqdm import disable_progress_bars
    constants.HF_HUB_DISABLE_TELEMETRY = True  # as for models: nothing but the data set is asked for
    endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # its warnings say what the error says
    if not sys.stderr.isatty():
        disable_progress_bars()

    def to_download_error(error: Exception) -> DownloadError:
        if isinstance(error, LocalEntryNotFoundError | OfflineModeIsEnabled) or (
            isinstance(error, HTTPError) and not isinstance(error, HfHubHTTPError)
        ):
            why = f"{endpoint} cannot be reached, and it is not in the cache"
        elif isinstance(error, EntryNotFoundError):
            why = f"{endpoint} has no such file there"
        elif isinstance(error, RepositoryNotFoundError):
            why = f"{endpoint} has no data set of this name, or asks for a token"
        else:
            why = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
        return DownloadError(f"{name}: {why}: fetch the file by hand and give its path instead")

    def list_files() -> Sequence[str]:
        try:
            api = HfApi(endpoint=endpoint)
            return api.list_repo_files(repo, repo_type="dataset", revision=revision)
        except (HTTPError, EntryNotFoundError, OSError, ValueError) as error:
            raise to_download_error(error) from error

    def fetch(file: str) -> Path:
        try:
            return Path(
                hf_hub_download(repo, file, repo_type="dataset", revision=revision, endpoint=endpoint)
            )
        except (HTTPError, EntryNotFoundError, OSError, ValueError) as error:
            raise to_download_error(error) from error

    return list_files, fetch
