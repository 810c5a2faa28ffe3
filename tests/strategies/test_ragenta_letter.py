"""RAGentA to the letter: agents 3 and 4 read documents, and a model answers follow-ups and merges them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from disputatio.agents.passage_judge import PREDICTOR_SYSTEM
from disputatio.kit import Kit
from disputatio.llm.scripted import Line, Scripted
from disputatio.pipeline import ask
from disputatio.protocols import Search
from disputatio.store.in_memory import InMemory
from disputatio.strategies.ragenta.letter import CHECK_SYSTEM, FINAL_SYSTEM, FOLLOW_SYSTEM, MERGE_SYSTEM
from disputatio.types import Answer, Hit, Passage
from tests.strategies.desk import part, revised

QUESTION = "How high is Everest, and in which country does it lie?"
HEIGHT = Passage(id="h", source="h.example", text="Snow falls. Everest is 8,849 m high. It is cold there.")
SURVEY = Passage(id="s", source="s.example", text="A survey of 2020 found Everest to be 8,849 m high.")
PICNIC = Passage(id="p", source="p.example", text="A picnic needs a blanket and some bread.")
NEPAL = Passage(id="n", source="n.example", text="Everest lies on the border of Nepal and China.")
FIRST = "Everest is 8,849 m high [1,2]."
GAP = revised(
    part("height", "c1"), part("country", coverage="none", follow_up="In which country does Everest lie?")
)


class Shelf:
    """A retriever that finds some passages for the question and others for what follows."""

    def __init__(self, first: list[Passage], later: list[Passage]) -> None:
        self._first, self._later = InMemory(first), InMemory(later)
        self.searches: list[Search] = []

    def search(self, query: str, **options: object) -> list[Hit]:
        self.searches.append(Search(**options))  # type: ignore[arg-type]
        shelf = self._first if len(self.searches) == 1 else self._later
        return shelf.search(query, **options)  # type: ignore[arg-type]


class Staff(Scripted):
    """Predictors say what their passage says; the agents that read documents say their lines."""

    def __init__(self, lines: Mapping[str, Line | Callable[[str], Line]]) -> None:
        super().__init__(self._say, name="staff", choices=self._odds)
        self._own = lines

    def prompts(self, system: str) -> list[str]:
        """Return what an agent was told, prompt by prompt."""
        return [
            call.prompt.messages[-1].content
            for call in self.calls
            if call.prompt.messages[0].content == system and len(call.prompt.messages) == 2
        ]

    def _say(self, text: str) -> Line:
        if text.startswith(PREDICTOR_SYSTEM):
            return json.dumps(
                {"answer": "unknown" if "picnic" in text.rpartition("Reply:")[2] else "8,849 m"}
            )
        line = next(line for system, line in self._own.items() if text.startswith(system))
        return line(text) if callable(line) else line

    def _odds(self, text: str) -> Mapping[str, float]:
        low = "blanket" in text.rpartition("Reply:")[2]
        return {"Yes": 0.05, "No": 0.95} if low else {"Yes": 0.9, "No": 0.1}


def prose(text: str) -> str:
    return json.dumps({"answer": text})


def answered(staff: Staff, shelf: Shelf, **options: object) -> Answer:
    return ask(
        QUESTION,
        kit=Kit(model=staff, retriever=shelf),
        strategy="ragenta",
        options={"letter": True, **options},
        verify=False,
    )


def test_agent_3_reads_the_kept_documents_and_its_marks_become_citations() -> None:
    staff = Staff({FINAL_SYSTEM: prose(FIRST)})
    answer = answered(staff, Shelf([HEIGHT, SURVEY, PICNIC], []), rounds=0)
    [prompt] = staff.prompts(FINAL_SYSTEM)
    assert HEIGHT.text in prompt
    assert SURVEY.text in prompt
    assert PICNIC.text not in prompt, "the judge dropped it"
    [claim] = answer.claims
    assert claim.text == "Everest is 8,849 m high."
    assert {citation.quote for citation in claim.citations} == {"Everest is 8,849 m high.", SURVEY.text}


def test_agent_4_reads_documents_answer_and_claims() -> None:
    staff = Staff({FINAL_SYSTEM: prose(FIRST), CHECK_SYSTEM: revised(part("all", "c1"))})
    answered(staff, Shelf([HEIGHT, SURVEY], []))
    [prompt] = staff.prompts(CHECK_SYSTEM)
    assert HEIGHT.text in prompt
    assert "Everest is 8,849 m high [1,2]." in prompt
    assert '{"id": "c1", "claim": "Everest is 8,849 m high."}' in prompt


def test_a_follow_up_is_answered_from_twenty_new_documents_and_merged_by_the_model() -> None:
    lines = {
        FINAL_SYSTEM: prose(FIRST),
        CHECK_SYSTEM: GAP,
        FOLLOW_SYSTEM: prose("Everest lies on the border of Nepal and China [3]."),
        MERGE_SYSTEM: prose("Everest is 8,849 m high [1]. It lies on the border of Nepal and China [3]."),
    }
    staff, shelf = Staff(lines), Shelf([HEIGHT, SURVEY], [NEPAL])
    answer = answered(staff, shelf)
    assert shelf.searches[1].k == 20
    assert set(shelf.searches[1].exclude) == {"h", "s"}
    [follow] = staff.prompts(FOLLOW_SYSTEM)
    assert NEPAL.text in follow
    assert "Document 3:" in follow, "numbers go on, so that marks stay valid through the merge"
    [merge] = staff.prompts(MERGE_SYSTEM)
    assert "[3]" in merge
    assert [[c.passage for c in claim.citations] for claim in answer.claims] == [["h"], ["n"]]
    assert {passage.id for passage in answer.passages} == {"h", "s", "n"}


def test_a_follow_up_that_no_document_answers_changes_nothing() -> None:
    lines = {FINAL_SYSTEM: prose(FIRST), CHECK_SYSTEM: GAP, FOLLOW_SYSTEM: prose("unknown")}
    staff = Staff(lines)
    answer = answered(staff, Shelf([HEIGHT, SURVEY], [NEPAL]))
    assert staff.prompts(MERGE_SYSTEM) == []
    assert [claim.text for claim in answer.claims] == ["Everest is 8,849 m high."]


def test_a_merge_that_cannot_be_used_adds_the_new_claims() -> None:
    lines = {
        FINAL_SYSTEM: prose(FIRST),
        CHECK_SYSTEM: GAP,
        FOLLOW_SYSTEM: prose("Everest lies on the border of Nepal and China [3]."),
        MERGE_SYSTEM: "no JSON",
    }
    answer = answered(Staff(lines), Shelf([HEIGHT, SURVEY], [NEPAL]))
    assert len(answer.claims) == 2
    assert answer.claims[1].citations[0].quote == NEPAL.text


def test_an_invented_mark_cites_nothing_and_an_unknown_answer_is_an_abstention() -> None:
    invented = answered(Staff({FINAL_SYSTEM: prose("Everest is high [9].")}), Shelf([HEIGHT], []), rounds=0)
    assert not any(claim.citations for claim in invented.claims)
    silent = answered(Staff({FINAL_SYSTEM: prose("unknown")}), Shelf([HEIGHT], []), rounds=1)
    assert (silent.answers, silent.abstained) == ((), "no_evidence")


def test_the_floor_decides_nothing() -> None:
    staff = Staff({FINAL_SYSTEM: prose("A picnic needs a blanket [1].")})
    assert answered(staff, Shelf([PICNIC], []), rounds=0, floor=5.0).claims
