"""Statements of documents on themselves: dates in words, versions, what they do to other documents."""

from __future__ import annotations

import pytest

from disputatio.versions.families import is_higher
from disputatio.versions.revisions import newest_revision
from disputatio.versions.stating import read_statements

DATES = [
    ("Ladder rules\n\nIn force from 1 May 2024. Ladders are checked weekly.", "2024-05-01"),
    ("Leiterordnung\nGültig ab 1. Mai 2024\n\nLeitern werden geprüft.", "2024-05-01"),
    ("Die Ordnung tritt am 1. Mai 2024 in Kraft.", "2024-05-01"),
    ("Règlement des échelles\nEn vigueur à compter du 1er mai 2024", "2024-05-01"),
    ("梯子管理规定\n本规定自2024年5月1日起施行。", "2024-05-01"),
    ("Effective: 2024-05-01\nLadders.", "2024-05-01"),
    ("Ladder rules\nVersion 2, May 2024\nText.", "2024-05"),
    ("Ladder rules\nStand: Mai 2024\nText.", "2024-05"),
    ("Corle, 3 May 2024\n\nDear neighbours,", "2024-05-03"),
    ("Fait à Lyon, le 3 mai 2024\n\nChers voisins,", "2024-05-03"),
    ("Last updated on May 3, 2024. The wall is old.", "2024-05-03"),
    ("Minutes\nDate: 03.05.2024\nPresent: all", "2024-05-03"),
    ("As of 2021 the wall had nine gates.", "2021"),
    ("Ladder rules, version 2, approved by the board of the quay on 3 May 2024\n1 Steps", "2024-05-03"),
    ("Leiterordnung\nBeschlossen von der Versammlung am 3. Mai 2024\n1 Sprossen", "2024-05-03"),
    ("Notes of a ladder maker, 3 May 2024\n\nSteps first.", "2024-05-03"),
    (
        "Steps\n\nCorle Ladders, Mill Row 2, the warden, 3 May 2024. For all who climb or hold.",
        "2024-05-03",
    ),
    ("Steps\n\n3 May 2024. Whoever climbs must hold on, and whoever holds must look up.", "2024-05-03"),
    (
        "Steps\n\nRevision D, October 2025. Revisions B and C, of May 2019, are gone. Corle Ladders.",
        "2025-10",
    ),
    ("Steps\n\nIn October 2025. Many climbed.", ""),
    ("Steps\n\nIn Corle, on the old quay, many met on Friday, 3 May 2024. They climbed.", ""),
    ("Ladder: A1; Date: 2024-05-03; Steps: 9.", ""),
    ("The wall was built in 1205 and burnt on 3 May 1641.", ""),
    ("Born: 3 May 1931\nAnn Doyle was a singer.", ""),
    ("Published in 1981 by Corle Press, it sold well.", ""),
    ("He trat am 3. Mai 2024 zurück.", ""),
    ("The previous rules were in force from 1 May 2019.", ""),
    ("Ladder rules\nStand 05/2024", "2024-05"),
    ("Tarif\nGültig vom 3. Mai 2024 bis 2. Mai 2025", "2024-05-03"),
    ("Tarif\nValable du 3 mai 2024 au 2 mai 2025", "2024-05-03"),
    ("Correction of 3 May 2024\n\nSteps.", "2024-05-03"),
    ("Correction of 3 May 2024 to the terms of hire, version 2\n\nThe fee is 60.", "2024-05-03"),
    ("Correction of 3 May 2024 to the ladder rules 2023\n\nThe fee is 60.", "2024-05-03"),
    (
        "Ladders\nCorrection of 3 May 2024 to the ladder rules of 9 April 2023, as the board approved them",
        "2024-05-03",
    ),
    ("The correction of 3 May 2024 to the ladder rules of 2023 was late.", ""),
    ("Berichtigung vom 3. Mai 2024 zur Satzung des Vereins\n\nDer Beitrag ist 60.", "2024-05-03"),
    ("Berichtigung vom 3. Mai 2024\n\nSprossen.", "2024-05-03"),
    ("Rectificatif du 3 mai 2024\n\nÉchelons.", "2024-05-03"),
    ("Notice\n\nFrom 3 May 2024 this notice amends section 3 of the ladder rules.", "2024-05-03"),
    ("À compter du 3 mai 2024, le présent avenant modifie l'article 3 du règlement.", "2024-05-03"),
    ("Ladder rules\n\nReview date: May 2027\nApproved: May 2024", "2024-05"),
    ("Ladder rules\n\nDate of next review: May 2027", ""),
    ("Singers\nDate of birth: 3 May 1931", ""),
    # the day of what is replaced is not that of what replaces it
    ("Ladder rules\n\nSupersedes: Ladder rules v1 (2021)", ""),
    ("Ladder rules\n\nDiese Ordnung ersetzt die Fassung vom Mai 2019.", ""),
    ("Ladder rules\n\nReplaces version 1, issued 3 May 2024.", "2024-05-03"),
    ("Issued on 03/05/2024", ""),  # nobody can tell the month, and a bare year is too little here
]


