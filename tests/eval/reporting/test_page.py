"""The page stands alone, shows the winner first, and makes no markup of anybody's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import ServerFault
from disputatio.eval.reporting.markup import escape, grid
from disputatio.eval.reporting.page import page
from disputatio.eval.reporting.report import report
from disputatio.eval.reporting.tables import Table
from disputatio.eval.running.run_log import Entrant, RunManifest
from disputatio.trace import Trace
from disputatio.types import Answer, Example, Passage, Usage
from tests.eval.fakes import run

HOSTILE = "<script>alert(1)</script>"
LONG = "x" * 300
MANIFEST = RunManifest(
    datasets={f"toy:{HOSTILE}.jsonl": "ab12"},
    metrics={f"toy:{HOSTILE}.jsonl": ("em", "f1")},
    metrics_version=1,
    model=f"local:{HOSTILE}",
    engine='engine " onload="x',
)
_VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """A page taken apart: its elements in order, what they load, whether they are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.loads += [
            f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "xlink:href", "action")
        ]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def rows(count: int) -> list[Example]:
    """Questions whose strata are as hostile as a file's fields can be."""
    return [
        Example(
            id=f"x{i}",
            row=i,
            question=f"{HOSTILE} {i}",
            gold=(f"gold {i}",),
            metadata={
                "dataset": f"toy:{HOSTILE}.jsonl",
                "strata": {"gold answers": str(1 + i % 3), f"kind {HOSTILE}": [HOSTILE, "[1]", LONG][i % 3]},
            },
        )
        for i in range(count)
    ]


def answer(question: str, passages: Sequence[Passage], strategy: str, options: Mapping[str, Any],
           trace: Trace) -> Answer:  # fmt: skip
    number = int(question.rsplit(maxsplit=1)[-1])
    if strategy == "down":
        raise ServerFault(f"{HOSTILE} failed", 503)
    right = number % int(strategy) == 0
    return Answer(
        question=question,
        answers=(f"gold {number}" if right else HOSTILE,),
        confidence=0.9 if right else 0.1 * (number % 5),
        usage=Usage(calls=1, prompt_tokens=100 * int(strategy), completion_tokens=7, seconds=0.5),
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("run")
    entrants = [
        Entrant(label="always", strategy="1", prompts="h1"),
        Entrant(label=f"half {HOSTILE}", strategy="2", options={"k": HOSTILE}, prompts="h2"),
        Entrant(label=f"third {LONG}", strategy="3"),
        Entrant(label="down [1]", strategy="down"),
    ]
    notes = {f"toy:{HOSTILE}.jsonl": [f"a note {HOSTILE}"]}
    run(
        rows(24),
        entrants,
        ask=answer,
        out=out,
        manifest=MANIFEST,
        about={"versions": {"disputatio": HOSTILE}, "notes": notes},
    )
    return report(out, resamples=200)


def test_nobodys_text_becomes_markup(found: dict[str, Any]) -> None:
    text = page(found)
    reader = read(text)
    assert "script" not in reader.elements
    assert (reader.loads, reader.handlers) == ([], [])
    assert "<script" not in text.casefold()
    assert f"a note {HOSTILE}" in "".join(reader.text)  # as text it is all there
    assert "down [1]" in text
    assert LONG in text


def test_the_page_loads_nothing_and_says_so_to_the_browser(found: dict[str, Any]) -> None:
    text = page(found)
    assert "default-src &#x27;none&#x27;" in text or "default-src 'none'" in text
    for word in ("http://", "https://", "url(", "@import", "<link", "<img", "javascript:"):
        assert word not in text


def test_the_page_has_its_parts_in_the_order_in_which_they_are_read(found: dict[str, Any]) -> None:
    text = page(found)
    parts = [
        "<h1>Evaluation</h1>",
        '<p class="verdict">always leads</p>',
        "EM 100.0 %",
        "24 questions, 0 failed, 0 abstained",
        "<h4>EM of each strategy</h4>",
        "<h4>EM against tokens</h4>",
        "Scores, per cent [95 % interval]",
        "By kind of question",
        "<h4>By gold answers</h4>",
        "Risk against coverage",
        "Calibration",
        "All figures",
        "Paired differences",
        "What the figures rest on",
        "prompts h1",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
    assert read(text).elements.count("svg") == 6
    assert "prefers-color-scheme:dark" in text
    assert 'name="viewport"' in text


def test_the_front_and_the_withheld_are_told(found: dict[str, Any]) -> None:
    text = page(found)
    assert "Without scores: down [1] (24 of 24 questions failed" in text
    assert "always: 1=" not in text
    assert '<text x="' in text
    assert found["datasets"][0]["headline"]["front"] == ["always"]


def test_the_same_journal_gives_the_same_page(found: dict[str, Any]) -> None:
    assert page(found) == page(found)


def test_an_evaluation_without_records_has_a_page(tmp_path: Path) -> None:
    entrants = [Entrant(label="always", strategy="1")]
    run([], entrants, ask=answer, out=tmp_path, manifest=MANIFEST)
    text = page(report(tmp_path))
    read(text)
    assert "Nothing to rank yet" in text
    assert "No records yet." in text


def test_an_evaluation_that_only_failed_has_a_page(tmp_path: Path) -> None:
    run(rows(2), [Entrant(label="down", strategy="down")], ask=answer, out=tmp_path, manifest=MANIFEST)
    text = page(report(tmp_path))
    read(text)
    assert "down: 2 of 2 questions failed" in text


def test_control_characters_and_directions_are_taken_out_of_text() -> None:
    assert escape("a\x1b[31m\u202eb\x00<c>") == "a[31mb&lt;c&gt;"


def test_a_column_without_figures_is_set_as_text() -> None:
    table = Table(title="t", head=["a", "b", "c"], rows=[["x", "1.0", "because"], ["y", "–", "it was"]])
    shown = grid(table)
    assert shown.count('<td class="text">') == 2
    assert "<td>1.0</td>" in shown
