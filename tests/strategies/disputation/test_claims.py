"""Claims are sentences with subject, value and unit; what repeats the question is not read for its answer."""

from __future__ import annotations

import pytest

from disputatio.strategies.disputation.answering import PartResult, compose_answer
from disputatio.strategies.disputation.reading import _repeats
from disputatio.strategies.disputation.resolve import resolve
from disputatio.strategies.disputation.sentences import value_sentence
from disputatio.strategies.disputation.sides import weigh
from tests.strategies.disputation.made_sides import reading


@pytest.mark.parametrize(
    ("question", "answer", "sentence"),
    [
        ("What is the smallest load?", "40 kg", "The smallest load is 40 kg."),
        ("What were their fees in May?", "12 EUR", "Their fees in May were 12 EUR."),
        ("How much do day tickets cost?", "EUR 9", "Day tickets cost EUR 9."),
        ("What does a sauna cost in the bath house?", "9 EUR", "A sauna costs 9 EUR in the bath house."),
        ("How much oil does the tank hold?", "900 litres", "The tank holds 900 litres of oil."),
        ("How many seats has the room Gauss?", "24", "The room Gauss has 24 seats."),
        ("How many beds has it?", "4", "It has 4 beds."),
        ("How many games has the team won?", "3", None),
        ("How heavy is the pump X200?", "14 kg", "The weight of the pump X200 is 14 kg."),
        ("What capacity does the room Gauss have?", "24", "The capacity of the room Gauss is 24."),
        ("What did a night cost?", "15 crowns", "A night cost 15 crowns."),
        ("How much oil may be carried?", "900 litres", None),
        ("What is the capital?", "Oslo", None),
        ("When does it open?", "at 9", "It opens at 9."),
        ("How long in advance must they warn me?", "6 months", None),
        ("How many rooms is my aunt given?", "2", None),
        ("How high is the dog tax?", "84 euros", None),
        ("How long were the lifts of the tower stuck?", "3 hours", None),
        ("How long is the guarantee on the motor?", "6 years", "The guarantee on the motor is 6 years."),
        ("When is the new kiln going to be delivered?", "3 May 2027", None),
        ("When is the first firing?", "2027 season", None),
        (
            "When was the skier Nora Quist born?",
            "4 March 1985",
            "The skier Nora Quist was born on 4 March 1985.",
        ),
        ("How much is it to rent a sledge?", "9 EUR", "It is 9 EUR to rent a sledge."),
        ("How many visitors does the ground hold?", "200 people", "The ground holds 200 people."),
        ("How many per cent of the dogs came back?", "8.4 %", "8.4 % of the dogs came back."),
        (
            "What diameter does the main mirror have?",
            "61 mm diameter",
            "The diameter of the main mirror is 61 mm.",
        ),
        ("What does a week cost if I pay at the gate?", "9 EUR", "A week costs 9 EUR if I pay at the gate."),
        ("What chlorine is kept in the pool?", "0.3 mg/l", "The chlorine kept in the pool is 0.3 mg/l."),
        ("Which price was agreed for the berth?", "40 EUR", "The price agreed for the berth was 40 EUR."),
        ("How fast may I go in the harbour?", "4 knots", "I may go at 4 knots in the harbour."),
        ("How fast may we go?", "up to 20 km/h", "We may go up to 20 km/h."),
        ("How fast may lorries drive?", "20 km/h", None),
        ("How soon must they reply?", "6 hours", "They must reply within 6 hours."),
        ("How many guests may I bring on Sundays?", "3", "I may bring 3 guests on Sundays."),
        ("How many guests do we have to name?", "3", None),
        ("How many does it hold besides the one in use?", "5", None),
    ],
)
def test_a_question_for_a_value_becomes_a_sentence(question: str, answer: str, sentence: str | None) -> None:
    assert value_sentence(question, answer) == sentence