@pytest.mark.parametrize(("text", "date"), DATES)
def test_a_date_is_read_where_a_document_states_it(text: str, date: str) -> None:
    stated = read_statements(text)
    assert stated.date == date
    assert stated.date_quote in text
    assert bool(stated.date_quote) == bool(date)


RELATIONS = [
    ("This version replaces version 1.", "replaces", "version 1"),
    ("Supersedes: the ladder rules of 2019", "replaces", "the ladder rules of 2019"),
    ("Diese Fassung ersetzt die Fassung vom 1. März 2019.", "replaces", "die Fassung vom 1. März 2019"),
    ("Elle annule et remplace la version 1.", "replaces", "la version 1"),
    ("本规定取代版本1。", "replaces", "版本1"),
    ("All earlier versions are void.", "replaces", "All earlier versions are"),
    ("Version 1 is no longer valid.", "replaces", "Version 1 is"),
    ("Die Leiterordnung vom 3. Mai 2019 tritt außer Kraft.", "replaces", "Die Leiterordnung vom 3. Mai 2019"),
    ("It takes the place of the ladder rules of 2019.", "replaces", "the ladder rules of 2019"),
    ("This order amends section 3 of the ladder rules.", "amends", "section 3 of the ladder rules"),
    ("Diese Satzung ändert § 3 der Leiterordnung.", "amends", "§ 3 der Leiterordnung"),
    ("Amendment of 3 May 2024 to the ladder rules", "amends", "the ladder rules"),
    ("Amendment of May 3, 2024 to section 3", "amends", "section 3"),
    ("Satzungsänderung vom 3. Mai 2024 zur Leiterordnung", "amends", "Leiterordnung"),
    ("Correction: the wall has nine gates, not eight.", "corrects", "the wall has nine gates, not eight"),
    ("Correction of 3 May 2024 to the ladder rules 2024", "corrects", "the ladder rules 2024"),
    ("Berichtigung vom 3. Mai 2024 zur Leiterordnung", "corrects", "Leiterordnung"),
    ("Correction of the notice of 3 May 2024", "corrects", "of the notice of 3 May 2024"),
    ("An earlier version of this page gave another year.", "corrects", "earlier version of this"),
    ("Status: withdrawn", "withdrawn", ""),
    ("WITHDRAWN on 8 October 2020 because of an error in the measurement.", "withdrawn", ""),
    ("Withdrawn by the board on 3 May 2021.", "withdrawn", ""),
    ("Außer Kraft seit 1. Januar 2024.", "withdrawn", ""),
    ("Zurückgezogen am 3. Mai 2021 wegen eines Fehlers.", "withdrawn", ""),
    ("Retiré le 3 mai 2021 à la suite d'une erreur.", "withdrawn", ""),
    ("This notice was superseded by notice 12.", "withdrawn", "notice 12"),
    ("DRAFT for comment", "draft", ""),
    ("Dies ist noch nicht beschlossen.", "draft", ""),
    ("This is a proposal and has not been adopted.", "draft", ""),
    ("Working draft, 3 May", "draft", ""),
    ("Valid until 31 December 2024", "expires", "2024-12-31"),
]


