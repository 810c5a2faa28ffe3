"""Questions that yes or no answers, told from the sentences of a passage."""

from __future__ import annotations

import json

import pytest

from disputatio.kit import TRAINED_READER, Kit
from disputatio.llm.scripted import Scripted
from disputatio.strategies.disputation.kinds import is_foreign, is_of_another_dimension, is_of_the_kind
from disputatio.strategies.disputation.reading import PassageReading, parse_reading, read
from disputatio.strategies.disputation.resolve import resolve
from disputatio.strategies.disputation.sides import unfit, weigh
from disputatio.strategies.disputation.yes_no import asks_yes_or_no, is_told_by_words, yes_or_no
from disputatio.types import Completion, Passage, Reply, Usage

CLOSED = "Will the baths of Tannel be closed?"
SOLD = "Will the Tannel brewery be sold to Orvik?"


@pytest.mark.parametrize(
    ("question", "title", "text", "copied", "expected"),
    [
        (SOLD, "", "The Tannel brewery will be sold to Orvik, two traders say.", "Orvik", "yes"),
        (SOLD, "", "Reports that the Tannel brewery will be sold to Orvik are false.", "false", "no"),
        (
            SOLD,
            "",
            "We reported that the Tannel brewery will be sold to Orvik. That was wrong.",
            "wrong",
            "no",
        ),
        (
            SOLD,
            "Correction",
            "On Monday we reported that the Tannel brewery will be sold to Orvik.",
            "",
            "no",
        ),
        (
            "Is fishing in Lake Ume allowed?",
            "",
            "Fishing in Lake Ume is forbidden until May.",
            "forbidden",
            "no",
        ),
        ("Is fishing in Lake Ume allowed?", "", "Fishing in Lake Ume is allowed again.", "again", "yes"),
        ("Is fishing in Lake Ume allowed?", "", "The ban on fishing in Lake Ume is lifted.", "ban", "yes"),
        ("Is fishing in Lake Ume forbidden?", "", "Fishing in Lake Ume is forbidden.", "forbidden", "yes"),
        (
            "Is there still a canteen?",
            "",
            "- Rooms are let.\n- The canteen is no longer run.",
            "no longer run",
            "no",
        ),
        ("Must badges be renewed?", "", "Badges are renewed no later than in May.", "May", "yes"),
        (SOLD, "", "The brewery of Tannel has a new roof.", "", ""),
        (CLOSED, "", "The council says that the baths of Tannel stay open.", "stay open", "no"),
        (CLOSED, "", "The baths of Tannel will close in May.", "close", "yes"),
        ("Is Telnet still supported by Orvik Mail?", "Orvik Mail", "Telnet was removed.", "removed", "no"),
        ("Is Telnet still supported by Orvik Mail?", "Orvik Mail", "The mail is kept in folders.", "", ""),
        ("Is fishing in Lake Ume allowed?", "", "Remote work is allowed on one day.", "allowed", ""),
        ("Is fishing in Lake Ume allowed?", "Fishing in Lake Ume", "It is allowed in May.", "allowed", "yes"),
    ],
)
def test_a_sentence_says_yes_or_no(question: str, title: str, text: str, copied: str, expected: str) -> None:
    answer, quote = yes_or_no(question, Passage(text=text, title=title), copied)
    assert answer == expected
    assert quote in text
    assert bool(quote) == bool(expected)


def test_more_must_be_named_where_the_reader_took_it_for_no_answer() -> None:
    passage = Passage(text="The days may be changed every month.")
    question = "Do locks have to be changed every year?"
    assert yes_or_no(question, passage, "", answers=False) == ("", "")


SECURITY = """These releases of Ostrin are supported with security updates.

Version: 1.4.x; Supported: {yes}.
Version: 1.1.x; Supported: {no}.
Version: < 1.1; Supported: {no}."""


@pytest.mark.parametrize(
    ("question", "copied", "expected"),
    [
        ("Do they still fix security holes in Ostrin 1.1?", "NO", "no"),
        ("Do they still fix security holes in Ostrin 1.4?", "YES", "yes"),
        ("Is Ostrin 1.1.8 still supported?", "supported with security updates", "no"),
        ("Is Ostrin 1.0 still supported?", "1.1.x", "no"),
        ("Is Ostrin 1.1 no longer supported?", "NO", "yes"),
        ("Is Ostrin 1.4 deprecated?", "YES", "no"),
        ("Is Ostrin 2.0 supported?", "NO", ""),
        ("Which releases of Ostrin are supported?", "YES", ""),
        ("Which releases of Ostrin are supported?", "NO", ""),
        ("Which release of Ostrin is supported?", "1.4.x", "1.4.x"),
    ],
)
@pytest.mark.parametrize(
    ("yes", "no"),
    [(":white_check_mark:", ":x:"), ("✅", "❌"), ("✓", "✗"), ("✔\ufe0f", "✘"), ("☑", "x"), ("Yes", "x")],
)
def test_a_mark_in_a_row_says_yes_or_no_and_answers_no_other_question(
    question: str, copied: str, expected: str, yes: str, no: str
) -> None:
    passage = Passage(id="p", text=SECURITY.format(yes=yes, no=no))
    copied = {"YES": yes, "NO": no}.get(copied, copied)
    if copied == "Yes":
        return  # a reader's own word stands
    for said in dict.fromkeys((copied, copied.strip(":"))):
        reply = Completion(
            text=json.dumps({"subject": "", "answer": said}), finish_reason="stop", usage=Usage()
        )
        reading = parse_reading(question, passage, reply)
        assert reading.answer == expected
        assert reading.reply.quote in passage.text
        assert bool(reading.reply.quote) == bool(expected)


