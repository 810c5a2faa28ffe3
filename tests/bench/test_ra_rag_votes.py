"""What sources are heard to say is counted by what they tell."""

from __future__ import annotations

from disputatio.types import Example, Passage
from tests.bench.scripts import script

votes = script("ra_rag_votes")
TELLS = [("a", "factual", "1850"), ("b", "misinformation", "1851"), ("c", "misinformation", "1852"),
         ("d", "misinformation", "1851"), ("e", "irrelevant", "")]  # fmt: skip
EXAMPLE = Example(
    id="x",
    row=0,
    question="When?",
    gold=("1850",),
    passages=tuple(
        Passage(id=f"{name}{n}", text=answer or "Else.", source=name, metadata={"true_reliability": "0.9"})
        for name, _, answer in TELLS
        for n in range(2)
    ),
    metadata={
        "types": tuple(kind for _, kind, _ in TELLS for _ in range(2)),
        "answers": tuple(answer for _, _, answer in TELLS for _ in range(2)),
    },
)


def test_cells_are_by_what_a_source_tells_and_in_which_cluster_it_was_heard() -> None:
    made = votes.cells(EXAMPLE, {"a": 0, "b": 1, "c": 1})
    assert [(cell.kind, cell.told, cell.heard) for cell in made.values()] == [
        ("factual", "1850", 0),
        ("misinformation", "1851", 1),
        ("misinformation", "1852", 1),
        ("misinformation", "1851", None),
        ("irrelevant", "", None),
    ]


def test_liars_that_are_heard_alike_are_told_from_liars_that_tell_the_same() -> None:
    text = votes.report([votes.cells(EXAMPLE, {"a": 0, "b": 1, "c": 1, "d": 2, "e": 0})])
    rows = {cells[1].strip(): cells[2:4] for line in text.splitlines() if (cells := line.split("|"))[1:]}
    shares = {name: tuple(cell.strip() for cell in cells) for name, cells in rows.items()}
    assert shares["misinformation"] == ("3", "100")
    assert shares["different lies"] == ("2", "50")
    assert shares["the same lie"] == ("1", "0")
    assert shares["a truth and a lie"] == ("3", "0")
    assert shares["one or both nothing"] == ("4", "25")
    assert shares["both the truth"] == ("0", "–")


def test_estimates_stand_beside_the_truth() -> None:
    rows = votes.estimates([EXAMPLE], [{"a": 0, "b": 1, "c": 1}]).splitlines()
    assert rows[2:5] == ["| a | 0.9 | 0.00 |", "| b | 0.9 | 1.00 |", "| c | 0.9 | 1.00 |"]
