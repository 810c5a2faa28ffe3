"""A page says how its figures were made, and that they are stale once what they rest on has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import RESULTS
from bench.lib import stale

RECORD = stale.read()


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(RECORD))
def test_a_page_is_marked_when_what_it_rests_on_has_changed(name: str) -> None:
    page = RESULTS / name
    assert stale.is_marked(page) == stale.is_stale(RECORD[name]), (
        "run it again, or mark it: python -m bench.lib.stale"
    )


@pytest.mark.parametrize("name", sorted(RECORD))
def test_a_page_names_options_order_of_passages_and_what_was_tuned_on(name: str) -> None:
    assert stale.line(RECORD[name]) in (RESULTS / name).read_text(encoding="utf-8")


def test_every_page_of_a_paper_is_on_record() -> None:
    pages = {
        page.name
        for page in (RESULTS / "papers").glob("*.md")
        if "**Historic:**" not in page.read_text(encoding="utf-8")
    }
    assert pages <= {Path(name).name for name in RECORD}


def test_a_changed_prompt_or_formula_makes_a_page_stale_and_a_comment_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "ours_alone.py"
    about = {"strategies": [], "modules": ["ours_alone"], "options": "o", "order": "p", "tuned": "t"}
    module.write_text("PROMPT = 'Say a.'")
    recorded = {**about, "hash": stale.today(about)}
    assert not stale.is_stale(recorded)
    module.write_text("PROMPT = 'Say a.'  # a comment")
    assert not stale.is_stale(recorded)
    module.write_text("PROMPT = 'Say b.'")
    assert stale.is_stale(recorded)


def test_a_mark_is_set_once_and_taken_away(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nText.\n", encoding="utf-8")
    about = {"strategies": [], "modules": [], "options": "o", "order": "p", "tuned": "t", "hash": "other"}
    stale.mark(page, about)
    marked = page.read_text(encoding="utf-8")
    stale.mark(page, about)
    assert page.read_text(encoding="utf-8") == marked
    assert stale.is_marked(page)
    assert marked.endswith("\n\nText.\n")
    stale.mark(page, {**about, "hash": stale.today(about)})
    assert not stale.is_marked(page)
    assert page.read_text(encoding="utf-8").startswith("# Title\n\n**Made with:** o. Order of passages: p.")
