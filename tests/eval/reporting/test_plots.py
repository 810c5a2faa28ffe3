"""Drawings are well-formed, stay inside their frame, and tell strategies apart."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from disputatio.eval.reporting.plots import Axis, Mark, curves, forest, kinds, scatter, shape_of

MARKS = [
    Mark(name="a <b> & c", number=0, value=0.41, span=[0.33, 0.49], x=812, caption="812 tokens", strong=True),
    Mark(name="plain", number=1, value=0.29, span=[0.2, 0.4], x=90, caption="90 tokens"),
    Mark(name="w" * 60, number=2, value=0.4, x=9000, caption="9,000 tokens"),
]


def drawing(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def inside(element: ElementTree.Element) -> bool:
    """Return whether all words and marks lie in the frame."""
    _, _, width, height = map(float, element.attrib["viewBox"].split())
    places = [(float(node.attrib["x"]), float(node.attrib["y"])) for node in element.iter("text")]
    for node in element.iter("path"):
        if match := re.match(r"M([\d.-]+) ([\d.-]+)", node.attrib["d"]):
            places.append((float(match[1]), float(match[2])))
    return all(-1 <= x <= width + 1 and -1 <= y <= height + 1 for x, y in places)


@pytest.mark.parametrize(
    "text",
    [
        forest(MARKS, title="EM <1>", below="EM"),
        scatter(MARKS, ["plain", "a <b> & c"], title="t", below="tokens", beside="EM"),
        scatter(MARKS[:1], [], title="t", below="tokens", beside="EM"),
        curves({"a": [(0.2, 0.1), (0.9, 0.4)], "b": [(1.0, 0.7)]}, {"a": 0, "b": 1}, title="t", below="x",
               beside="y"),
        curves({"a": [(0.0, 1.0), (1.0, 0.0)]}, {"a": 9}, title="t", below="x", beside="y", diagonal=True),
        kinds(["1", "<2>", "x" * 90], [[MARKS[0], None, MARKS[0]], [MARKS[1]] * 3], title="t", below="kind",
              beside="EM"),
        forest([Mark(name="g", number=0, value=-0.2, span=[-0.5, 0.1])], title="t", below="", per_cent=False),
        forest([Mark(name="g", number=0, value=0.0)], title="t", below="b", per_cent=False),
        scatter([Mark(name="free", number=0, value=0.0, x=0.0)], ["free"], title="t", below="b", beside="s"),
    ],
)  # fmt: skip
def test_a_drawing_is_well_formed_and_within_its_frame(text: str) -> None:
    assert inside(drawing(text))
    assert "<b>" not in text


def test_a_long_name_is_cut_and_stands_whole_in_its_title() -> None:
    text = forest(MARKS, title="t", below="b")
    assert f">{'w' * 19}…<title>{'w' * 60}</title>" in text


def test_the_front_is_joined_by_a_line_and_bold() -> None:
    element = drawing(scatter(MARKS, ["plain", "a <b> & c"], title="t", below="b", beside="s"))
    (line,) = (node for node in element.iter("polyline") if node.attrib["class"] == "front")
    assert len(line.attrib["points"].split()) == 2
    strong = [node.text for node in element.iter("text") if node.attrib.get("class") == "strong"]
    assert sorted(map(str, strong)) == ["a <b> & c", "plain"]


def test_costs_that_are_far_apart_get_a_logarithmic_axis() -> None:
    axis = Axis(low=10, high=1000, start=0, end=200, logarithmic=True)
    assert axis.at(100) == pytest.approx(100)
    assert [word for _, word in axis.ticks()] == ["10", "20", "50", "100", "200", "500", "1k"]
    wide = Axis(low=10, high=10_000, start=0, end=200, logarithmic=True)
    assert [word for _, word in wide.ticks()] == ["10", "100", "1k", "10k"]


def test_of_many_marks_only_the_front_is_named() -> None:
    many = [Mark(name=f"strategy {i}", number=i, value=0.3, x=100 + i) for i in range(9)]
    element = drawing(scatter(many, ["strategy 0"], title="t", below="b", beside="s"))
    named = [node.text for node in element.iter("text") if (node.text or "").startswith("strategy")]
    assert named == ["strategy 0"]


def test_ticks_are_round_and_within_the_axis() -> None:
    axis = Axis(low=0.0, high=0.5, start=300, end=20, per_cent=True)
    assert [word for _, word in axis.ticks()] == ["0", "10", "20", "30", "40", "50"]
    assert all(20 <= at <= 300 for at, _ in axis.ticks())


def test_names_that_crowd_do_not_overlap() -> None:
    crowd = [Mark(name=f"strategy {i}", number=i, value=0.4 + i / 50, x=1000 + 30 * i) for i in range(5)]
    element = drawing(scatter(crowd, [], title="t", below="b", beside="s"))
    places = [
        (float(one.attrib["x"]), float(one.attrib["y"]), 6.1 * len(one.text or ""))
        for one in element.iter("text")
        if (one.text or "").startswith("strategy")
    ]
    clashes = [
        (place, other)
        for at, place in enumerate(places)
        for other in places[at + 1 :]
        if abs(place[1] - other[1]) < 8 and place[0] < other[0] + other[2] and other[0] < place[0] + place[2]
    ]
    assert clashes == []


def test_thirty_two_strategies_look_different() -> None:
    assert len({(shape_of(number), number % 8) for number in range(32)}) == 32