@pytest.mark.parametrize(
    ("question", "answer", "quote", "sentence"),
    [
        ("When does the lock open?", "6:45", "The lock opens at 6:45.", "The lock opens at 6:45."),
        ("When did the mill close?", "1911", "The mill closed in 1911.", "The mill closed in 1911."),
        ("When was the quay repaired?", "4 May 2024", "", "The quay was repaired on 4 May 2024."),
        ("How many guests may a member bring?", "3", "A member may bring 3.", "A member may bring 3 guests."),
        ("How many people live in Corle?", "812", "", "812 people live in Corle."),
        (
            "How many dogs may ride in it?",
            "two",
            "Up to two dogs may ride in it.",
            "Two dogs may ride in it.",
        ),
        ("How much oil does it hold?", "9 litres", "It holds 9 litres.", "It holds 9 litres of oil."),
        (
            "How fast may lorries drive on the quay?",
            "20 km/h",
            "Lorries may drive no faster than 20 km/h.",
            "Lorries may drive at 20 km/h on the quay.",
        ),
        (
            "How many coins does a guest of Corle pay as a deposit?",
            "two",
            "On arrival, two coins are paid as a deposit.",
            None,
        ),
        (
            "How many days of leave do tutors get?",
            "9 days",
            "Tutors get 9 days.",
            "Tutors get 9 days of leave.",
        ),
        (
            "How long is the pass valid?",
            "2 years",
            "A pass is valid for 2 years.",
            "The pass is valid for 2 years.",
        ),
        ("How high is the mast?", "18 m", "", "The mast is 18 m high."),
        (
            "Are tents allowed on the meadow?",
            "no",
            "Tents are not allowed.",
            "Tents are not allowed on the meadow.",
        ),
        ("Does the bus carry bikes?", "no", "The bus does not carry bikes.", "The bus does not carry bikes."),
        (
            "When must fees be paid?",
            "within 9 days",
            "Fees must be paid.",
            "Fees must be paid within 9 days.",
        ),
        ("When does the lock open?", "6:45", "Opening: 6:45", None),
        (
            "When does the ferry leave Holm on Sundays?",
            "9:15",
            "The ferry from Holm on Sundays leaves at 9:15.",
            "The ferry leaves Holm on Sundays at 9:15.",
        ),
        (
            "When does the lock open in winter?",
            "6:45",
            "The lock opens at 6:45.",
            "The lock opens at 6:45 in winter.",
        ),
        (
            "How often is the sluice greased?",
            "every month",
            "The sluice is greased every month by the keeper.",
            "The sluice is greased every month.",
        ),
        (
            "How often may guests row?",
            "twice a day",
            "Guests may row twice a day.",
            "Guests may row twice a day.",
        ),
        ("How often is the sluice greased?", "with care", "The sluice is greased with care.", None),
        ("How many hours does the hull need to dry?", "6", "The hull dries in 6 hours.", None),
    ],
)
def test_times_counts_and_yes_or_no_become_sentences(
    question: str, answer: str, quote: str, sentence: str | None
) -> None:
    assert value_sentence(question, answer, quote) == sentence


def test_a_question_that_a_text_repeats_is_told() -> None:
    assert _repeats("What does it cost?", "What does it cost? 9 EUR. " * 40)
    assert not _repeats("What does it cost?", "What does it cost? It costs 9 EUR.")


def test_a_verb_keeps_the_words_that_its_quote_has_behind_it() -> None:
    told = "The drill takes place on 18 March 2025."
    said = value_sentence("When does the drill take place?", "18 March 2025", told)
    assert said == "The drill takes place on 18 March 2025."


def _say(question: str, answer: str, text: str) -> str:
    readings = (reading(answer, text, source="port", certainty=-0.1),)
    resolved = tuple(resolve(question, weigh(question, readings, {})))
    part = PartResult(question=question, readings=readings, resolved=resolved)
    (claim,) = compose_answer(question, [part], {}).claims
    return claim.text


def test_a_yes_or_no_has_its_reason_beside_it_if_that_is_short() -> None:
    question = "Are boats let to strangers at the port of Corle?"
    lets = "The port of Corle lends its boats to members"
    assert _say(question, "no", lets) == f"No: {lets}"
    lists = (
        "The port of Corle lends its boats, its oars and its " + "long ropes, its " * 20 + "masts to members."
    )
    assert _say(question, "no", lists) == f"{question.rstrip('?')}: no."
    assert (
        _say(question, "no", "Boats for strangers at the port of Corle? No.")
        == f"{question.rstrip('?')}: no."
    )


def test_a_claim_is_said_to_who_asks() -> None:
    said = _say("What do I pay for my boat?", "9 EUR", "Each boat at the port of Corle pays 9 EUR.")
    assert said == "You pay 9 EUR for your boat."
