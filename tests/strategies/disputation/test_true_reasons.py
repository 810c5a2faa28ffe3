"""Every reason that is given against a passage is true, as a person judged it (`reasons.jsonl`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from disputatio.strategies.disputation.reading import PassageReading
from disputatio.strategies.disputation.sides import unfit, weigh
from disputatio.types import Passage, Reply

ROWS = [
    json.loads(line) for line in Path(__file__).with_name("reasons.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['question']} {row['answer']}")
def test_a_reason_is_given_where_a_person_gives_it(row: dict[str, str]) -> None:
    passage = Passage(id="p", text=row["passage"], title=row["title"])
    reply = Reply(passages=("p",), answer=row["answer"])
    [side] = weigh(row["question"], [PassageReading(passage=passage, reply=reply)], {})
    assert (unfit(side.features) or "") == row["reason"]
    if not row["reason"]:
        assert side.features.get("prose", 1.0) > 0.3, "it stands in a text"
        assert side.features["lead"] > 0, "it is about the subject"
