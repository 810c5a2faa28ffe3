"""Talk and hearsay are weak evidence beside what a document says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from disputatio.strategies.disputation.conversation import is_conversation, is_hearsay
from disputatio.strategies.disputation.joint_look import sides_to_show
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.strategies.disputation.resolve import ResolvedSide, resolve, sides_in_doubt
from disputatio.strategies.disputation.sides import Side, unfit, weigh
from disputatio.types import Answer, Passage, Relation, Reply
from tests.strategies.disputation_agents import Agents, answered, word

QUESTION = "What does a session cost?"


@pytest.mark.parametrize(
    "sentence",
    [
        "the pool is coming, my sister-in-law says £30 a go",
        "I heard it will be £30.",
        "Somebody told me that it is 30.",
        "It is said in the village that it will be £30.",
        "Im Herbst sollen es 30 Euro sein, hört man im Dorf.",
        "Ce sera 30 euros, dit-on au marché.",
        "der bus soll 2028 kommen, sagt mein schwager",
        "Angeblich kostet es 30 Euro.",
        "Er hat mir am Tresen gesagt, es sind 30.",
        "anybody know about the cool rooms? mate says 190 a month",
        "It starts in March, says my neighbour.",
        "ce serait 5 euros d'après le chauffeur",
        "Il paraît que c'est 5 euros.",
    ],
)
def test_what_somebody_was_told_is_hearsay(sentence: str) -> None:
    assert is_hearsay(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The ministry says that it costs £30.",
        "Laut Satzung kostet es 30 Euro.",
        "D'après le règlement, c'est 5 euros.",
        "Selon le tarif, 5 euros.",
        "The mayor told reporters that it costs £30.",
        "In section 4 it is stated that it costs £30.",
        "Dort hört man Musik für 30 Euro.",
        "A friend of the club pays £30.",
        "Whoever has told us ten days before pays nothing.",
    ],
)
def test_what_a_paper_or_an_office_says_is_none(sentence: str) -> None:
    assert not is_hearsay(sentence)


def read(answer: str, text: str, source: str) -> PassageReading:
    passage = Passage(id=source, text=text, source=source)
    return PassageReading(passage=passage, reply=Reply(passages=(source,), answer=answer, quote=text))


def test_an_answer_from_hearsay_alone_is_none_and_one_that_a_paper_gives_too_is() -> None:
    forum = read("£30", "A session is £30, my cousin says.", "forum")
    paper = read("£30", "A session costs £30.", "terms")
    [alone] = weigh(QUESTION, [forum], {})
    [both] = weigh(QUESTION, [forum, paper], {})
    assert (unfit(alone.features), unfit(both.features)) == ("hearsay", None)


# --- conversations --------------------------------------------------------------------------------
CONVERSATIONS = {
    "name: text": """Forum "Round the tower", saved on 3 May 2026
        bell_ringer: the tower opens at Easter, they told me
        mo: no way, it is scaffolded
        bell_ringer: then in June""",
    "topics": """Board of the tower
        [the cat]
        [the lift]
        [the view]
        # the tower
        bell_ringer: the tower opens at Easter?
        moss77: no way, it is scaffolded
        ## the bells
        gull: silent since May
        moss77: and rusty, says the warden
        bell_ringer: who asked him""",
    "<name> text": """<bell_ringer> does the tower open at Easter
        <mo> no way, it is scaffolded
        <bell_ringer> then in June""",
    "[time] name: text": """[14:03] Anna: does the tower open at Easter?
        [14:05] Ben: No, it has a scaffold.
        [14:09] Anna: Then in June.""",
    "date, time - name: text": """12/05/2026, 14:03 - Anna Berg: Does the tower open at Easter?
        12/05/2026, 14:05 - +44 7700 900123: No, it has a scaffold.
        and a fence
        12/05/2026, 14:09 - Anna Berg: Then in June.""",
    "[date, time] name: text": """[12.05.26, 14:03:11] Anna: Macht der Turm zu Ostern auf?
        [12.05.26, 14:05:40] Ben: Nein, da steht ein Gerüst.
        [12.05.26, 14:09:02] Cora: Dann im Juni.""",
    "name (time): text": """bell_ringer (14:03): does the tower open at Easter
        moss77 (14:05): no way, it is scaffolded
        gull (14:09): then in June""",
    "name, date: text": """bell_ringer, 28 August 2026: does the tower open at Easter
        pikeperch, 28 August 2026: No way. It has a scaffold.
        moss77, 2 September 2026: then next year""",
    "name, date, and the text below": """bell_ringer, 28 August 2026
        Does the tower open at Easter? I have guests.
        They love stairs.
        moss77, 28 August 2026, 14:05
        No, it has a scaffold.
        bell_ringer, 2 September 2026
        Then next year.""",
    "votes and ages": """r/Towers · Posted by u/bell_ringer · 19 days ago
        [–] **u/moss77** 38 points · 19 days ago
        No, it has a scaffold.
        [–] **u/bell_ringer** [OP] 6 points · 18 days ago
        Then in June.
        [–] **u/gull** -2 points · 17 days ago
        [removed]""",
    "vor Tagen": """Anna Berg · vor 3 Tagen
        Macht der Turm zu Ostern auf?
        Ben Holm – vor 2 Tagen
        Nein, da steht ein Gerüst.
        Anna Berg – vor 2 Stunden
        Dann im Juni?""",
    "**name** text": """**Anna** does the tower open at Easter?
        **Ben** it has a scaffold
        **Ben** and a fence!
        **Anna** then in June""",
    "On DATE, NAME wrote:": """On Tue, 12 May 2026 at 14:03, Anna Berg <anna@post.example> wrote:
        > Does the tower open at Easter?
        > On 11 May 2026, at 09:12, Ben Holm
        > wrote:
        >> It had a scaffold when I was there.
        >> On Mon, 11 May 2026 at 08:00, Anna Berg <anna@post.example> wrote:
        >>> Has anybody seen the tower?""",
    "Am DATE schrieb NAME:": """Am 12.05.2026 um 14:03 schrieb Anna Berg:
        > Macht der Turm zu Ostern auf?
        > Am 11.05.2026 um 09:12 schrieb Ben Holm:
        >> Da stand ein Gerüst.
        >> Am Mo., 11. Mai 2026 um 08:00 Uhr schrieb Anna Berg <anna@post.example>:
        >>> Hat jemand den Turm gesehen?""",
    "Le DATE, NAME a écrit :": """Le mar. 12 mai 2026 à 14:03, Anna Berg <anna@post.example> a écrit :
        > La tour ouvre à Pâques ?
        > Le 11 mai 2026 à 09:12, Ben Holm a écrit :
        >> Il y avait un échafaudage.
        >> Le 11 mai 2026 à 08:00, Anna Berg a écrit :
        >>> Quelqu'un a vu la tour ?""",
    "From: NAME": """From: Anna Berg <anna@post.example>
        Date: Tue, 12 May 2026
        Subject: [towers] opening
        Does the tower open at Easter?
        From: Ben Holm <ben@post.example>
        Date: Tue, 12 May 2026
        Subject: Re: [towers] opening
        No, it has a scaffold.
        From: Anna Berg <anna@post.example>
        Subject: Re: [towers] opening
        Then in June.""",
    "German": """Gruppe "Türmer", Chat vom 3. Mai 2026
        Jana: macht der turm zu ostern auf
        Tobi: nee, da steht ein gerüst
        Ilknur: dann im juni""",
    "two who take turns": """Forum "Rund um den Turm", Stand 3. Mai 2026
        zirbenhans: der turm macht zu ostern auf
        gipfelgeli: nein, da steht ein gerüst
        zirbenhans: dann im juni""",
    "whole sentences": """Forum of the tower
        Anna: It opens at Easter.
        Ben: It has a scaffold, and a fence.
        Ben: I saw them both.
        Anna: They are gone since May.""",
    "dates of a forum": """Tower forum
        bellringer, 28 August 2026: The tower opens at Easter.
        pikeperch, 28 August 2026: It has a scaffold, and a fence.
        webmaid, 2 September 2026: They are gone since May.""",
    "those who speak once": """Chat of the tower
        drill_sergeant: anybody know when the tower opens?
        user5521: Ask the warden.
        incisor: the door is free for half an hour""",
    "French": """Groupe des clochers, forum, copie du 3 mai 2026
        lea_m : la tour ouvre à Pâques
        papa_de_noe : non, il y a un échafaudage
        lea_m : alors en juin""",
}
DOCUMENTS = {
    "keys and values": """Address: 12 Tower Street, Holm
        Opening: every day from ten to six
        Price: eight pounds for adults
        Contact: the office of the parish""",
    "keys of a forum": """Forum of the parish
        Address: 12 Tower Street, Holm
        Opening: every day from ten to six
        Moderator: Anna Berg of the parish""",
    "a row": "Was: Autos und Räder; Zahl: 5.\nWas: Boote auf Seen; Zahl: 7.\nWas: Züge nach Holm; Zahl: 9.",
    "records": """name: the old tower of Holm
        price: is it eight? it is!
        name: the new tower of Holm
        price: nine at the most
        name: the bridge of Holm
        note: closed for the winter""",
    "questions": """Q: Does the tower open at Easter?
        A: no, it has a scaffold.
        Q: Does it open in June?
        A: yes, if it is dry!""",
    "Fragen": """Frage: macht der Turm zu Ostern auf?
        Antwort: nein, da steht ein Gerüst!
        Frage: macht er im Juni auf?
        Antwort: ja, bei gutem Wetter.""",
    "an interview": """Anna Berg: When does the tower open, then?
        Ben Holm: It opens in June. The scaffold goes first.
        Anna Berg: What will it cost?
        Ben Holm: Nine pounds, I think!""",
    "a glossary": """**tower** a building that is high
        **scaffold** what stands around it
        **stairs** the way up, by foot
        **bell** what rings!""",
    "minutes": """Chair: Welcomed the members to the meeting.
        Treasurer: Reported that the tower costs nine pounds.
        Treasurer: Asked for a vote on it. Was it in order?
        Chair: Moved that it be nine pounds.
        Clerk: Counted five votes for it.""",
    "a change log": """Core: fix the stairs of the tower
        Bells: ring them later
        Bells: ring them less
        Core: fix the stairs again
        Docs: say when it opens""",
    "a programme": """10:00 Opening: The mayor speaks to all
        11:00 Tour: Up the stairs with Ben
        14:00 Concert: Bells and nothing else
        15:00 Tour: Up the stairs with Anna""",
    "dates": """Easter fair, 5 April 2026: Cakes on the green
        Tower day, 7 June 2026: Up the stairs for free
        Bell night, 3 July 2026: Until the morning""",
    "code": """def opens(day: str) -> bool:
            return day in DAYS
        days: list[str] = []
        price: float = 9.0  # who pays?
        days: list[str] = ["June"]!""",
    "code of a chat": """chat completion, in Python
        max_tokens: int | Omit = not_given("max"),
        stream_options: Options | Omit = not_given("!"),
        max_tokens: str | Omit = not_given("max"),""",
    "options of a chat": """Options of the chat
        max_tokens: the most tokens of a reply
        stream_options: what a stream tells
        stop: the words that end a reply""",
    "the programme of a forum": """Kulturforum Holm
        Konzert, 5. Mai 2026: Die Glocken spielen
        Lesung, 7. Juni 2026: Der Türmer liest
        Konzert, 9. Juli 2026: Noch einmal die Glocken""",
    "a man page": """-h: print what this program does
        -v: print what it is doing
        -h: see above, where else?""",
    "marks": """NOTE: the tower is closed at night!
        WARNING: the stairs are steep, are they not?
        WARNING: the bells are loud
        NOTE: bring a lamp
        NOTE: and a coat""",
    "steps": """Step 1: open the door to the tower
        Step 2: go up! it is far
        Step 2: rest, are you well?
        Step 1: go down again""",
    "headers": """From: office@holm.example
        To: all@holm.example
        Subject: The tower
        From: the header field has the sender of a message
        Reply-To: who gets what is replied?""",
    "a mail": """From: The office <office@holm.example>
        Subject: Re: The tower
        The tower opens in June. It costs nine pounds.
        On Tue, 12 May 2026 at 14:03, Anna Berg <anna@post.example> wrote:
        > Does the tower open at Easter?""",
    "minutes of a board": """Board meeting of 3 May 2026
        Anna Berg: Welcomed the members to the meeting.
        Ben Holm: Reported that the tower costs nine pounds.
        Ben Holm: Asked for a vote on it.
        Anna Berg: Moved that it be nine pounds.""",
    "dates with times": """05.04.2026, 14:00 - Easter fair: Cakes on the green.
        07.06.2026, 11:00 - Tower day: Up the stairs for free.
        03.07.2026, 21:00 - Bell night: Until the morning.""",
    "sentences": """who wants to go up: bring a lamp, will you?
        who is too tall there: mind the beams
        who is too tall there: mind the bells
        who wants to go up: wear a coat""",
    "lower keys of a board": """forum of the tower
        opening: every day from ten to six
        price: eight pounds for adults!
        contact: the office of the parish""",
    "one person": """Forum of the parish
        bell_ringer: the tower opens at Easter
        bell_ringer: or is it June
        bell_ringer: nobody knows""",
    "a paper that quotes a few": """The tower opens in June. It costs nine pounds.
        It was built in 1870 and has 200 stairs.
        Visitors write in our forum:
        bell_ringer: lovely stairs it has!
        moss77: my knees, my knees
        moss77: does it have a lift?
        bell_ringer: and the view
        Groups of ten pay eight pounds each.
        The office of the parish has the key.
        It is closed in winter.""",
    "short values": """Forum of the tower
        max_age: 12
        min_age: 6
        max_age: 14
        colour: red""",
}


