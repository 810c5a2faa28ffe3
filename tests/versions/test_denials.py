"""Values that a text takes back for others, in three languages, and what is no such thing."""

from __future__ import annotations

import pytest

from disputatio.versions.denials import denials_in, instead_of


@pytest.mark.parametrize(
    ("text", "denied", "said"),
    [
        ("For five it costs 18.40 euros and not 14.80 euros; it was swapped.", "14.80", "18.40 euros"),
        ("The nut is tightened to 7 Nm on the PX-24, not to 9 Nm.", "9 Nm", "7 Nm"),
        ("The yearly price is £63, not £36", "£36", "£63"),
        ("The quay opens at 7:45 instead of 9:00.", "9:00", "7:45"),
        ("The fee is not 36 pounds but 63 pounds.", "36 pounds", "63 pounds"),
        ("Das Boot kostet im Jahr 43 Euro und nicht 34 Euro.", "34 Euro", "43 Euro"),
        ("Möwen: 13:45 Uhr (statt 16:00 Uhr)", "16:00 Uhr", "13:45 Uhr"),
        ("La semaine est à 650 euros et non à 560 euros.", "560 euros", "650 euros"),
    ],
)  # fmt: skip
def test_a_text_that_denies_a_value_gives_another_one(text: str, denied: str, said: str) -> None:
    assert instead_of(text, denied) == said
    assert instead_of(text, said) == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("60 florins and not 50 florins", "60 florins"),
        ("is 60 florins, not 50", "60 florins"),
        ("nicht 50 Euro, sondern 60 Euro", "60 Euro"),
        ("oak and not pine", "oak and not pine"),
    ],
)
def test_an_answer_that_denies_a_value_itself_is_what_is_said(answer: str, said: str) -> None:
    assert instead_of(f"The deposit: {answer}.", answer) == said


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("It weighs 4 kg and not more than 5 kg.", "5 kg"),
        ("Boats leave at 8:00, not later than 9:00.", "9:00"),
        ("The fee is 7 pounds. Children do not pay 5 pounds.", "5 pounds"),
        ("It is 4 m long, not 5 kg.", "5 kg"),
        ("Members pay 5 pounds, not 9 pounds as guests do.", "9 pounds"),
        (", not 8" * 20 + ". The fee is 5 pounds and not 9 pounds.", "9 pounds"),  # so many are a trick
        ("The fee is 1234" + " x" * 59 + " and not 9.", "9"),  # no half of a figure is said
        ("It costs 5 pounds and not 5 pounds.", "5 pounds"),
        ("The crew trains on Thursday and not on Tuesday.", "Tuesday"),  # which words are said is not known
    ],
)
def test_what_denies_nothing_or_gives_no_value_of_the_kind_changes_nothing(text: str, answer: str) -> None:
    assert instead_of(text, answer) == answer


def test_the_sentence_that_denies_is_quoted() -> None:
    text = "Notice of March\n\nThe fee is 43 and not 34. Tell the others."
    assert [one.quote.strip() for one in denials_in(text)] == ["The fee is 43 and not 34."]