@pytest.mark.parametrize(("sentence", "kind", "target"), RELATIONS)
def test_a_relation_is_read_with_its_target_and_its_words(sentence: str, kind: str, target: str) -> None:
    [relation] = read_statements(f"Ladder rules\n\n{sentence}\n\nLadders are checked.").relations
    assert (relation.kind, relation.target, relation.quote) == (kind, target, sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The new ferry replaces the old ferry.",
        "The amendment of 3 May 2024 to the constitution failed.",
        "He corrects the proofs of the book.",
        "They drink draft beer in Corle.",
        "- draft-corle-tide-tables (tide tables) - implemented;",
        "The team withdrew, and its shirt was retired.",
        "Tickets are void without a stamp.",
        "Withdrawn from service on 3 May 1999, the ferry was sold.",
        "Withdrawn by his party, he wrote books.",
        "Void for vagueness, said the court.",
    ],
)
def test_what_a_text_tells_of_the_world_is_no_relation(sentence: str) -> None:
    assert read_statements(f"Ladder rules\n\n{sentence}").relations == ()


def test_a_sentence_may_state_from_when_until_when_and_what_it_replaces() -> None:
    text = "Ladder rules\n\nApplies from 1 May 2024 to 3 May 2025 and replaces version 1.\n\nLadders."
    assert [(each.kind, each.target) for each in read_statements(text).relations] == [
        ("effective", "2024-05-01"),
        ("expires", "2025-05-03"),
        ("replaces", "version 1"),
    ]


def test_the_day_of_a_press_release_is_no_version() -> None:
    assert read_statements("x", stem="press-release-2026-05-23").version == ""


def test_a_version_is_read_in_title_name_or_head_and_not_where_another_is_named() -> None:
    assert read_statements("x", title="Ladder rules, version 3").version == "3"
    assert read_statements("x", stem="ladder-rules_v2.1").version == "2.1"
    assert read_statements("Ladder rules\nFassung 4\nText").version == "4"
    assert read_statements("Ladder rules\nReplaces version 1").version == ""
    assert read_statements("x", stem="ladder-rules", version="7").version == "7"


def test_a_title_or_a_name_may_say_that_a_paper_is_withdrawn() -> None:
    for title in ("RETRACTED: Ladders and tea", "[Withdrawn] Ladders and tea", "Ladder rules (superseded)"):
        [relation] = read_statements("Text.", title=title).relations
        assert (relation.kind, relation.quote) == ("withdrawn", title)
    assert read_statements("Text.", stem="ladder-rules-2019_superseded").relations[0].kind == "withdrawn"
    for name in ("withdrawn-books", "Withdrawn books", "Books withdrawn", "Obsolete ladders"):
        assert read_statements("Text.", title=name, stem=name).relations == ()
    assert read_statements("Book: Ladders; Shelf: 9.", title="Books (withdrawn)").relations == ()


def test_only_the_head_and_the_foot_of_a_long_text_are_read() -> None:
    filler = "The wall is long and old. " * 400
    assert read_statements(f"{filler}This order replaces version 1.{filler}").relations == ()
    assert read_statements(f"{filler}\nThis order replaces version 1.").relations[0].kind == "replaces"
    crowd = "\n".join(f"This order replaces version {n}." for n in range(1, 100))
    assert len(read_statements(crowd).relations) <= 8