def passage_of(text: str, name: str = "p", **fields: Any) -> Passage:
    lines = (line.strip() for line in text.splitlines())
    return Passage(id=name, text="\n".join(lines), source="holm", **fields)


@pytest.mark.parametrize("form", CONVERSATIONS)
def test_posts_of_several_persons_are_a_conversation(form: str) -> None:
    assert is_conversation(passage_of(CONVERSATIONS[form]))


@pytest.mark.parametrize("form", DOCUMENTS)
def test_lines_of_documents_that_look_like_posts_are_none(form: str) -> None:
    assert not is_conversation(passage_of(DOCUMENTS[form]))


@pytest.mark.parametrize("fields", [{"title": "Tower forum: Easter?"}, {"family": "holm forum"}])
def test_the_end_of_a_thread_is_told_by_the_name_of_its_document(fields: dict[str, str]) -> None:
    end = "moss77: no way, it is scaffolded!\nbell_ringer: then in June"
    assert is_conversation(passage_of(end, **fields))
    assert not is_conversation(passage_of(end))


# --- what they weigh ------------------------------------------------------------------------------
WHEN = "When does the tower of Holm open?"
THREAD = passage_of(
    """Tower of Holm forum
    bell_ringer: the tower opens at Easter
    moss77: the tower of Holm opens at Easter, yes
    bell_ringer: good""",
    "thread",
    date="2026-11-01",
    date_origin="stated",
)
TERMS = Passage(
    id="terms",
    text="The tower of Holm opens in June. It costs nine pounds.",
    source="holm",
    date="2025-01-01",
    date_origin="stated",
)
PRICES = Passage(id="prices", text="A bell costs two pounds. It is made of tin.", source="holm")