@pytest.mark.parametrize(
    ("question", "text", "copied", "expected"),
    [
        ("Can it read TIFF?", "Format: PNG; Reads: x.\nFormat: TIFF; Reads: x.", "x", "yes"),
        ("Can it read TIFF?", "Format: PNG; Reads: ✓.\nFormat: TIFF; Reads: x.", "x", "no"),
        ("Does it write TIFF?", "Format: TIFF; Reads: ✓; Writes: ✗.", "✗", "no"),
        ("Is TIFF fast?", "It is very fast.\nFormat: TIFF; Reads: ✗; Writes: ✓.", "✓", ""),
        ("Is TIFF still maintained?", "Format: TIFF; Deprecated: ✓.", "✓", "no"),
        ("Is the tool for TIFF fast?", "The tool for TIFF is fast.\nFormat: TIFF; Reads: ✗.", "fast", "yes"),
        ("Is fishing in Lake Ume allowed?", "Lake: Ume; Fishing: forbidden; Boats: yes.", "forbidden", "no"),
        ("Is Orrin 1.2 out?", "Orrin 1.2 is out.\nVersion: 1.2; Out: ❌.\nVersion: 1.3; Out: ✓.", "", "no"),
        ("Which key closes the window?", "Action: close; Key: x.", "x", "x"),
    ],
)
def test_what_stands_in_the_passage_tells_what_a_mark_says(
    question: str, text: str, copied: str, expected: str
) -> None:
    reply = Completion(
        text=json.dumps({"subject": "", "answer": copied}), finish_reason="stop", usage=Usage()
    )
    assert parse_reading(question, Passage(id="p", text=text), reply).answer == expected


def test_no_rule_of_sentences_reads_a_row_of_signs() -> None:
    passage = Passage(text=SECURITY.format(yes="✓", no="✗"), title="Ostrin")
    assert yes_or_no("Is Ostrin 1.1 supported?", passage, "", answers=False) == ("", "")


@pytest.mark.parametrize(
    "question",
    [
        "Was kostet das Boot?",
        "Was zahlt ein Erwachsener für einen Platz im Boot?",
        "Is it red or blue?",
        "Can you say when it opens?",
        "has been named first",
        "Ist der Steg rot oder blau?",
        "Kann man sehen, wann er öffnet?",
        "Ist der Steg gesperrt, gilt der Aushang.",
        "Was gilt, ist der Steg gesperrt?",
        "Le ponton est-il rouge ou bleu ?",
        "Quand est-ce que le ponton ouvre ?",
        "Que fait-on au ponton ?",
        "Where is the add-on?",
        "Don't you know when it opens?",
    ],
)
def test_other_questions_are_not_for_yes_or_no(question: str) -> None:
    assert not asks_yes_or_no(question)


@pytest.mark.parametrize(
    "question",
    [
        "Ich habe einen Hund. Darf er auf den Steg?",
        "Gibt es am Steg Duschen?",
        "Est-ce que le ponton ouvre le lundi ?",
        "Puis-je venir avec mon chien ?",
        "Le ponton est-il ouvert le lundi ?",
        "Accepte-t-on les chiens au ponton ?",
        "Isn't the pier open in May?",
        "Can’t I bring my dog?",
    ],
)
def test_a_trained_reader_decides_where_code_does_not_know_the_words(question: str) -> None:
    assert asks_yes_or_no(question) and not is_told_by_words(question)
    passage = Passage(id="p", text="Hunde sind auf dem Steg an der Leine erlaubt. No dogs.")
    trained = Scripted({}, choices={"passage": {"yes": 0.9}})
    kit = Kit(model=Scripted({}), roles={TRAINED_READER: trained})
    (decided,) = read(question, [passage], kit, "trained", max_tokens=80)
    assert decided.answer == "yes"
    copied = Completion(text='{"answer": "an der Leine", "subject": ""}', finish_reason="stop", usage=Usage())
    assert parse_reading(question, passage, copied).answer == "an der Leine"


