"""An answer without some of its passages: what a fresh run over the others gives, and no model called."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from disputatio.errors import InputError, MustAskAgain, UnknownName
from disputatio.kit import TRAINED_READER, Kit
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.types import Answer, Completion, Passage, Reply, Source, Token, Usage
from disputatio.what_if import without
from tests.strategies.disputation_agents import EQUALS, LIE, QUESTION, TRUE, Agents
from tests.strategies.sources import Reader

DESIGNERS = (TRUE, LIE, "Tove Lind")
SOURCES = {
    name: Source(name=name, owner=owner, reliability=reliability, low=low, high=0.99)
    for name, owner, reliability, low in (
        ("guild", "guild", 0.9, 0.8), ("inn", "host", 0.8, 0.4), ("buzz", "host", 0.4, 0.1),
        ("log", "", 0.7, 0.6),
    )
}  # fmt: skip
NAMES = ("guild", "inn", "buzz", "log", "walks")


def town(seed: int) -> list[Passage]:
    """Some passages of some sources, of which each but a few names a designer; some are copies of another."""
    chance = random.Random(seed)
    passages: list[Passage] = []
    for number in range(chance.randint(2, 7)):
        designer = chance.choices((*DESIGNERS, ""), (5, 3, 1, 1))[0]
        said = f"was designed by {designer}" if designer else "stands on a hill"
        text = f"The lighthouse of Quillhaven {said}, as a note of {chance.choice(NAMES)} in {number} has it."
        if passages and chance.random() < 0.2:
            text = chance.choice(passages).text
        date = f"20{chance.randint(10, 24)}" if chance.random() < 0.3 else ""
        title = "Quillhaven" if chance.random() < 0.5 else ""
        source = chance.choice(NAMES)
        passages.append(Passage(id=f"p{number}", text=text, source=source, title=title, date=date))
    return passages


def model() -> Agents:
    return Agents(believed={TRUE: 0.9, LIE: 0.6, "Tove Lind": 0.2}, kept={TRUE: 0.8, LIE: 0.4})


def answered(
    strategy: str,
    model: Scripted,
    passages: Sequence[Passage],
    options: Mapping[str, Any],
    *,
    known: bool,
    doubted: Sequence[str] = (),
) -> Answer:
    sources = SOURCES if known else {}
    kit = Kit(
        model=model, roles={"judge": Reader(doubted=doubted)}, retriever=InMemory(passages), sources=sources
    )
    return ask(QUESTION, kit=kit, strategy=strategy, options=options)


def decided(answer: Answer) -> Answer:
    """Return what was decided, without what it cost and what it was made from."""
    return replace(answer, usage=Usage(), basis=None)


@pytest.mark.long
@pytest.mark.parametrize(
    ("strategy", "model", "options"),
    [
        ("disputation", model, {}),
        ("disputation", model, {"order": False, "debate": 2, "expect": "one"}),
        ("disputation", model, {"belief": False}),
        ("majority_vote", Reader, {"voters": "sources"}),
        ("ra_rag", Reader, {"selection": "all"}),
        ("ra_rag", Reader, {"selection": "all", "independent": True}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else getattr(value, "__name__", value),
)
def test_what_is_decided_without_passages_is_what_a_fresh_run_decides(
    strategy: str, model: Callable[[], Scripted], options: Mapping[str, Any]
) -> None:
    exact = refused = 0
    for seed in range(30):
        passages, chance = town(seed), random.Random(seed)
        answer = answered(strategy, model(), passages, options, known=seed % 2 == 0)
        stored = Answer.from_dict(json.loads(answer.to_json()))
        muted = {chance.choice(sorted({each.source for each in passages}))}
        left = [each for each in passages if each.source not in muted]
        if not left:
            continue
        try:
            without = stored.without(sources=muted)
        except MustAskAgain:
            refused += 1
            continue
        assert without.usage == Usage()
        assert all(passage.source not in muted for passage in without.passages)
        fresh = answered(strategy, model(), left, options, known=seed % 2 == 0)
        if not without.assumed:
            assert decided(without) == decided(fresh)
            exact += 1
    assert exact >= 12
    assert refused <= 8


def test_a_source_that_decided_is_taken_away_and_given_back() -> None:
    passages = [
        Passage(id="a", source="guild", text=f"The lighthouse was designed by {TRUE}, the guild says."),
        Passage(id="b", source="walks", text=f"On our walk we learned it was designed by {TRUE}."),
        Passage(id="c", source="buzz", owner="buzz ltd", text=f"Ten facts: it was designed by {LIE}."),
    ]  # fmt: skip
    answer = answered("majority_vote", Reader(), passages, {"voters": "sources"}, known=False)
    assert answer.answers == (TRUE,)
    assert answer.without(sources=["walks"], passages=["a"]).answers == (LIE,)
    assert answer.without(owners=["buzz ltd"]).conflict.kind == "none"
    once = answer.without(sources="guild")
    assert once.without(sources=["walks"]) == answer.without(sources=["guild", "walks"])
    assert once.conflict.kind == "unresolved"
    assert answer.answers == (TRUE,)


@pytest.mark.long
def test_what_the_model_holds_of_the_answers_that_are_left_is_estimated_and_told() -> None:
    third = replace(
        EQUALS[0],
        id="three",
        source="three",
        text=EQUALS[0].text.replace(TRUE, "Tove Lind").replace("her", "his"),
    )
    model = Agents(believed={TRUE: 0.9, LIE: 0.05, "Tove Lind": 0.05})
    options = {"order": False, "copies": False, "debate": 0}
    answer = answered("disputation", model, [*EQUALS, third], options, known=False)
    assert answer.answers == (TRUE,)
    without = answer.without(sources=["three"])
    assert (without.answers, without.assumed) == ((TRUE,), ("comparer", "belief"))
    position = without.conflict.positions[0]
    assert position.moved["belief"] > 0
    fresh = answered("disputation", Agents(believed={TRUE: 0.9, LIE: 0.05}), EQUALS, options, known=False)
    assert position.moved == pytest.approx(fresh.conflict.positions[0].moved, rel=0.05)


def test_a_claim_that_failed_keeps_its_verdict_where_its_quotes_stay() -> None:
    goats = Passage(id="goats", source="farm", text="Goats graze on the hill behind the town.")
    options = {"order": False, "belief": False, "debate": 0}
    doubted = [TRUE.split()[0]]
    answer = answered("disputation", model(), [EQUALS[0], goats], options, known=False, doubted=doubted)
    [claim] = answer.claims
    assert claim.verdict not in ("supported", "unchecked")
    without = answer.without(sources=["farm"])
    assert (without.claims, without.assumed) == (answer.claims, ())


def test_a_prompt_that_holds_all_passages_must_be_asked_again() -> None:
    replies = Scripted(lambda _: json.dumps({"answers": [TRUE], "explanation": ""}), name="scripted:x")
    answer = answered("concat", replies, EQUALS, {}, known=False)
    with pytest.raises(MustAskAgain, match="scripted:x would have to read something new"):
        answer.without(sources=["one"])


def test_an_answer_that_keeps_nothing_says_so() -> None:
    with pytest.raises(MustAskAgain, match="keeps nothing to decide by"):
        Answer(question="Who?", strategy="disputation").without(sources=["one"])
    answer = answered("majority_vote", Reader(), EQUALS, {"voters": "sources"}, known=False)
    with pytest.raises(MustAskAgain, match="keeps nothing"):
        replace(answer, strategy="os:system").without(sources=["one"])


def freshest(question: str, kit: Kit, *, rounds: int = 1) -> Answer:
    """Answer as a strategy of somebody else's does: what the passage with the latest date says."""
    passages = kit.passages(question)
    newest = max(passages, key=lambda passage: passage.date)
    name = TRUE if TRUE in newest.text else LIE
    reply = Reply(passages=(newest.id,), answer=name)
    return Answer(question=question, answers=(name,), replies=(reply,), passages=tuple(passages))


