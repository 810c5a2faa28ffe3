"""Documents made for training: tables row by row, policies of several topics, versions, near model numbers.

Published question sets have none of these, and they are what folders of companies are full of. All names are invented
by syllables, so that nothing can be known beforehand.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from disputatio.agents.trained_reader import quotes_text
from disputatio.eval.builders.substitution import MONTHS
from train.language.tasks import passage_text, question_leaf
from train.language.trees import Branch

_SYLLABLES = [
    "bal",
    "cor",
    "dun",
    "el",
    "fen",
    "gar",
    "hol",
    "il",
    "jor",
    "kel",
    "lam",
    "mor",
    "nar",
    "ol",
    "pen",
    "quil",
    "ros",
    "sel",
    "tam",
    "ul",
    "var",
    "wen",
    "yar",
    "zol",
]
_GERMAN_MONTHS = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]


def name(chance: random.Random, syllables: int = 2) -> str:
    """Return an invented name."""
    return "".join(chance.choice(_SYLLABLES) for _ in range(syllables)).capitalize()


def _money(chance: random.Random) -> str:
    amount = chance.choice((chance.randint(2, 99), chance.randint(1, 40) * 25, chance.randint(10, 90) * 100))
    return chance.choice(
        (f"{amount:,} euros", f"{amount:,} EUR", f"€{amount:,}", f"${amount:,}", f"{amount}.50 CHF")
    )


def _day(chance: random.Random) -> str:
    return f"{chance.randint(1, 28)} {chance.choice(MONTHS)} {chance.randint(2009, 2027)}"


def _time(chance: random.Random) -> str:
    count = chance.randint(2, 60)
    return f"{count} {chance.choice(('days', 'working days', 'weeks', 'months', 'hours', 'minutes'))}"


def _person(chance: random.Random) -> str:
    return f"{name(chance)} {name(chance)}"


def _share(chance: random.Random) -> str:
    return f"{chance.randint(2, 95)} {chance.choice(('per cent', '%', 'percent'))}"


def _storage(chance: random.Random) -> str:
    return f"{chance.randint(2, 900)} {chance.choice(('GB', 'TB', 'MB', 'gigabytes'))}"


def _length(chance: random.Random) -> str:
    return f"{chance.randint(2, 900)} {chance.choice(('mm', 'cm', 'metres', 'm', 'inches'))}"


def _weight(chance: random.Random) -> str:
    return f"{chance.randint(2, 900)} {chance.choice(('kg', 'g', 'kilograms', 'tonnes', 'lb'))}"


def _count(chance: random.Random) -> str:
    return f"{chance.randint(3, 4000):,}"


# A topic, the sentence that states it, the question about it, and its value.
Value = Callable[[random.Random], str]
_TOPICS: Sequence[tuple[str, str, Sequence[str], Value]] = (
    (
        "Travel",
        "The daily allowance for travel is {value}.",
        ("What is the daily travel allowance?", "How much per day may one claim on a trip?"),
        _money,
    ),
    (
        "Leave",
        "Employees have {value} of paid leave a year.",
        ("How long is paid leave?", "How much paid leave does one get a year?"),
        _time,
    ),
    (
        "Notice",
        "The notice period is {value}.",
        ("How long is the notice period?", "What notice has to be given?"),
        _time,
    ),
    (
        "Expenses",
        "Receipts must be handed in within {value} of the purchase.",
        ("Within what time must receipts be handed in?", "How soon are receipts due?"),
        _time,
    ),
    (
        "Equipment",
        "A laptop is replaced after {value}.",
        ("When is a laptop replaced?", "After how long does one get a new laptop?"),
        _time,
    ),
    (
        "Contact",
        "Questions go to {value}, who heads the department.",
        ("Who heads the department?", "Whom should one ask?"),
        _person,
    ),
    (
        "Validity",
        "These rules have been in force since {value}.",
        ("Since when have the rules been in force?",),
        _day,
    ),
    (
        "Orders",
        "The minimum order is {value} units.",
        ("What is the minimum order?", "How many units must one order at least?"),
        _count,
    ),
    ("Discounts", "Resellers get a discount of {value}.", ("What discount do resellers get?",), _share),
    (
        "Delivery",
        "Orders are delivered within {value}.",
        ("How long does delivery take?", "Within what time are orders delivered?"),
        _time,
    ),
    (
        "Warranty",
        "The warranty lasts {value} from the day of delivery.",
        ("How long is the warranty?",),
        _time,
    ),
    ("Storage", "Each account has {value} of storage.", ("How much storage has an account?",), _storage),
    ("Backups", "Backups are kept for {value}.", ("How long are backups kept?",), _time),
    (
        "Fees",
        "The registration fee is {value}.",
        ("How much is the registration fee?", "What does registration cost?"),
        _money,
    ),
    ("Weight", "The device weighs {value}.", ("How much does the device weigh?",), _weight),
    ("Staff", "The plant has {value} employees.", ("How many employees has the plant?",), _count),
    (
        "Reise",
        "Das Tagegeld beträgt {value}.",
        ("Wie hoch ist das Tagegeld?", "What is the daily allowance?"),
        _money,
    ),
    (
        "Kündigung",
        "Die Kündigungsfrist beträgt {value}.",
        ("Wie lang ist die Kündigungsfrist?",),
        lambda chance: f"{chance.randint(2, 12)} {chance.choice(('Wochen', 'Monate'))}",
    ),
    (
        "Frist",
        "Einwände sind bis zum {value} zu erheben.",
        ("Bis wann sind Einwände zu erheben?",),
        lambda chance: (
            f"{chance.randint(1, 28)}. {chance.choice(_GERMAN_MONTHS)} {chance.randint(2009, 2027)}"
        ),
    ),
    (
        "Délai",
        "Le délai de livraison est de {value}.",
        ("Quel est le délai de livraison ?",),
        lambda chance: f"{chance.randint(2, 60)} {chance.choice(('jours', 'semaines'))}",
    ),
)
_FILLERS = (
    "This section applies to all sites.",
    "Exceptions need the approval of the head of the unit.",
    "The works council has been heard.",
    "See the annex for the forms.",
    "Please read this carefully before you travel.",
    "It was last reviewed by the quality team.",
    "Contractors are not covered by this section.",
)  # fmt: skip
_OTHER_KINDS = (
    "What is the salary of the head of {subject}?",
    "Who founded {subject}?",
    "How many countries does {subject} work in?",
    "What is the phone number of {subject}?",
    "In which year was {subject} founded?",
    "What does {subject} charge for a visit?",
)


def policy(chance: random.Random) -> Branch:
    """Return a document of several topics with questions on some of them and on what it does not say."""
    subject = f"{name(chance)} {chance.choice(('AG', 'Ltd', 'Foundation', 'Group', 'University', 'Council'))}"
    topics = chance.sample(_TOPICS, chance.randint(2, 6))
    values = [topic[3](chance) for topic in topics]
    lines = []
    if chance.random() < 0.6:
        version = chance.randint(1, 6)
        lines.append(
            chance.choice(
                (
                    f"Version {version}, {_day(chance)}",
                    f"In force from {_day(chance)}",
                    f"{subject}, edition {version}",
                )
            )
        )
        if version > 1 and chance.random() < 0.5:
            lines.append(f"This version replaces version {version - 1}.")
    for (heading, sentence, _, _), value in zip(topics, values, strict=True):
        body = [sentence.format(value=value), *chance.sample(_FILLERS, chance.randint(0, 2))]
        chance.shuffle(body)
        lines.append(chance.choice((f"## {heading}\n", f"{heading}\n", "")) + " ".join(body))
    asked = chance.sample(range(len(topics)), min(len(topics), chance.randint(1, 3)))
    leaves = [
        question_leaf(_of(chance, chance.choice(topics[number][2]), subject), values[number], "made", subject)
        for number in asked
    ]
    absent = [topic for topic in _TOPICS if topic not in topics]
    leaves.append(
        question_leaf(_of(chance, chance.choice(chance.choice(absent)[2]), subject), "", "made/absent")
    )
    if chance.random() < 0.5:
        leaves.append(question_leaf(chance.choice(_OTHER_KINDS).format(subject=subject), "", "made/kind"))
    if chance.random() < 0.4:
        other = f"{name(chance)} {subject.rsplit(maxsplit=1)[-1]}"
        number = chance.randrange(len(topics))
        question = f"{chance.choice(topics[number][2])[:-1].strip()} at {other}?"
        leaves.append(question_leaf(question, "", "made/other"))
    title = chance.choice((subject, f"{subject}: rules", f"Rules of {subject}"))
    return Branch(passage_text("\n\n".join(lines), title), tuple(leaves))


def _of(chance: random.Random, question: str, subject: str) -> str:
    """Return a question, half of the time with the name of whom it is about (in English alone)."""
    if chance.random() < 0.5 or question.split(maxsplit=1)[0] in ("Wie", "Bis", "Quel"):
        return question
    return f"{question[:-1].strip()} at {subject}?"


_COLUMNS: Sequence[tuple[str, str, Value]] = (
    ("Price", "How much is {key}?", _money),
    ("Weight", "How heavy is {key}?", _weight),
    ("Width", "How wide is {key}?", _length),
    ("In stock", "How many of {key} are in stock?", _count),
    ("Warranty", "How long is the warranty of {key}?", _time),
    ("Contact", "Who is the contact for {key}?", _person),
    ("Released", "When was {key} released?", _day),
    ("Discount", "What is the discount on {key}?", _share),
    ("Supplier", "Who supplies {key}?", lambda chance: f"{name(chance)} GmbH"),
)


def table_row(chance: random.Random) -> Branch:
    """Return one to four rows of a table as "column: value", and questions, some on a near model number."""
    stem, number = name(chance, 1).upper(), chance.randint(1, 90) * 10
    keys = [f"{stem}-{number + 10 * step}" for step in range(4)]
    chance.shuffle(keys)
    columns = chance.sample(_COLUMNS, chance.randint(2, 5))
    rows = keys[: chance.randint(1, 3)]
    values = {key: [column[2](chance) for column in columns] for key in rows}
    mark = chance.choice(("; ", "\n", " | "))
    text = "\n\n".join(
        mark.join(
            [
                f"Model: {key}",
                *(f"{column[0]}: {value}" for column, value in zip(columns, values[key], strict=True)),
            ]
        )
        for key in rows
    )
    leaves = []
    for key in chance.sample(rows, min(2, len(rows))):
        place = chance.randrange(len(columns))
        leaves.append(question_leaf(columns[place][1].format(key=key), values[key][place], "made", key))
    missing = chance.choice(keys[len(rows) :])
    leaves.append(question_leaf(chance.choice(columns)[1].format(key=missing), "", "made/number"))
    absent = [column for column in _COLUMNS if column not in columns]
    leaves.append(question_leaf(chance.choice(absent)[1].format(key=chance.choice(rows)), "", "made/absent"))
    return Branch(
        passage_text(text, chance.choice(("", f"{name(chance)} price list", "models.csv"))), tuple(leaves)
    )


def same_topic(chance: random.Random) -> Branch:
    """Return quotes of several owners on one topic, asked of one of them, and of another that is not quoted."""
    heading, sentence, questions, value = chance.choice(_TOPICS)
    kind = chance.choice(("AG", "Ltd", "Foundation", "Group", "University", "Council", "Ferries", "Club"))
    owners = [f"{name(chance)} {kind}" for _ in range(chance.randint(3, 6))]
    absent = owners.pop()
    values = {owner: value(chance) for owner in owners}
    quotes = []
    for owner in owners:
        title = chance.choice((owner, f"{owner}: rules", f"Rules of {owner}", f"{heading} at {owner}"))
        quotes.append(" | ".join([title, heading, sentence.format(value=values[owner])]))
    other = chance.choice([topic for topic in _TOPICS if topic[0] != heading])
    owner = chance.choice(owners)
    quotes.append(f"{owner} | {other[0]} | {other[1].format(value=other[3](chance))}")
    chance.shuffle(quotes)
    leaves = [
        question_leaf(f"{question[:-1].strip()} at {each}?", answer, kind_of)
        for each, answer, kind_of in ((owner, values[owner], "look"), (absent, "", "look/unknown"))
        for question in [chance.choice(questions)]
    ]
    return Branch(quotes_text(quotes), tuple(leaves))


def branches(chance: random.Random, count: int) -> list[Branch]:
    """Return made documents, policies and tables."""
    return [chance.choice((policy, policy, table_row))(chance) for _ in range(count)]