def _reading(text: str, answer: str, title: str, **fields: str) -> PassageReading:
    passage = Passage(
        text=text,
        title=title,
        source=fields.get("source", ""),
        date=fields.get("date", ""),
        date_origin="stated" if "date" in fields else "",
    )
    return PassageReading(passage=passage, reply=Reply(passages=(passage.id,), answer=answer), answered=0.8)


def test_yes_and_no_contradict_each_other_whatever_their_titles() -> None:
    question = "Is fishing in Lake Ume allowed?"
    readings = [
        _reading(
            "Fishing is forbidden in Lake Ume.",
            "no",
            "Notice Three of Ume",
            source="office",
            date="2024-05-01",
        ),
        _reading(
            "Fishing is allowed again.", "yes", "Notice Four of Kell", source="office", date="2024-08-01"
        ),
    ]
    resolved = resolve(question, weigh(question, readings, {}))
    assert [(each.side.answer, each.verdict) for each in resolved] == [
        ("no", "rejected"),
        ("yes", "accepted"),
    ]


def test_a_second_letter_of_one_sender_is_newer_though_it_names_less() -> None:
    question = "When are the twelve chairs for the Ume school delivered?"
    readings = [
        _reading(
            "The twelve chairs for the Ume school are delivered on 3 May 2024.",
            "3 May 2024",
            "Your order",
            source="sales@chairs.example",
            date="2024-02-01",
        ),
        _reading(
            "We deliver your twelve chairs on 9 June 2024 instead.",
            "9 June 2024",
            "Re: Your order",
            source="sales@chairs.example",
            date="2024-04-01",
        ),
    ]
    resolved = {each.side.answer: each.verdict for each in resolve(question, weigh(question, readings, {}))}
    assert resolved == {"3 May 2024": "rejected", "9 June 2024": "accepted"}


def test_a_passage_in_other_words_stands_where_its_reader_is_as_sure() -> None:
    question = "Who founded the winter orchestra of Tannel?"
    own = _reading("The winter orchestra of Tannel was founded by Ada Berg.", "Ada Berg", "Tannel")
    other = _reading("By her letters Mia Holm began it in Tannel.", "Mia Holm", "Letters")
    assert {side.answer: side.features.get("ground") for side in weigh(question, [own, other], {})} == {
        "Ada Berg": None,
        "Mia Holm": None,
    }


def test_a_passage_that_hardly_answers_and_lacks_several_words_is_no_answer() -> None:
    question = "What did the boat house of Tannel cost?"
    passage = Passage(text="The fountain of Tannel is of marble, 2 million euros in all.")
    reading = PassageReading(
        passage=passage, reply=Reply(passages=(passage.id,), answer="2 million euros"), answered=0.55
    )
    [side] = weigh(question, [reading], {})
    assert side.features["ground"] == 0.0


def test_kinds_of_leaders_days_and_dimensions() -> None:
    assert is_of_the_kind("Who leads the night shift?", "Ume Clinic") is False
    assert is_of_the_kind("Who leads the night shift?", "Ada Berg") is True
    assert is_of_the_kind("From which day is a note needed?", "third") is True
    assert is_of_another_dimension("What is the depth of the well?", "8 metres high", "a wall 8 metres high")
    assert not is_of_another_dimension("How high is the wall?", "8 metres high", "a wall 8 metres high")


def test_the_encoder_gives_no_words_in_a_language_that_it_does_not_read() -> None:
    assert is_foreign("Wer leitet das Lager?")
    assert not is_foreign("Who leads the store in Lage?")
    passage = Passage(text="Batterien nimmt das Lager an.")
    reading = PassageReading(
        passage=passage, reply=Reply(passages=(passage.id,), answer="Batterien"), answered=0.7, by_model=False
    )
    [side] = weigh("Welche Sorte lehnt das Lager ab?", [reading], {})
    assert "kind" not in side.features  # it may be a sort, for all that the encoder can tell
    assert (side.features["language"], unfit(side.features)) == (0.0, "language")
    [weighed] = weigh("Which sort does the store refuse?", [reading], {})
    assert "language" not in weighed.features


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("I'm not at the quay. Is the pier open in May?", "The pier is open in May.", "yes"),
        ("My boat is closed up. Is the pier open in May?", "The pier is not open in May.", "no"),
        (
            "I am closed up. Am I late in May at the open pier?",
            "In May you are late at the open pier.",
            "yes",
        ),
        ("If I come by night, is the pier open in May?", "In May the pier is closed.", "no"),
    ],
)
def test_what_stands_before_the_question_is_no_part_of_what_is_denied(
    question: str, text: str, said: str
) -> None:
    assert asks_yes_or_no(question)
    assert yes_or_no(question, Passage(text=text), "May") == (said, text)


def test_what_is_told_first_chooses_among_sentences_that_answer_alike() -> None:
    text = "The pier of Venn is not open. The pier is open."
    said = yes_or_no("I live at Venn. Is the pier open?", Passage(text=text), "open")
    assert said == ("no", "The pier of Venn is not open.")