def reads(_: str, passage: str) -> str:
    """Read Easter in threads and June in terms."""
    return word("Easter" if "at Easter" in passage else "June" if "in June" in passage else "unknown")


def asked(*passages: Passage, **options: Any) -> Answer:
    model = Agents(reads=reads, looks="unknown", believed={"Easter": 0.99, "June": 0.01})
    return answered(model, passages, WHEN, **options)


def sides(*told: tuple[str, Passage], question: str = WHEN) -> dict[str, Side]:
    readings = [
        PassageReading(passage=passage, reply=Reply(passages=(passage.id,), answer=answer))
        for answer, passage in told
    ]
    return {side.answer: side for side in weigh(question, readings, {}, ranked=False, day="2026-11-20")}


def another(passage: Passage, number: int) -> Passage:
    return replace(passage, id=f"{passage.id}{number}", source=f"holm{number}")


@pytest.mark.parametrize("threads", [1, 4])
def test_a_document_wins_over_later_and_more_talk(threads: int) -> None:
    answer = asked(TERMS, *(another(THREAD, number) for number in range(threads)))
    assert answer.answers == ("June",)
    (_, talk) = answer.conflict.positions
    assert (talk.answer, talk.verdict, talk.cause.kind) == ("Easter", "rejected", "off_topic")
    assert talk.cause.feature == "talk"
    assert talk.reason.endswith("it is only said in a conversation")


