"""Versions of a document: what is in force wins inside its family, and nothing wins by its words alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from disputatio.errors import InputError
from disputatio.kit import Kit
from disputatio.llm.scripted import NoModel
from disputatio.pipeline import ask
from disputatio.rendering.reasons import reason
from disputatio.store.in_memory import InMemory
from disputatio.store.ingesting.statements import with_statements
from disputatio.strategies.disputation.changes import find_changes
from disputatio.strategies.disputation.reading import PassageReading, extract
from disputatio.strategies.disputation.resolve import ResolvedSide, conflict_of, is_newer, resolve
from disputatio.strategies.disputation.sides import weigh
from disputatio.types import Answer, Extraction, Passage, Position, Relation, Reply
from disputatio.versions.families import family_names

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


def test_the_dates_of_a_reason_are_those_of_the_documents_that_it_is_about() -> None:
    later = Passage(
        id="later", text="A bed costs 15 crowns.", source="inn", date="2025-04-01", date_origin="stated"
    )
    other = PassageReading(passage=later, reply=Reply(passages=("later",), answer="15 crowns"))
    made = resolved(read("12 crowns", V1, date="2019-03"), read("15 crowns", V2), other)
    assert "(2024-05-01 after 2019-03)" in reason(position(made["12 crowns"]))


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


# --- the day that is asked for --------------------------------------------------------------------
def ferry(version: int, words: str, head: str = "", **about: str) -> Passage:
    title = f"Ferry rules, version {version}"
    text = f"{title}\n{head}\n\n{words}"
    passage = Passage(id=f"v{version}", document=f"d{version}", text=text, source="port", title=title)
    made = with_statements(replace(passage, document=""))
    return replace(made, document=passage.document, **about)  # type: ignore[arg-type]  # texts of a passage


OLD = ferry(
    1, "A ticket for the ferry costs 3 euros. Dogs travel free.", date="2019-04", date_origin="stated"
)
NEW = ferry(2, "A ticket for the ferry costs 4 euros. Cats pay half.", "In force from 1 May 2024.")


class Reader:
    """A reader that finds the sum of euros in a passage."""

    name = "made"

    def read(self, question: str, passages: Sequence[Passage]) -> list[Extraction]:
        found = [re.search(r"\d euros", passage.text) for passage in passages]
        return [
            Extraction(answer=match[0], start=match.start(), end=match.end(), probability=0.9, passage=p.id)
            if match
            else Extraction(answer="", start=0, end=0, probability=0.0, passage=p.id)
            for match, p in zip(found, passages, strict=True)
        ]


def asked(question: str, passages: Sequence[Passage], *, today: str = "", **options: object) -> Answer:
    kit = Kit(model=NoModel(), retriever=InMemory(passages), reader=Reader(), today=today)
    return ask(question, kit=kit, options=options, verify=False)


FEE = "How much does a ticket for the ferry cost?"


@pytest.mark.long
def test_the_answer_of_a_day_has_what_holds_today_beside_it() -> None:
    answer = asked(FEE, [OLD, NEW], as_of="2022")
    assert answer.answers == ("3 euros",)
    assert [position.cause.kind for position in answer.conflict.positions] == ["unanimous", "later"]
    assert answer.details["today"] == ["4 euros"]
    assert answer.claims[-1].text.startswith("Today: ")
    assert answer.claims[-1].citations[0].passage == "v2"
    [_, today] = asked("What was the fare of the ferry in 2021?", [OLD, NEW]).claims
    assert today.text.startswith("Today: The fare of the ferry is 4 euros")
    rival = replace(NEW, id="r", document="r", source="guide", text="A ticket for the ferry costs 9 euros.")
    answer = asked(
        FEE, [OLD, NEW, replace(rival, relations=(), version="", family="", title="")], as_of="2022"
    )
    assert [claim.text.partition(":")[0] for claim in answer.claims[1:]] == ["Today, disputed"] * 2
    [only] = asked("How much was a ticket for the ferry in version 1 of the ferry rules?", [OLD, NEW]).claims[
        1:
    ]
    assert "4 euros" in only.text
    second = asked("How much was a ticket for the ferry in version 2 of the ferry rules?", [OLD, NEW])
    assert [claim.text[:5] for claim in second.claims] != ["Today"]
    now = asked(FEE, [OLD, NEW], as_of="2024-06")
    assert (now.answers, "today" in now.details) == (("4 euros",), False)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How much did a ticket for the ferry cost in 2021?", "3 euros"),
        ("How much did a ticket for the ferry cost before the change?", "3 euros"),
        ("How much is a ticket for the ferry by version 1?", "3 euros"),
        ("How much was a ticket for the ferry before version 2?", "3 euros"),
        ("How much does a ticket for the ferry cost currently?", "4 euros"),
        ("How much did a ticket for the ferry cost in 2025?", "4 euros"),
    ],
)
def test_words_of_a_question_choose_among_versions(question: str, expected: str) -> None:
    assert asked(question, [OLD, NEW]).answers == (expected,)


def test_no_version_answers_for_a_day_that_is_set_before_the_first_one() -> None:
    draft = ferry(3, "A ticket for the ferry costs 6 euros.", "Draft.")
    assert asked(FEE, [OLD, NEW, draft], as_of="1990").answers == ()


@pytest.mark.parametrize(
    ("question", "documents", "expected"),
    [
        ("How much did a ticket for the ferry cost on 1 March 1966?", [OLD, NEW], "4 euros"),
        ("How much did a ticket for the ferry cost in 1966?", [NEW], "4 euros"),
        ("How much did a ticket for the ferry cost in 1966?", [OLD], "3 euros"),
        ("How much did a ticket for the ferry cost in 2021?", [OLD, NEW], "3 euros"),
    ],
)
def test_the_day_of_an_event_sets_nothing_aside_that_was_written_later(
    question: str, documents: list[Passage], expected: str
) -> None:
    answer = asked(question, documents)
    assert answer.answers == (expected,)
    later = [each.answer for each in answer.conflict.positions if each.cause.kind == "later"]
    assert later == (["4 euros"] if expected == "3 euros" and NEW in documents else [])


def test_words_of_a_question_set_no_other_documents_aside() -> None:
    report = replace(NEW, title="Report", version="", family="", source="press", relations=())
    assert asked("How much did a ticket for the ferry cost in 2021?", [report]).answers == ("4 euros",)


def test_before_the_change_nothing_counts_that_others_wrote_after_it() -> None:
    question = "How much did a ticket for the ferry cost before the change?"
    guide = Passage(
        id="g", document="g", source="guide", title="Coast guide", date="2025", date_origin="stated",
        text="A ticket for the ferry costs 9 euros.",
    )  # fmt: skip
    assert asked(question, [OLD, NEW, guide]).answers == ("3 euros",)
    early = asked(question, [OLD, NEW, replace(guide, date="2018")])
    assert "9 euros" in str(early.conflict.positions[-1])
    told = replace(guide, text="A ticket for the ferry was 3 euros before.")
    [position] = [
        each for each in asked(question, [OLD, NEW, told]).conflict.positions if "g" in each.passages
    ]
    assert position.verdict == "accepted"


def test_the_date_of_a_notice_says_nothing_of_sections_that_it_leaves_alone() -> None:
    terms = read("12 crowns", "Terms of the quay. The mooring fee at Corle is 12 crowns.", date="2019")
    notice = read(
        "15 crowns",
        "Notice. This notice amends section 3 of the terms. The mooring fee at Corle is 15 crowns.",
        date="2024",
    )
    for heading, newer in (("4 Fees", False), ("3 Fees", True)):
        old = replace(terms, passage=replace(terms.passage, metadata={"heading": heading}))
        sides = weigh(QUESTION, [old, notice], {}, ranked=False)
        mine, theirs = sorted(sides, key=lambda side: side.answer, reverse=True)
        assert is_newer(mine, theirs) is newer


def test_what_is_not_in_force_today_waits_and_an_answer_is_decided_again_by_the_same_day() -> None:
    early = asked(FEE, [OLD, NEW], today="2024-04-30")
    assert early.answers == ("3 euros",)
    assert early.basis is not None
    assert early.basis.details["today"] == "2024-04-30"
    assert early.without().answers == ("3 euros",)
    assert asked(FEE, [OLD, NEW], today="2024-05-01").answers == ("4 euros",)


def test_what_is_withdrawn_falls_today_and_may_have_held_on_another_day() -> None:
    withdrawn = replace(NEW, relations=(Relation(kind="withdrawn", quote="Status: withdrawn"),))
    assert asked(FEE, [OLD, withdrawn], today="2026-11-26").answers == ("3 euros",)
    assert asked(FEE, [OLD, withdrawn], today="2026-11-26", as_of="2025").answers == ("4 euros",)
    stamped = replace(NEW, relations=(Relation(kind="withdrawn", quote="WITHDRAWN on 8 October 2025"),))
    for day, answer in (("2025-09", "4 euros"), ("2025-11", "3 euros")):
        assert asked(FEE, [OLD, stamped], today="2026-11-26", as_of=day).answers == (answer,)
    then = asked("How much did a ticket for the ferry cost in 2025?", [OLD, withdrawn], today="2026-11-26")
    assert then.answers == ("4 euros",)


def test_as_of_refuses_what_is_no_date() -> None:
    with pytest.raises(InputError, match="as_of: 'soon' is not a date"):
        asked(FEE, [OLD, NEW], as_of="soon")


def test_the_other_version_of_what_answers_is_looked_for() -> None:
    others = [
        Passage(text=f"A ticket for the bus {n} costs more.", id=f"b{n}", source="bus") for n in range(9)
    ]
    answer = asked(FEE, [OLD, *others, NEW], k=1)
    assert answer.answers == ("4 euros",)


# --- changes --------------------------------------------------------------------------------------
def test_a_heading_that_repeats_the_title_is_no_change() -> None:
    headed = replace(OLD, text=f"# Ferry rules\n\n{OLD.text}", title="Ferry rules, version 1")
    answer = asked("What changed between version 1 and 2 of the ferry rules?", [headed, NEW])
    assert not any("Ferry rules" in change for change in answer.answers)


def test_the_line_that_dates_a_version_is_no_change() -> None:
    dated = replace(NEW, text=f"Date: 2019-12-15\n\n{NEW.text}")
    answer = asked("What changed between version 1 and 2 of the ferry rules?", [OLD, dated])
    assert not any("2019" in change for change in answer.answers)


@pytest.mark.parametrize("document", [" of the ferry rules", ""])
def test_what_changed_is_quoted_from_both_versions(document: str) -> None:
    answer = asked(f"What changed between version 1 and 2{document}?", [OLD, NEW])
    assert answer.answers == (
        "A ticket for the ferry costs 4 euros (before: 3)",
        "New: Cats pay half.",
        "No longer there: Dogs travel free.",
    )
    [changed, *_] = answer.claims
    assert [citation.quote for citation in changed.citations] == [
        "A ticket for the ferry costs 4 euros.",
        "A ticket for the ferry costs 3 euros.",
    ]
    texts = {passage.id: passage.text for passage in answer.passages}
    for citation in (citation for claim in answer.claims for citation in claim.citations):
        assert texts[citation.passage][citation.start : citation.end] == citation.quote
    assert answer.conflict.kind == "outdated"


def test_small_words_of_a_german_question_choose_no_change() -> None:
    ours = {"title": "Fährordnung", "family": "fährordnung"}
    old, new = (
        ferry(n, f"Die Fahrt kostet {n} Euro. Hunde zahlen {n + 5} Euro.", "", **ours) for n in (1, 2)
    )
    answer = asked("Was hat sich an der Fährordnung geändert und wie ist die neue Fassung?", [old, new])
    assert "Hunde zahlen 7 Euro (vorher: 6)" in answer.answers


def test_a_draft_is_compared_only_where_it_is_named() -> None:
    draft = ferry(3, "A ticket for the ferry costs 9 euros. Cats pay half.", "DRAFT of 4 May 2026")
    told = asked("What changed in the ferry rules?", [OLD, NEW, draft]).answers
    assert "A ticket for the ferry costs 4 euros (before: 3)" in told and "9 euros" not in str(told)
    told = asked("What changed between version 2 and 3 of the ferry rules?", [OLD, NEW, draft]).answers
    assert "A ticket for the ferry costs 9 euros (before: 4)" in told


def test_what_amends_the_later_of_two_versions_is_no_change_between_them() -> None:
    stated = amendment(
        "Notice", "This notice amends the ferry rules. Dogs pay 7 euros from May.", source="port"
    )
    asked_for = "What changed {} of the ferry rules?"
    assert "7 euros" in str(asked(asked_for.format("since version 1"), [OLD, NEW, stated]).answers)
    told = asked(asked_for.format("between version 1 and 2"), [OLD, NEW, stated]).answers
    assert told and "7 euros" not in str(told)


def test_a_small_word_in_the_place_of_several_is_told_with_its_sentence() -> None:
    old, new = (
        ferry(n, f"{boats} free for children.")
        for n, boats in ((1, "The raft is"), (2, "The raft and the tug are"))
    )
    [told] = asked("What changed between version 1 and 2 of the ferry rules?", [old, new]).answers
    assert told == "The raft and the tug are free for children (before: The raft is free for children)"


def test_of_a_sentence_that_changed_in_two_places_the_old_one_is_told_whole() -> None:
    old, new = (
        ferry(n, f"Dogs travel in {place} for {n} euros.") for n, place in ((1, "a box"), (2, "the bow"))
    )
    [told] = asked("What changed between version 1 and 2 of the ferry rules?", [old, new]).answers
    assert told == "Dogs travel in the bow for 2 euros (before: Dogs travel in a box for 1 euros)"


def test_rows_of_one_thing_are_told_as_differences_of_values() -> None:
    table = "Boat: Yacht; Night: {} crowns; Week: 100 crowns.\nBoat: {}; Night: 30 crowns; Week: 150 crowns."
    old, new = ferry(1, table.format(20, "Barge")), ferry(2, table.format(24, "Ketch"))
    assert asked("What changed between version 1 and 2 of the ferry rules?", [old, new]).answers == (
        "Yacht, Night: 24 crowns (before: 20 crowns)",
        "New: Boat: Ketch; Night: 30 crowns; Week: 150 crowns.",
        "No longer there: Boat: Barge; Night: 30 crowns; Week: 150 crowns.",
    )
    route = "Route: Corle; Day: Monday; Hour: {}.\nRoute: Corle; Day: Friday; Hour: 9."
    old, new = ferry(1, route.format(7)), ferry(2, route.format(8))
    [told] = asked("Qu'est-ce qui a changé entre la version 1 et 2 de ferry rules ?", [old, new]).answers
    assert told == "Corle, Monday, Hour: 8 (avant : 7)"


def test_a_change_of_one_thing_is_told_without_the_others() -> None:
    answer = asked("What changed for cats between version 1 and 2 of the ferry rules?", [OLD, NEW])
    assert answer.answers == ("New: Cats pay half.",)


def test_the_number_in_a_name_is_that_of_a_version_that_the_document_states() -> None:
    old = replace(OLD, title="Ferry handbook 1", family="ferry handbook 1", version="1.3")
    new = replace(NEW, title="Ferry handbook 2", family="ferry handbook 2", version="2.0")
    asked_for = "What changed in the ferry handbook between version 1 and version 2?"
    assert "A ticket for the ferry costs 4 euros (before: 3)" in asked(asked_for, [old, new]).answers
    assert asked("What does a ticket for the ferry cost?", [old, new]).answers == ("4 euros",)
    other = replace(new, title="Ferry 2", family="ferry 2", version="")
    assert family_names(other) == {"ferry 2"}


def test_versions_of_another_document_or_publisher_are_not_compared() -> None:
    assert "(before: 3)" not in str(asked("What changed in the tax rules?", [OLD, NEW]).answers)
    stranger = replace(NEW, source="stranger")
    answer = asked("What changed between version 1 and 2 of the ferry rules?", [OLD, stranger])
    assert "(before: 3)" not in str(answer.answers)


def test_the_versions_of_the_days_that_a_question_names_are_compared() -> None:
    third = ferry(
        3, "A ticket for the ferry costs 6 euros at least. Cats pay half.", "In force from 1 May 2026."
    )
    for words, change in [
        ("between 2021 and 2026", "6 euros at least (before: A ticket for the ferry costs 3 euros)"),
        ("between 2021 and 2025", "4 euros (before: 3)"),
        ("since 2025", "6 euros at least (before: A ticket for the ferry costs 4 euros)"),
        ("in 2024", "4 euros (before: 3)"),
    ]:
        answer = asked(f"What changed {words} in the ferry rules?", [OLD, NEW, third])
        assert answer.answers[0] == f"A ticket for the ferry costs {change}"


def test_what_is_added_to_a_sentence_is_shown_with_all_of_the_old_one() -> None:
    old, new = (
        ferry(n, f"Trips are booked through the portal{more}.") for n, more in ((1, ""), (2, " in time"))
    )
    [told] = asked("What changed in the ferry rules?", [old, new]).answers
    assert told == (
        "Trips are booked through the portal in time (before: Trips are booked through the portal)"
    )


def amendment(title: str, text: str, **fields: str) -> Passage:
    passage = Passage(id=title, document=title, title=title, text=f"{title}\n\n{text}", **fields)  # type: ignore[arg-type]
    return with_statements(passage)


FOUR = "In section 3 dogs travel on four days instead of two."


@pytest.mark.parametrize(
    "title",
    [
        "Amendment 1 to the ferry rules, in force from 1 May 2027",
        "Amendment No. 2 to the ferry rules",
        "First amendment of the ferry rules",
    ],
)
def test_what_an_amendment_in_a_file_of_its_own_states_is_quoted(title: str) -> None:
    text = (
        f"The rules change as follows:\n\n{FOUR} All other sections stay unchanged.\n\nMayor: Nora Maria Vahl"
    )
    stated = amendment(title, text, source="port")
    answer = asked("What changed in the ferry rules?", [NEW, stated])
    assert answer.answers == (f"New: {FOUR}",)
    [citation] = answer.claims[0].citations
    assert (citation.passage, citation.quote) == (title, FOUR)
    assert stated.text[citation.start : citation.end] == FOUR
    both = asked("What changed in the ferry rules?", [OLD, NEW, stated]).answers
    assert both[:2] == (f"New: {FOUR}", "A ticket for the ferry costs 4 euros (before: 3)")


def test_what_a_correction_of_a_document_states_is_quoted() -> None:
    said = "The ferry leaves on Sundays at 10:15 and not at 9:45."
    rules = with_statements(
        Passage(
            id="t", document="t", title="Timetable 2025", source="port",
            text="Timetable 2025\n\nThe ferry leaves on Sundays at 9:45.",
        )
    )  # fmt: skip
    stated = amendment("Correction of 3 April 2025 to the timetable 2025", said, source="port")
    [told] = asked("What changed in the timetable?", [rules, stated]).answers
    assert "10:15" in told


def test_an_amendment_of_another_section_than_the_one_that_was_found_is_quoted_too() -> None:
    dogs = replace(NEW, metadata={"heading": "2 Fares"})
    stated = amendment("Notice", f"This notice amends section 3 of the ferry rules. {FOUR}", source="port")
    assert f"New: {FOUR}" in asked("What changed in the ferry rules?", [dogs, stated]).answers


@pytest.mark.parametrize("name", ["ferry bylaws", "conditions of the ferry", "ferry ordinance"])
def test_bylaws_and_conditions_are_rules_that_change(name: str) -> None:
    rules = Passage(id="r", document="r", text="Dogs travel on two days.", title=name, source="port")
    stated = amendment(f"Amendment to the {name}", FOUR, source="port")
    [told] = asked(f"What changed in the {name}?", [rules, stated]).answers
    assert told == f"{FOUR[:-1]} (before: Dogs travel on two days)"


@pytest.mark.parametrize(
    ("name", "title", "question"),
    [
        ("Abfallsatzung", "Erste Satzung zur Änderung der Abfallsatzung", "Was wurde an der {} geändert?"),
        ("Fährordnung", "Nachtrag Nr. 2 zur Fährordnung", "Was hat sich an der {} geändert?"),
        ("Fährordnung", "2. Nachtrag zur Fährordnung", "Was hat sich an der {} geändert?"),
        ("Règlement du bac", "Avenant n° 1 au règlement du bac", "Qu'est-ce qui a changé dans le {} ?"),
    ],
)
def test_german_and_french_amendments_are_quoted_too(name: str, title: str, question: str) -> None:
    rules = Passage(id="r", document="r", text=name, title=name, source="port")
    told = asked(question.format(name), [rules, amendment(title, "Paris, 4 bis 7 Euro.", source="port")])
    new = "Nouveau : " if "Avenant" in title else "Neu: "
    assert told.answers == (f"{new}Paris, 4 bis 7 Euro.",)


def test_an_amendment_in_one_sentence_is_quoted_whole() -> None:
    title = "Amendment 1 to the ferry rules, in force from 1 May 2027: dogs on four days, not on two"
    only = with_statements(Passage(id="a", document="a", text=title, source="port"))
    [told] = asked("What changed in the ferry rules?", [NEW, only]).answers
    assert told == f"New: {title}"


def test_an_amendment_of_another_document_or_publisher_is_not_quoted() -> None:
    stranger = amendment("Amendment 1 to the ferry rules", FOUR, source="stranger")
    other = amendment("Amendment 1 to the parking rules", FOUR, source="port")
    for passage in (stranger, other):
        assert f"New: {FOUR}" not in asked("What changed in the ferry rules?", [OLD, NEW, passage]).answers


def test_an_amendment_is_quoted_of_the_document_and_version_that_is_asked_about() -> None:
    stated, third = (
        amendment("Amendment 1 to the ferry rules", FOUR, source="port"),
        ferry(3, "Cats pay all."),
    )
    for question in ("What changed in the tax rules?", "What changed in version 3 of the ferry rules?"):
        assert f"New: {FOUR}" not in asked(question, [NEW, stated]).answers
    told = asked("What changed between version 1 and 2 of the ferry rules?", [OLD, NEW, third]).answers
    assert not any("all" in change for change in told)


def test_an_amendment_counts_among_files_without_a_publisher_but_no_upload_does() -> None:
    rules = replace(NEW, source="ferry-rules", family="ferry rules")
    note = replace(amendment("Amendment 1 to the ferry rules", FOUR, source="change-1"), family="change 1")
    assert asked("What changed in the ferry rules?", [rules, note]).answers == (f"New: {FOUR}",)
    for other in (replace(note, owner="uploads"), replace(note, url="https://a.example/note")):
        assert f"New: {FOUR}" not in asked("What changed in the ferry rules?", [rules, other]).answers
    binding = replace(rules, authority="binding")
    assert f"New: {FOUR}" not in asked("What changed in the ferry rules?", [binding, note]).answers


def test_a_heading_is_no_change_and_a_broken_line_is_one_sentence() -> None:
    before = Passage(
        text="Tariff of the quay\n\nThe crane of the quay is let by the hour at 40 euros to all\nregistered"
        " boats. Dogs are not allowed on the quay.",
        id="a",
    )
    after = Passage(
        text="What it costs, and who may come\n\nThe crane of the quay is let by the hour at 45 euros\n"
        "to all registered boats. Dogs are allowed on the quay.",
        id="b",
    )
    changes = find_changes([before], [after])
    texts = [(change.old and change.old.text, change.new and change.new.text) for change in changes]
    assert [new.split("45")[0] for _, new in texts if new and "45" in new] == [
        "The crane of the quay is let by the hour at "
    ]
    assert texts[1:] == [("Dogs are not allowed on the quay.", "Dogs are allowed on the quay.")]


# --- rows and sentences within a text ---------------------------------------------------------------
def test_a_row_within_a_text_gives_the_column_that_is_asked_for() -> None:
    rows = "\n".join(
        f"Model: {name}; Fare: {fare} euros; Fee: 9 euros." for name, fare in (("A1", 2), ("A2", 3))
    )
    table = Passage(id="t", text=f"Fares of the ferry\n\n{rows}", source="port")
    [reading] = extract(
        "How much is the fare of the model A2?",
        [table],
        Kit(model=NoModel(), retriever=InMemory([]), reader=Reader()),
    )
    assert reading.answer == "3 euros"


def test_the_quote_is_the_sentence_that_is_nearest_to_the_question() -> None:
    text = "Fines are 4 euros. A ticket for the ferry costs 4 euros."
    passage = Passage(id="t", text=text, source="port")
    [reading] = extract(FEE, [passage], Kit(model=NoModel(), retriever=InMemory([]), reader=Reader()))
    assert reading.reply.quote == "A ticket for the ferry costs 4 euros."