def undated(question: str, kit: Kit) -> Answer:
    return Answer(question=question, abstained="no_evidence")


def test_an_answer_of_a_strategy_from_outside_is_decided_again_by_its_function() -> None:
    passages = [replace(passage, date=f"20{10 + n}") for n, passage in enumerate(EQUALS)]
    kit = Kit(model=Reader(), retriever=InMemory(passages))
    answer = ask(QUESTION, kit=kit, strategy=freshest, verify=False)
    stored = Answer.from_dict(json.loads(answer.to_json()))
    removed = passages[-1].source
    without = stored.without(sources=[removed], strategy=freshest)
    fresh_kit = replace(kit, retriever=InMemory(passages[:-1]))
    assert decided(without) == decided(ask(QUESTION, kit=fresh_kit, strategy=freshest, verify=False))
    assert without.answers != answer.answers
    with pytest.raises(MustAskAgain, match="give the function as strategy="):
        stored.without(sources=[removed])
    with pytest.raises(InputError, match=r"did not give it: tests\.test_what_if:freshest did"):
        stored.without(sources=[removed], strategy=undated)


@pytest.mark.parametrize("kind", ["source", "owner", "passage", "document"])
def test_a_name_that_the_answer_does_not_have_is_an_error(kind: str) -> None:
    answer = answered("majority_vote", Reader(), EQUALS, {"voters": "sources"}, known=False)
    with pytest.raises(UnknownName, match=f"unknown {kind} 'tow'"):
        without(answer, **{f"{kind}s": ["tow"]})  # type: ignore[arg-type]


