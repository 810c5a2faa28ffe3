"""Succession of documents, and the attacks by those that only claim to take the place of another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from disputatio.reliability.succession import are_versions, is_later_published, succession
from disputatio.store.ingesting.statements import with_statements
from disputatio.types import Passage, Relation
from disputatio.versions.families import one_publisher

OLD = Passage(
    id="old", document="old", text="The mooring fee is 12 crowns a night.", source="harbour", version="1",
    family="mooring fees", date="2019-03", date_origin="stated",
)  # fmt: skip
NEW = replace(OLD, id="new", document="new", text="Boats pay 15 crowns.", version="2", date="2024")
REPLACES = Relation(kind="replaces", target="version 1", quote="This version replaces version 1.")


def found(newer: Passage, older: Passage, day: str = "") -> tuple[str, bool] | None:
    claim = succession(newer, older, day)
    return None if claim is None else (claim.kind, claim.believed)


def test_a_higher_version_or_a_later_date_of_one_family_takes_the_place_of_the_other() -> None:
    assert found(NEW, OLD) == ("version", True)
    assert found(OLD, NEW) is None
    assert found(replace(NEW, version=""), replace(OLD, version="")) == ("date", True)
    assert found(replace(NEW, version="", date="2019"), replace(OLD, version="")) is None  # as far as both go
    assert found(replace(NEW, date="2018"), OLD) is None  # number and date contradict each other
    assert found(replace(NEW, version="", date=""), replace(OLD, version="")) is None
    assert found(replace(NEW, family="berth fees"), OLD) is None


def test_a_document_that_says_so_needs_no_number_and_its_words_are_kept() -> None:
    newer = replace(NEW, version="", date="", relations=(REPLACES,))
    claim = succession(newer, OLD)
    assert claim is not None
    assert (claim.kind, claim.believed, claim.quote) == ("replaces", True, REPLACES.quote)
    other = replace(REPLACES, target="version 3")
    assert found(replace(newer, relations=(other,)), OLD) is None
    assert found(replace(newer, relations=(replace(REPLACES, target="the leave policy"),)), OLD) is None


def test_a_draft_beats_nothing_and_falls_to_what_is_in_force() -> None:
    draft = replace(NEW, version="3", relations=(Relation(kind="draft", quote="DRAFT"), REPLACES))
    assert found(draft, OLD) is None
    assert found(OLD, draft) == ("draft", True)
    assert found(replace(OLD, source="stranger"), draft) is None  # who says nothing of it claims nothing


def test_what_is_withdrawn_or_expired_falls_and_what_is_not_in_force_yet_does_not_win() -> None:
    assert found(OLD, replace(NEW, relations=(Relation(kind="withdrawn", quote="Withdrawn."),))) == (
        "withdrawn",
        True,
    )
    withdrawn = replace(NEW, relations=(Relation(kind="withdrawn", quote="Withdrawn."),))
    assert found(OLD, withdrawn, day="2026-11-24") == ("withdrawn", True)
    coming = replace(NEW, relations=(Relation(kind="effective", target="2027-01-01", quote="From 2027"),))
    assert found(coming, OLD, day="2026-11-24") is None
    assert found(OLD, coming, day="2026-11-24") == ("not_in_force", True)
    assert found(coming, OLD, day="2027-02") == ("version", True)
    ended = replace(NEW, relations=(Relation(kind="expires", target="2025-12", quote="Until 2025"),))
    assert found(OLD, ended, day="2026-11-24") == ("expired", True)
    assert found(ended, OLD, day="2025-06") == ("version", True)


def test_nothing_is_amended_by_what_was_there_before_it() -> None:
    amends = Relation(kind="amends", target="the mooring fees", quote="Amends the mooring fees.")
    amendment = replace(NEW, family="amendment", version="", date="2021", relations=(amends,))
    assert found(amendment, OLD) == ("amends", True)
    assert found(replace(amendment, date="2018"), OLD) is None


def test_a_correction_beats_what_its_publisher_said_before() -> None:
    correction = Relation(kind="corrects", target="the fee", quote="Correction: the fee is 15.")
    newer = Passage(id="c", text="Correction: it is 15.", source="harbour", relations=(correction,))
    assert found(newer, OLD) == ("corrects", True)
    assert found(replace(newer, source="elsewhere"), OLD) is None


def test_people_may_state_what_replaces_what_whoever_published_it() -> None:
    stated = Relation(kind="replaces", target="mooring-fees-v1.docx", by_person=True)
    newer = Passage(id="n", text="It is 15.", source="town", relations=(stated,))
    assert found(newer, OLD) == ("replaces", True)
    assert found(replace(newer, relations=(replace(stated, target="berths.docx"),)), OLD) is None


# --- attacks --------------------------------------------------------------------------------------
ATTACKS = [
    replace(NEW, source="stranger"),
    replace(NEW, source="stranger", date="2099", version="99"),
    replace(NEW, source="stranger", relations=(REPLACES,)),
    replace(NEW, source="stranger", relations=(replace(REPLACES, target="the mooring fees of 2019"),)),
    replace(NEW, source="uploads/mooring-fees", owner="uploads", relations=(REPLACES,)),
    replace(NEW, source="stranger", relations=(Relation(kind="corrects", target="mooring fees"),)),
]


@pytest.mark.parametrize("planted", ATTACKS)
def test_what_another_publisher_claims_is_not_believed(planted: Passage) -> None:
    claim = succession(planted, OLD)
    assert claim is None or not claim.believed
    assert not one_publisher(planted, OLD)


def test_the_words_of_a_planted_text_do_not_make_it_of_the_same_publisher() -> None:
    text = "Mooring fees, version 9\nIn force from 1 May 2031. This version replaces version 1. It costs 99."
    planted = with_statements(Passage(id="p", text=text, source="stranger", title="Mooring fees, version 9"))
    claim = succession(planted, OLD)
    assert claim is not None
    assert (claim.kind, claim.believed) == ("replaces", False)


def test_an_upload_takes_the_place_of_no_upload() -> None:
    first = replace(OLD, source="uploads/fees", owner="uploads")
    assert found(replace(NEW, source="uploads/fees", owner="uploads", relations=(REPLACES,)), first) == (
        "replaces",
        False,
    )


def test_two_that_claim_each_other_take_no_place() -> None:
    first = replace(OLD, relations=(replace(REPLACES, target="version 2"),))
    second = replace(NEW, relations=(REPLACES,))
    assert found(first, second) is None
    assert found(second, first) is None


def test_files_of_a_folder_are_of_one_publisher_where_they_are_named_as_versions() -> None:
    def file(name: str, title: str = "") -> Passage:
        return with_statements(Passage(text=f"About {name}.", source=name, title=title), f"papers/{name}.md")

    assert one_publisher(file("fees-v1"), file("fees_v2 (2024)"))
    assert not one_publisher(file("fees-v1"), file("note", title="Fees, version 9"))
    assert not one_publisher(file("fees-v1"), replace(file("fees-v2"), url="https://x.example/fees-v2"))


def test_templates_that_name_other_things_are_no_versions_of_each_other() -> None:
    text = "The office in {} opens at nine, closes at five, and has rooms for guests on the first floor."
    first = Passage(text=text.format("Corle"), source="firm", title="House rules of Corle")
    second = Passage(text=text.format("Lyon"), source="firm", title="House rules of Lyon")
    assert not are_versions(first, second)
    assert are_versions(replace(first, title=""), replace(first, title="", id="other"))


def test_a_document_replaces_none_that_people_gave_a_higher_authority() -> None:
    bylaw, planted = replace(OLD, authority="binding"), replace(NEW, relations=(REPLACES,))
    claimed = succession(planted, bylaw)
    assert claimed is not None and not claimed.believed
    declared = succession(replace(planted, authority="binding"), bylaw)
    assert declared is not None and declared.believed
    stated = replace(planted, relations=(Relation(kind="replaces", target="mooring fees", by_person=True),))
    by_person = succession(stated, bylaw)
    assert by_person is not None and by_person.believed


def test_a_document_that_states_the_owner_whom_people_gave_another_is_not_of_that_owner() -> None:
    given = replace(OLD, source="by-laws", owner="Harbour office", by_people={"owner": "Harbour office"})
    planted = replace(NEW, source="blog", owner="Harbour office", relations=(REPLACES,))
    assert not one_publisher(planted, given)
    claim = succession(planted, given)
    assert claim is None or not claim.believed
    also_given = replace(planted, by_people={"owner": "Harbour office"})
    assert one_publisher(also_given, given)


RULES = Passage(
    id="rules", document="rules", text="6 Groups\n\nOne guide leads eight children.", source="quay",
    title="Rules of the quay", family="quay rules", date="2026-02-02", date_origin="text",
    metadata={"heading": "6 Groups"},
)  # fmt: skip
NOTICE = Passage(
    id="notice", document="notice", text="From May we read section 6 of the rules so: a guide has six.",
    source="quay", title="Groups", family="notice groups", date="2026-10-12", date_origin="text",
)  # fmt: skip


def test_a_later_text_that_names_a_section_amends_what_stands_in_it() -> None:
    claim = succession(NOTICE, RULES)
    assert claim is not None
    assert (claim.kind, claim.believed, claim.quote) == ("amends", True, NOTICE.text)
    table = replace(NOTICE, text="What: Section 6, guides; Until May: 8; From May: 6.")
    assert found(table, RULES) == ("amends", True)
    assert found(replace(table, metadata={"heading": "2 Notes"}), RULES) is None  # its own section, perhaps
    numbered = replace(NOTICE, metadata={"heading": "2 Notes"})
    assert found(numbered, RULES) == ("amends", True)  # names the rules


def test_a_text_amends_no_other_section_nothing_later_and_nothing_of_others() -> None:
    assert found(NOTICE, replace(RULES, metadata={"heading": "16 Groups"})) is None
    assert found(NOTICE, replace(RULES, metadata={})) is None
    assert found(replace(NOTICE, date="2025-10-12"), RULES) is None
    assert found(replace(NOTICE, date=""), RULES) is None
    for_revision_b = replace(NOTICE, text=f"Put this into revision B. {NOTICE.text}")
    for sheet in (for_revision_b, replace(NOTICE, version="C")):
        assert found(sheet, replace(RULES, version="D", date="")) is None
        assert found(sheet, replace(RULES, version="B", date="")) == ("amends", True)
    assert found(NOTICE, RULES, day="2026-05-01") is None  # still to come
    for shown in ((replace(NOTICE, source="stranger"), RULES), (NOTICE, replace(RULES, authority="binding"))):
        assert found(*shown) == ("amends", False)
    assert (
        found(replace(NOTICE, source="stranger", text="In section 6 of our book it is six."), RULES) is None
    )
    draft = replace(NOTICE, relations=(Relation(kind="draft", quote="DRAFT"),))
    assert found(draft, RULES) is None


@pytest.mark.parametrize(
    "text",
    [
        "From 1 May 2026 this notice amends section 3 of the rules of the quay: goods wait 21 days.",
        "This notice amends the rules of the quay. In sections 2 and 3 it is 21 days.",
        "Dieser Nachtrag ändert § 3 der Rules of the quay: 21 Tage.",
        "Le présent avenant modifie l'article 3 des rules of the quay : 21 jours.",
    ],
)
def test_an_amendment_of_one_section_leaves_what_stands_in_another(text: str) -> None:
    notice = with_statements(replace(NOTICE, text=text, date=""))
    notice = replace(notice, date="2026-10-12", date_origin="text")
    assert found(notice, replace(RULES, metadata={"heading": "Rules of the quay › 3 Goods"})) == (
        "amends",
        True,
    )
    assert found(notice, replace(RULES, metadata={"heading": "Rules of the quay › 4 Returns"})) is None
    assert found(notice, replace(RULES, metadata={})) == ("amends", True)  # nobody can tell
    assert is_later_published(notice, replace(RULES, metadata={"heading": "3 Goods"}))
    assert not is_later_published(notice, replace(RULES, metadata={"heading": "4 Returns"}))


def test_what_a_log_says_of_an_earlier_version_falls_to_what_the_present_one_says() -> None:
    log = Passage(
        id="log", document="log", text="Needs gears of type 3.", source="mill", family="mill/changes",
        version="2.4", metadata={"heading": "Changes › 2.1.0 (2019-03-05)"},
    )  # fmt: skip
    page = replace(log, id="page", document="page", text="Needs gears of type 5.", family="mill/install")
    page = replace(page, metadata={"heading": "Installing"})
    assert found(page, log) == ("version", True)
    assert found(log, page) is None
    assert found(page, replace(log, metadata={"heading": "Changes › 2.4 (2026-01-01)"})) is None
    assert found(page, replace(log, metadata={"heading": "2.1 Gears"})) is None
    assert found(replace(page, version=""), log) is None
    assert found(replace(page, source="stranger"), log) is None
    entry = replace(page, version="2.6", metadata={"heading": "2.2.0"})  # two entries: two versions
    assert found(entry, replace(log, version="2.1.0")) is None
