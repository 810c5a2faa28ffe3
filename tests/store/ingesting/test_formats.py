"""A reader is one file: its module declares what it reads, and nothing else names a format."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

from disputatio.store.ingesting import parsers
from disputatio.store.ingesting.parsers import content_types, formats, kind_of, largest, suffixes

HEAVY = ("lxml", "pypdf", "docx", "pptx", "python_calamine", "pyarrow", "trafilatura", "markdown_it")


def test_every_module_that_parses_declares_what_it_reads() -> None:
    for module in pkgutil.iter_modules(parsers.__path__):
        loaded = importlib.import_module(f"{parsers.__name__}.{module.name}")
        parses = hasattr(loaded, "parse") or hasattr(loaded, "parser_of")
        assert parses == hasattr(loaded, "FORMATS"), module.name


def test_no_two_formats_share_a_kind_an_ending_or_a_content_type() -> None:
    every = [
        form
        for module in pkgutil.iter_modules(parsers.__path__)
        for form in getattr(importlib.import_module(f"{parsers.__name__}.{module.name}"), "FORMATS", ())
    ]
    assert len(every) == len(formats())
    assert len(suffixes()) == sum(len(form.suffixes) for form in every)
    assert len(content_types()) == sum(len(form.content_types) for form in every)


def test_a_file_is_known_by_its_first_bytes_and_its_name() -> None:
    assert [kind_of(name, b"") for name in ("a.HTM", "b.tsv", "c.xlsm", "LICENSE")] == [
        "html",
        "csv",
        "xlsx",
        "text",
    ]
    assert [kind_of("a.txt", start) for start in (b"%PDF-1.7", b"PAR1")] == ["pdf", "text"]
    assert kind_of("data", b"PAR1") == "parquet"
    assert (largest("zip"), largest("text")) == (None, parsers.LARGEST_FILE)


@pytest.mark.long
def test_looking_formats_up_loads_no_package_of_a_parser() -> None:
    code = f"""
import sys
from disputatio.store.ingesting.parsers import formats
formats()
print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
