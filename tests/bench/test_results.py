"""Results are kept beside the command that makes them, and no file outlives its page or its script."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from bench import RESULTS, ROOT
from bench.lib.files import beside, read_json, write_json

PAGES = sorted(RESULTS.rglob("*.md"))
OTHERS = sorted(path for path in RESULTS.rglob("*") if path.is_file() and path.suffix != ".md")
COMMAND = re.compile(r"python -m (bench\.\w+\.\w+)")
HISTORIC = re.compile(r"^\*\*Historic:\*\* .*commit `[0-9a-f]{7,40}`", re.MULTILINE)
AGAIN = re.compile(r"^\*\*Run again:\*\* `python -m (bench\.\w+\.\w+)", re.MULTILINE)
NAMED = re.compile(r"bench/results/[\w./-]*\w")


def script_of(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def links(page: Path) -> list[str]:
    """Return where a page leads to, addresses of the web apart."""
    return re.findall(r"\]\(([^):]+)\)", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_names_a_command_that_exists_or_is_marked_as_historic(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    again = AGAIN.search(text)
    if HISTORIC.search(text):
        return
    modules = [again[1]] if again else COMMAND.findall(text)
    assert modules, "write the command: python -m bench.ROOM.NAME"
    for module in modules:
        assert script_of(module).is_file(), f"{module} does not exist"
    assert f"bench.{page.parent.name}." in " ".join(modules), "it belongs to the room of its script"


@pytest.mark.parametrize("file", OTHERS, ids=lambda file: file.name)
def test_every_other_file_is_a_pages_figures_or_chart(file: Path) -> None:
    page = beside(file, ".md")
    if file.name.endswith(".json.gz"):
        assert page.is_file(), "figures without a page"
        return
    assert file.suffix == ".svg"
    links = [
        name for page in PAGES for name in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert any(link.endswith(file.name) for link in links), "no page shows this chart"


def test_links_of_pages_lead_somewhere() -> None:
    for page in PAGES:
        for link in links(page):
            assert (page.parent / link.partition("#")[0]).is_file(), f"{page.name}: {link}"


def test_what_docs_and_sources_say_of_results_is_there() -> None:
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    files += [path for folder in ("src", "bench") for path in (ROOT / folder).rglob("*.py")]
    for file in files:
        for name in NAMED.findall(file.read_text(encoding="utf-8")):
            if "." in Path(name).name:
                assert (ROOT / name).is_file(), f"{file.name}: {name}"


def test_figures_are_read_as_they_were_written_and_make_the_same_bytes(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.json", tmp_path / "b.json.gz"
    for path in (plain, packed):
        write_json(path, {"em": 0.5})
        assert read_json(path) == {"em": 0.5}
    assert json.loads(gzip.decompress(packed.read_bytes())) == {"em": 0.5}
    before = packed.read_bytes()
    write_json(packed, {"em": 0.5})
    assert packed.read_bytes() == before
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.json", "b.json.gz"]


def test_a_row_of_the_papers_page_bears_the_mark_of_the_page_that_it_rests_on() -> None:
    text = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    measured = text.partition("## Baselines")[0]
    rows = [line for line in measured.splitlines() if line.startswith("| ") and not line.startswith("| item")]
    assert rows
    for row in rows:
        item = row.split(" | ")[0]
        link = re.search(r"\(\[(\w+)\]\(\.\./(bench/results/[\w/]+\.md)\)\)$", item)
        assert link, f"name the page of the row: {item}"
        page = (ROOT / link[2]).read_text(encoding="utf-8")
        mark = re.search(r"^\*\*(Stale|Historic):\*\*", page, re.MULTILINE)
        assert link[1] == (mark[1].lower() if mark else "page"), item
