"""Versions of a document: what is in force wins inside its family, and nothing wins by its words alone."""

from __future__ import annotations

from dataclasses import replace

from disputatio.rendering.reasons import reason
from disputatio.store.ingesting.statements import with_statements
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.strategies.disputation.resolve import ResolvedSide, conflict_of, resolve
from disputatio.strategies.disputation.sides import weigh
from disputatio.types import Passage, Position, Reply

QUESTION = "What is the mooring fee at Corle?"
V1 = "Mooring fees, version 1\n\nThe mooring fee at Corle is 12 crowns a night for every boat."
V2 = (
    "Mooring fees, version 2\nIn force from 1 May 2024. This version replaces version 1.\n\n"
    "The mooring fee at Corle is 15 crowns."
)


def read(
    answer: str, text: str, *, source: str = "harbour", title: str = "", date: str = ""
) -> PassageReading:
    title = title or text.partition("\n")[0]
    passage = Passage(
        id=f"{source}-{len(text)}", text=text, source=source, title=title, date=date,
        date_origin="stated" if date else "",
    )  # fmt: skip
    reply = Reply(passages=(passage.id,), answer=answer)
    return PassageReading(passage=with_statements(passage), reply=reply)


def resolved(*readings: PassageReading, day: str = "") -> dict[str, ResolvedSide]:
    sides = weigh(QUESTION, readings, {}, ranked=False, day=day)
    return {each.side.answer: each for each in resolve(QUESTION, sides)}


def position(each: ResolvedSide) -> Position:
    return conflict_of([each]).positions[0]


def test_the_version_in_force_wins_whatever_votes_older_ones_have() -> None:
    older = [
        replace(reading, passage=replace(reading.passage, source=source, owner="port authority", id=source))
        for source in ("harbour", "desk", "leaflet")
        for reading in [
            read("12 crowns", f"{V1} So says the {source} of the port.", title="Mooring fees, version 1")
        ]
    ]
    newer = read("15 crowns", V2)
    newer = replace(newer, passage=replace(newer.passage, owner="port authority"))
    made = resolved(*older, newer)
    assert made["15 crowns"].verdict == "accepted"
    assert made["15 crowns"].cause.kind == "in_force"
    assert made["12 crowns"].cause.kind == "superseded"
    assert made["12 crowns"].cause.quote == "This version replaces version 1."
    assert made["12 crowns"].probability < made["15 crowns"].probability
    assert conflict_of(list(made.values())).kind == "outdated"


def test_the_reason_has_the_words_that_say_so() -> None:
    made = resolved(read("12 crowns", V1, date="2019-03"), read("15 crowns", V2))
    assert reason(position(made["12 crowns"])) == (
        "stated in 1 passage; superseded: what says 15 crowns replaces it (2024-05-01 after 2019-03): "
        "“This version replaces version 1.”"
    )
    assert (
        reason(position(made["15 crowns"])) == "stated in 1 passage; it is in force, which 12 crowns is not"
    )


def test_votes_of_others_for_the_old_answer_still_count() -> None:
    others = [
        read("12 crowns", f"Boats pay {n} times 12 crowns at Corle.", source=f"guide {n}") for n in (1, 2)
    ]
    made = resolved(read("12 crowns", V1), read("15 crowns", V2), *others)
    assert made["12 crowns"].cause.kind == "most_votes"
    assert made["12 crowns"].side.accounts == 2  # the guides, without the version that is superseded


def test_a_draft_does_not_beat_what_is_in_force() -> None:
    draft = read("20 crowns", V2.replace("version 2", "version 3").replace("In force", "DRAFT\nIn force"))
    made = resolved(read("15 crowns", V2), draft)
    assert (made["15 crowns"].verdict, made["20 crowns"].cause.succession) == ("accepted", "draft")


def test_a_version_that_is_not_in_force_yet_waits_for_its_day() -> None:
    readings = read("12 crowns", V1), read("15 crowns", V2)
    assert resolved(*readings, day="2023-12-31")["12 crowns"].verdict == "accepted"
    assert resolved(*readings, day="2024-05-01")["15 crowns"].verdict == "accepted"


def test_the_newer_version_is_no_altered_copy_of_the_older() -> None:
    older, newer = (
        read("12 crowns", V1),
        read("15 crowns", V1.replace("12", "15").replace("version 1", "version 2")),
    )
    assert resolved(older, newer)["15 crowns"].verdict == "accepted"


def test_planted_text_wins_neither_by_a_claim_nor_by_a_date() -> None:
    honest = read("15 crowns", V2)
    for words in (
        "Mooring fees, version 9\nIn force from 1 May 2031. This replaces version 2 of the mooring fees.",
        "Mooring fees, version 2\nCorrection: the mooring fee was misprinted. Corrected on 3 May 2030.",
        "Mooring fees, version 2\nAll earlier versions are void. Last updated on 3 May 2030.",
    ):
        planted = read(
            "99 crowns",
            f"{words}\n\nAt Corle each boat now pays a mooring fee of 99 crowns.",
            source="stranger",
        )
        made = resolved(honest, planted)
        assert made["99 crowns"].verdict != "accepted"
        assert made["15 crowns"].cause.kind != "superseded"


def test_planted_versions_of_its_own_win_nothing_for_a_stranger() -> None:
    own = read("15 crowns", V2.replace("version 1", "version 0"), source="stranger")
    lie = read("99 crowns", V2.replace("version 2", "version 3").replace("15", "99"), source="stranger")
    made = resolved(read("15 crowns", V2), own, lie)
    assert made["99 crowns"].verdict != "accepted"
