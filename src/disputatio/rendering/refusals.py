"""Remedies for a file that was refused, by the code of the refusal (`errors.RefusalCode`)."""

from __future__ import annotations

from collections.abc import Mapping

REMEDIES: Mapping[str, str] = {
    "unreadable": "open it in the program that made it, save it anew, and ingest it again",
    "encrypted": "save it without a password or other protection, and ingest that",
    "too_large": "divide it into smaller files",
    "too_slow": "divide it, or save it in a simpler format such as text or PDF",
    "no_text": "there is nothing to read in it: leave it out",
    "scan": "run text recognition (OCR) over it, and ingest the result",
    "unknown_type": "save it as text, PDF, DOCX, HTML or CSV, and ingest that",
    "encoding": "save it as UTF-8",
    "missing_package": "install the package that the reason names, where the index is written",
    "missing_column": "name its columns as they are, with --map or --source-by",
    "bad_row": "correct the row in its file, and ingest the file again",
    "unsafe": "unpack or copy it yourself, if you know where it comes from, and ingest the files",
    "not_found": "check that the path is right and may be read",
    "changed": "ingest it again once nothing writes to it",
    "not_fetched": "check the address in a browser, or save the page and ingest the file",
    "unconfined": "ingest it under Linux, macOS or WSL",
}