def test_what_nothing_but_talk_answers_is_withheld_and_shown_and_given_without_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = asked(THREAD, PRICES)
    assert (answer.answers, answer.abstained is not None) == ((), True)
    (talk,) = answer.conflict.positions
    assert (talk.answer, talk.verdict, talk.cause.kind) == ("Easter", "unresolved", "unsure")
    assert talk.reason.endswith("it is only said in a conversation")
    monkeypatch.setattr("disputatio.strategies.disputation.LEAST_CONFIDENCE", 0.0)
    assert asked(THREAD, PRICES).answers == ("Easter",)


def test_what_people_gave_an_authority_is_a_document_and_so_is_a_corpus_of_talk() -> None:
    assert asked(replace(THREAD, authority="official"), PRICES).answers == ("Easter",)
    assert asked(THREAD, another(THREAD, 2)).answers == ("Easter",)


def test_talk_beside_a_document_gives_neither_vote_nor_date_nor_quote() -> None:
    side = sides(("June", another(THREAD, 3)), ("June", TERMS), ("Easter", PRICES))["June"]
    assert (side.accounts, side.votes, side.stated_day) == (1.0, 1.0, "2025-01-01")
    assert (side.passages[0], side.is_talk) == (TERMS, False)
    poor = Passage(id="poor", text="It opens in June.", source="other")
    mixed = sides(("June", THREAD), ("June", poor), ("Easter", PRICES))["June"]
    assert mixed.features["lead"] == sides(("June", poor))["June"].features["lead"] < side.features["lead"]


