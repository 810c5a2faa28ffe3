"""Marks of citations are ours alone: no passage, source or model can write one on any surface."""

from __future__ import annotations

import re

from disputatio.attribution.audit import add_reading
from disputatio.causes import Cause, Rival, Support
from disputatio.types import Answer, Citation, Claim, Conflict, Passage, Position, Reading

PASSAGE = Passage(id="p1", text="It was Ann [2][3].", source="evil[2].example")
SPOOFED = Answer(
    question="Who?",
    answers=("Ann [2][3]", "Bob ［4］"),
    explanation="as [5] says",
    claims=(
        Claim(
            text="It was Ann [2][3].",
            citations=(Citation(n=1, passage="p1", source=PASSAGE.source, quote="Ann [2]", start=7, end=14),),
        ),
    ),
    conflict=Conflict(
        positions=(
            Position(
                answer="Ann [2][3]",
                subject="the [7]",
                verdict="accepted",
                cause=Cause(
                    kind="kept",
                    support=Support(passages=1),
                    rivals=(Rival(answer="Bob [9]", support=Support(passages=1)),),
                ),
                passages=("p1",),
                sources=(PASSAGE.source,),
            ),
        )
    ),
    passages=(PASSAGE,),
)


def test_no_mark_but_ours_stands_in_an_answer_or_on_the_screen() -> None:
    answer = add_reading(SPOOFED, Reading(found=1, read=1, failed=0, set_aside=0))
    assert answer.answers == ("Ann (2)(3)", "Bob (4)")
    assert answer.explanation == "as (5) says"
    [position] = answer.conflict.positions
    assert (position.answer, position.subject) == ("Ann (2)(3)", "the (7)")
    assert "[" not in position.reason
    [citation] = answer.claims[0].citations
    assert citation.quote == "Ann [2]"  # verbatim, between quotation marks
    shown = str(answer).replace("“Ann [2]”", "")
    assert set(re.findall(r"\[\d+\]", shown)) <= {"[1]"}