def test_without_nothing_it_is_the_same_answer() -> None:
    answer = answered("disputation", model(), EQUALS, {}, known=True)
    assert decided(answer.without()) == decided(answer)


class Words:
    """A judge of claims that goes by shared words and counts its pairs."""

    def __init__(self) -> None:
        self.pairs = 0

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.pairs += len(pairs)
        words = [(set(premise.split()), set(hypothesis.split())) for premise, hypothesis in pairs]
        return [len(premise & hypothesis) / len(hypothesis) for premise, hypothesis in words]


def test_what_a_judge_of_the_kit_s_own_said_is_said_again() -> None:
    passages = [
        Passage(
            id="a",
            source="guild",
            text=f"{TRUE} designed the Quillhaven lighthouse: it was designed by {TRUE}.",
        ),
        Passage(
            id="b",
            source="walks",
            text=f"He designed the Quillhaven lighthouse alone: it was designed by {TRUE}.",
        ),
        Passage(
            id="c",
            source="buzz",
            text=f"He designed the Quillhaven lighthouse; it was designed by Sir {TRUE}.",
        ),
    ]
    words = Words()
    kit = Kit(model=Reader(), entailment=words, retriever=InMemory(passages))
    answer = ask(QUESTION, kit=kit, strategy="majority_vote", options={"voters": "sources"})
    asked = words.pairs
    assert asked
    assert answer.basis is not None
    assert answer.basis.judgements
    without = Answer.from_dict(json.loads(answer.to_json())).without(sources=["walks"])
    assert without.assumed == ()
    assert [claim.verdict for claim in without.claims] == [claim.verdict for claim in answer.claims]
    assert words.pairs == asked


def test_what_the_trained_reader_read_is_decided_again_as_it_was_read() -> None:
    texts = {
        "a": "Ada Lund designed the lighthouse.",
        "b": "Bo Krag designed it, says the inn.",
        "c": "It is Ada Lund's.",
    }
    passages = [Passage(id=name, text=text, source=name) for name, text in texts.items()]
    trained = Scripted({"Bo Krag designed": "Bo Krag", "quotes": "unknown", "passage": "Ada Lund"})
    roles = {TRAINED_READER: trained, "judge": Reader()}
    kit = Kit(model=Agents(), roles=roles, retriever=InMemory(passages))
    answer = ask(QUESTION, kit=kit)
    assert answer.basis is not None
    assert answer.basis.details["reader"] == "trained"
    assert without(answer, passages=["b"]).answers == ("Ada Lund",)
    unsaid = replace(answer.basis, details={**answer.basis.details, "reader": ""})
    with pytest.raises(MustAskAgain):
        without(replace(answer, basis=unsaid), passages=["b"])


def test_what_was_read_a_second_time_is_decided_again_without_a_model() -> None:
    unsure = Completion(
        text="unknown",
        finish_reason="stop",
        usage=Usage(calls=1),
        tokens=(Token(text="unknown", logprob=-0.5),),
    )
    trained = Scripted({"quotes": "unknown", "guild": "Ada Lund", "inn": unsure})
    passages = [
        Passage(id="a", text="Ada Lund designed the lighthouse, says the guild.", source="guild"),
        Passage(id="b", text="They say at the inn that it was designed by Bo Krag.", source="inn"),
    ]
    roles = {TRAINED_READER: trained, "judge": Reader()}
    answer = ask(QUESTION, kit=Kit(model=Agents(), roles=roles, retriever=InMemory(passages)))
    assert {each.answer for each in answer.conflict.positions} == {"Ada Lund", "Bo Krag"}
    again = without(answer, passages=["a"])
    assert (again.answers, again.assumed) == (("Bo Krag",), ())