@pytest.mark.parametrize(("by", "day"), [("June", "2026-11-01"), ("May", "2020-01-01")])
def test_the_date_of_talk_moves_no_document(by: str, day: str) -> None:
    notice = replace(TERMS, id="notice", text="The tower of Holm opens in May.", date="2026-01-01")
    thread = replace(THREAD, date=day)
    june, may = resolved_of(("June", TERMS), ("May", notice), (by, thread), ("", PRICES))[:2]
    assert (june.verdict, june.cause.kind, june.cause.support.date) == ("rejected", "older", "2025-01-01")
    assert (may.verdict, may.cause.support.date) == ("accepted", "2026-01-01")


def test_talk_takes_back_no_word_of_a_document() -> None:
    said = THREAD.text.replace("opens at Easter, yes", "opens at Easter and not in June")
    thread, notice = replace(THREAD, text=said), replace(PRICES, text="It opens at Easter and not in June.")
    assert sides(("June", TERMS), ("Easter", notice))["June"].superseded
    assert not sides(("June", TERMS), ("Easter", thread))["June"].superseded


def test_the_reason_is_that_it_is_talk_whatever_else_is_weak() -> None:
    terms, talk = sides(("June", TERMS), ("Easter", THREAD)).values()
    talk = replace(talk, features={**talk.features, "prose": -9.0})
    assert resolve(WHEN, [terms, talk])[1].cause.feature == "talk"


