"""HTML and PDF parsed in a child process, with limits on its memory and its time.

The child is `python -m disputatio.store.sandbox`: one JSON line in (kind and path), one JSON line
out (the fields of a document). A parser that crashes, hangs or eats memory takes the child with
it, the file is refused, and the next file gets a new child.
"""

from __future__ import annotations

import importlib.util
import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from disputatio.errors import IngestError, MissingDependency

_SECONDS = 120.0
_BYTES = 4 << 30
_NEEDS = {"html": "trafilatura", "pdf": "pypdf"}


class Sandbox:
    """A child that parses one file at a time; started at the first file, ended on leaving."""

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def parse(self, kind: str, path: Path) -> dict[str, object]:
        """The fields of the document in a file; `kind` is html or pdf.

        Raises `IngestError` when the file is broken, `MissingDependency` without its parser.
        """
        if importlib.util.find_spec(_NEEDS[kind]) is None:
            raise MissingDependency(_NEEDS[kind], "store")
        line = json.dumps({"kind": kind, "path": str(path.absolute())}).encode() + b"\n"
        try:
            child = self._start()
            if child.stdin is None:
                raise BrokenPipeError
            child.stdin.write(line)
            answer = self._answer(child)
        except BrokenPipeError:
            answer = b""
        except TimeoutError as error:
            self._stop()
            raise IngestError(str(path), f"took more than {self._seconds:g} s to read") from error
        if not answer.endswith(b"\n"):
            raise IngestError(str(path), self._last_words(kind))
        fields: dict[str, object] = json.loads(answer)
        if "refused" in fields:
            raise IngestError(str(path), str(fields["refused"]))
        return fields

    def _start(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is not None:
            self._stop()  # it was ended from outside, between two files
        if self._child is None:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the child)
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "disputatio.store.sandbox"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
            )
        return self._child

    def _answer(self, child: subprocess.Popen[bytes]) -> bytes:
        """One line of the child, or what it wrote before it ended; raises `TimeoutError`."""
        if child.stdout is None:
            return b""
        parts: list[bytes] = []
        with selectors.DefaultSelector() as ready:
            ready.register(child.stdout, selectors.EVENT_READ)
            while not (parts and parts[-1].endswith(b"\n")):
                if not ready.select(self._seconds):
                    raise TimeoutError
                part = os.read(child.stdout.fileno(), 1 << 20)
                if not part:
                    break
                parts.append(part)
        return b"".join(parts)

    def _last_words(self, kind: str) -> str:
        """Why the child ended, from the last line of its traceback."""
        words = ""
        if self._child is not None:
            self._child.wait(timeout=10)
        if self._errors is not None:
            self._errors.seek(0)
            lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
            words = lines[-1][:160] if lines else ""
        self._stop()
        return f"is not a readable {kind.upper()} file" + (f" ({words})" if words else "")

    def _stop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            for pipe in (self._child.stdin, self._child.stdout):
                if pipe is not None:
                    pipe.close()
            self._child = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None


def _html(path: Path) -> dict[str, object]:
    """Main text, title, date and address of a page; the date only where the page states one."""
    import lxml.html  # type: ignore[import-untyped]  # it ships no types
    import trafilatura

    raw = path.read_bytes()
    # An extensive search would take any year in the text for the page's own date.
    page = trafilatura.bare_extraction(
        raw,
        include_comments=False,
        with_metadata=True,
        date_extraction_params={
            "extensive_search": False,
            "original_date": False,
            "outputformat": "%Y-%m-%d",
        },
    )
    text = (page.text or "") if page is not None else ""
    if not text.strip():  # a fragment, or a page too small to have a main part
        tree = lxml.html.document_fromstring(raw)
        words = tree.xpath("//body//text()[not(ancestor::script or ancestor::style)]")
        text = "\n".join(line for word in words if (line := " ".join(str(word).split())))
    if not text.strip():
        return {"refused": "has no text"}
    found = {name: getattr(page, name, None) or "" for name in ("title", "date", "url")}
    return {"text": text, **found}


def _pdf(path: Path) -> dict[str, object]:
    """The text of every page, with the title and date of the file's own record."""
    from pypdf import PdfReader

    reader = PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        return {"refused": "is locked by a password"}
    text = "\n\n".join(page.extract_text().strip() for page in reader.pages).strip()
    if not text:
        return {"refused": "has no text (a scan?)"}
    about = reader.metadata
    title = (about.title if about else "") or ""
    made = about.creation_date if about else None
    return {"text": text, "title": title.strip(), "date": made.date().isoformat() if made else ""}


def main() -> None:
    """Answer requests until standard input ends."""
    import logging
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable(logging.CRITICAL)
    parsers: dict[str, Callable[[Path], dict[str, object]]] = {"html": _html, "pdf": _pdf}
    for line in sys.stdin:
        request = json.loads(line)
        fields = parsers[request["kind"]](Path(request["path"]))
        sys.stdout.write(json.dumps(fields) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