@pytest.mark.parametrize(
    ("text", "date"),
    [
        (
            "Rules\n\nThe Quay, Corle. They hold from 2 February 2026 for all; those of May 2024 do not.",
            "2026-02-02",
        ),
        ("Ordnung\n\nCorle. Sie gilt so vom 1. März 2026 an.", "2026-03-01"),
        ("Rules\n\nThe quay opened on 2 February 2025.", "2026"),
        ("Market\n\nOn two Sundays from 6 December 2026, from 10:30 to 15:00.", "2026"),
        ("Test\n\nMeasured from 4 May to 31 May 2026.", "2026"),
        (f"Rules\n\n{'Steps. ' * 100}They hold from 2 February 2026.", "2026"),
    ],
)
def test_a_year_in_a_files_name_gets_the_day_that_the_text_opens_with(text: str, date: str) -> None:
    stated = read_statements(text, stem="ladder-rules-2026")
    assert stated.date == date
    assert stated.date_quote in f"ladder-rules-2026 {text}"
    assert read_statements(text, stem="ladder-rules-2026-01-07").date == "2026-01-07"


def test_revisions_are_counted_by_letters_too() -> None:
    older, newer = (read_statements("Text.", stem=f"ladder-manual-rev-{letter}") for letter in "cd")
    assert (older.version, newer.version, older.family) == ("C", "D", newer.family)
    assert is_higher(newer.version, older.version)
    assert not is_higher(older.version, newer.version)
    assert not any(is_higher(*pair) for pair in (("D", "3"), ("3", "D")))
    assert not read_statements("A revision a day keeps the doctor away.").version


@pytest.mark.parametrize("up", [True, False])
def test_the_newest_row_of_a_table_of_revisions_is_the_document(up: bool) -> None:
    rows = [
        "Version: 1.9; Date: 5 March 2019; Change: First issue.",
        "Version: 1.10; Date: 2024-09-01; Change: Longer steps.",
    ]
    table = "\n".join(rows if up else reversed(rows))
    made = read_statements(f"Manual of the ladder\n\nIssued on 3 May 2018.\n\n{table}\n\nIt has 9 steps.")
    assert (made.version, made.date, made.date_quote) == ("1.10", "2024-09-01", rows[1])
    assert read_statements(table, title="Manual, version 3").version == "3"
    one = read_statements(
        "Leiter\n\nRev.: B; Datum: 03.05.2022; Änderung: Tritt.\nRev.: A; Datum: -; Änderung: Neu."
    )
    assert (one.version, one.date) == ("B", "2022-05-03")
    sold = "Version: 7; Date: 2019-03-05; Price: 9.\nVersion: 8; Date: 2024-09-01; Price: 12."
    assert read_statements(f"What we sold\n\nText.\n\n{sold}").version != "8"


@pytest.mark.parametrize(
    ("heading", "row"),
    [
        ("Revision history", "Version: {}; Date: {}."),
        ("7.2 Version history.", "Version: {}; Date: {}; Status: released."),
        ("Table 3: Change log", "Rev.: {}; Date of issue: {}."),
        ("Änderungsverlauf", "Fassung: {}; Datum: {}."),
        ("Historique des révisions :", "Indice: {}; Date: {}."),
    ],
)
def test_a_table_of_revisions_without_a_column_for_the_change_is_known_by_its_heading(
    heading: str, row: str
) -> None:
    rows = [row.format(*each) for each in (("1", "2019-03-05"), ("2", "2024-09-01"))]
    for table in ("\n".join(rows), "\n".join(reversed(rows))):
        made = read_statements(f"Manual of the ladder\n\n{heading}\n\n{table}\n\nIt has 9 steps.")
        assert (made.version, made.date, made.date_quote) == ("2", "2024-09-01", rows[1])


@pytest.mark.parametrize(
    "above", ["Releases", "Version history of the ladders we sell", "Revision history\n\nText."]
)
def test_a_list_of_versions_below_any_other_line_is_no_table_of_revisions(above: str) -> None:
    text = f"Ladders\n\n{above}\n\nVersion: 7; Date: 2019-03-05.\nVersion: 8; Date: 2024-09-01."
    assert newest_revision(text) == (None, text)
