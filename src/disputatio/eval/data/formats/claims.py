"""Claims of public figures with verdicts: LIAR, RA-RAG's real sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from disputatio.eval.data.formats.format import DatasetFormat
from disputatio.eval.data.formats.menus import with_options
from disputatio.eval.data.rows import Place, scalar_text, string
from disputatio.text import one_line
from disputatio.types import Example

COLUMNS = (
    "id",
    "label",
    "statement",
    "subjects",
    "speaker",
    "job",
    "state",
    "party",
    "barely_true",
    "false",
    "half_true",
    "mostly_true",
    "pants_on_fire",
    "context",
)
HOLDS = {
    "true": "yes",
    "mostly-true": "yes",
    "half-true": "yes",
    "barely-true": "no",
    "false": "no",
    "pants-fire": "no",
}


def liar(row: Mapping[str, Any], place: Place) -> Example:
    """Return a claim of LIAR (Wang 2017), asked as RA-RAG asks: is it true?

    Half-true and above counts as yes, barely-true and below as no. Its speaker is in the metadata.
    """
    label = string(row, "label", place)
    if label not in HOLDS:
        raise place.wrong(f"label {label!r} is none of {', '.join(HOLDS)}")
    claim = one_line(string(row, "statement", place)).rstrip(".")
    right = HOLDS[label]
    return place.example(
        row,
        with_options(f"Is it true that {claim}?", ("yes", "no")),
        gold=(right,),
        wrong=("no" if right == "yes" else "yes",),
        id=scalar_text(row, "id"),
        claim=claim,
        speaker=scalar_text(row, "speaker"),
        options=("yes", "no"),
        strata={"verdict": label},
    )


FORMATS = (
    DatasetFormat(
        name="liar",
        description="claims with their speakers and PolitiFact's verdicts (LIAR)",
        origin="Wang 2017, arXiv:1705.00648; www.cs.ucsb.edu/~william/data/liar_dataset.zip",
        licence="research use",
        shape="a table with tabs and no head (train.tsv, valid.tsv, test.tsv)",
        fields=", ".join(COLUMNS),
        measure="accuracy: yes (half-true and above) or no",
        metrics=("choice",),
        loader=liar,
        shapes=(("statement", "label", "speaker"),),
        passages=False,
        columns=COLUMNS,
        quoted=False,
        files=("test.tsv",),
    ),
)
