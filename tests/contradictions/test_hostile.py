"""Hostile documents: bounded work, no markup, no other place than the document's own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import disputatio as d
from disputatio import Passage
from disputatio.contradictions import changes
from disputatio.contradictions.statements import facts_of
from disputatio.contradictions.units import LONGEST, style_of, units_of
from disputatio.rendering.checks import check_page, check_sarif, check_text


@pytest.mark.long
@pytest.mark.parametrize(
    "piece",
    [
        "1 ",
        "1,",
        "a-",
        "A. ",
        "12 to 13 to ",
        "is is ",
        "not ",
        "| ",
        "x: y; ",
        "1.1.",
        "(",
        "between 1 and ",
        "v1.",
        "The X is ",
    ],
)
def test_reading_a_document_takes_time_that_grows_with_its_length_alone(piece: str) -> None:
    def seconds(count: int) -> float:
        text = piece * count
        start = time.perf_counter()
        style = style_of(text)
        for unit in units_of(text, ""):
            assert unit.end - unit.start <= 2 * LONGEST
            facts_of(text, unit, "", *style)
        return time.perf_counter() - start

    seconds(100)
    assert seconds(40_000) < 2 + 40 * max(seconds(4_000), 0.01)


@pytest.mark.long
def test_sentences_that_repeat_one_frame_are_not_compared_all_with_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []
    monkeypatch.setattr(changes, "_find_difference", lambda one, other: compared.append(1))
    for count, most in ((changes.ALIKE, changes.ALIKE**2), (300, 0)):
        for version in (1, 2):
            lines = (f"Boats may moor at the berth q{version}x{number} today." for number in range(count))
            (tmp_path / f"guide-v{version}.md").write_text("# Guide\n\n" + "\n\n".join(lines))
        compared.clear()
        d.check(tmp_path)
        assert len(compared) == most


def test_quotes_become_neither_markup_nor_lines_nor_controls() -> None:
    text = "The <script>alert(1)</script> tower\u202e is 40 m high.\x1b[31m"
    result = d.check(
        [
            Passage(text=text, title="</title><b>"),
            Passage(text=text.replace("40", "44"), source="javascript:x"),
        ]
    )
    assert result.contradictions
    page = check_page(result)
    assert "<script" not in page
    assert "<b>" not in page
    assert "\u202e" not in page
    assert "\x1b" not in check_text(result)


@pytest.mark.parametrize(
    "path", ["javascript:alert(1)", "//evil.example/x", "a\nb", "../../etc/passwd", "c:\\x"]
)
def test_a_location_of_sarif_is_no_address_elsewhere(path: str) -> None:
    rows = [Passage(text="The tower is 40 m high.", id=path), Passage(text="The tower is 44 m high.", id="b")]
    log = check_sarif(d.check(rows), version="1")
    [result] = log["runs"][0]["results"]
    places = [result["locations"][0], result["relatedLocations"][0]]
    for place in places:
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert ":" not in uri
        assert not uri.startswith("//")
        assert "\n" not in uri


@pytest.mark.long
def test_many_documents_with_one_sentence_and_a_figure_each_are_bounded() -> None:
    texts = [f"The tower is {number} m high." for number in range(3_000)]
    result = d.check([Passage(text=text) for text in texts])
    assert result.compared <= 3_000 * 24 * 3
    assert len(result.contradictions) <= 2_000
    assert result.left_out > 0 or len(result.contradictions) < 2_000