def test_talk_supersedes_no_document_and_keeps_none_in_force() -> None:
    claim = (Relation(kind="replaces", target="terms of the tower", quote="replaces the terms"),)
    terms = replace(TERMS, title="terms of the tower", document="d1")
    thread = replace(THREAD, relations=claim, document="d2", date="2026-11-02")
    notice = replace(PRICES, relations=claim, document="d3", date="2026-11-02")
    assert not sides(("June", terms), ("Easter", thread), ("May", PRICES))["June"].superseded
    assert sides(("June", terms), ("Easter", notice))["June"].is_superseded
    assert sides(("June", terms), ("June", THREAD), ("Easter", notice))["June"].is_superseded


def test_a_document_that_is_like_talk_is_no_altered_copy_of_it() -> None:
    like = replace(TERMS, text=THREAD.text.replace("Easter", "June").replace(":", " says"), id="like")
    read = sides(("June", like), ("Easter", THREAD))
    assert read["June"].features["resemblance"] == 0.0
    assert read["Easter"].features["resemblance"] > 0.5


def resolved_of(*told: tuple[str, Passage]) -> list[ResolvedSide]:
    return resolve(WHEN, list(sides(*told).values()))


def test_talk_is_neither_shown_nor_believed_beside_documents() -> None:
    told = (("June", TERMS), ("May", replace(TERMS, id="b", source="b", date="")), ("Easter", THREAD))
    resolved = resolved_of(*told)
    assert sorted(resolved[n].side.answer for n in sides_to_show(resolved, "one")) == ["June", "May"]
    assert "Easter" not in [resolved[n].side.answer for n in sides_in_doubt(WHEN, resolved, "one")]


def test_weak_documents_stand_before_talk_and_talk_before_none() -> None:
    weighed = list(sides(("June", TERMS), ("Easter", THREAD)).values())
    weak, none = (replace(weighed[0], log_odds=odds) for odds in (-2.0, -4.0))
    assert [each.verdict for each in resolve(WHEN, [weak, weighed[1]])] == ["accepted", "rejected"]
    assert [each.verdict for each in resolve(WHEN, [none, weighed[1]])] == ["rejected", "accepted"]


def test_talk_alone_is_compared_as_documents_are() -> None:
    later = replace(THREAD, id="later", text=THREAD.text.replace("Easter", "July"), date="2026-11-09")
    told: Sequence[ResolvedSide] = resolved_of(("Easter", THREAD), ("July", later), ("", PRICES))
    assert [each.verdict for each in told if each.side.answer] == ["rejected", "accepted"]
    assert all(each.side.is_talk for each in told)
    assert all(each.probability < 0.3 for each in told)


def test_talk_that_a_look_picks_is_withheld_all_the_same() -> None:
    side = sides(("Easter", THREAD), ("", PRICES))["Easter"]
    assert replace(side, moved={"look": 1.0}).probability < 0.3


def test_talk_stands_for_no_ground_that_a_document_lacks() -> None:
    question = "When does the tower of Saint Vigor in Holm open?"
    poor = Passage(id="poor", text="The tower opens in June.", source="Holm fair")
    named = THREAD.text.replace("tower of Holm", "tower of Saint Vigor in Holm")
    for text, fault in ((named, None), (named.replace(":", " says"), "ground")):
        told = (("June", poor), ("Easter", replace(THREAD, text=text)), ("", PRICES))
        assert unfit(sides(*told, question=question)["June"].features) == fault


def test_talk_lends_a_document_nothing_that_it_lacks() -> None:
    cakes = Passage(id="cakes", text="Cakes are sold in June.")
    withdrawn = replace(TERMS, by_people={"status": "retracted"})
    mixed, alone = (
        sides(*told)["June"]
        for told in ((("June", cakes), ("June", THREAD), ("", PRICES)), (("June", cakes),))
    )
    assert (
        (mixed.named, unfit(mixed.features))
        == (alone.named, unfit(alone.features))
        == (frozenset(), "ground")
    )
    assert sides(("June", withdrawn), ("June", THREAD))["June"].is_retracted
