"""Conversations: follow-ups are understood with what was said before, and threads are kept."""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path

import pytest

from disputatio.llm.scripted import Scripted
from disputatio.server.answer_store import AnswerStore
from disputatio.server.options import StorageOptions
from disputatio.types import Answer
from tests.server.ferry import Served, ferry, held, read_events, says, served

FIRST = "When did the ferry first cross?"
SECOND = "And who says so of it?"
ALONE = "Who says when the ferry first cross?"
ANSWER = Answer.from_dict(
    {"question": "Who?", "answers": ["Ada"], "text": "Ada.", "strategy": "concat", "model": "m"}
)


def _says(prompt: str) -> str:
    if "Rewrite the last question" in prompt:
        return json.dumps({"question": ALONE if "1887" in prompt else "Nothing was said before?"})
    return says(prompt)


def _model() -> Scripted:
    return Scripted(_says, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script")


def _ask(server: Served, question: str, follows: str) -> str:
    """Ask, and return the id of the kept answer."""
    response = server.ask(question, follows=follows)
    assert response.status_code == 200, response.text
    return response.headers["content-location"].rpartition("/")[2]


def test_a_follow_up_is_asked_with_what_was_said_before_and_the_thread_is_kept(tmp_path: Path) -> None:
    with served(ferry(tmp_path, model=_model())) as server:
        first = _ask(server, FIRST, "")
        second = _ask(server, SECOND, first)
        thread = server.client.get(f"/api/threads/{second}").json()
        assert [turn["asked"] for turn in thread["turns"]] == [FIRST, SECOND]
        assert [turn["question"] for turn in thread["turns"]] == [FIRST, ALONE]
        assert [turn["follows"] for turn in thread["turns"]] == ["", first]
        assert thread["id"] == first
        [row] = server.client.get("/api/threads").json()
        assert (row["question"], row["last"], row["turns"]) == (FIRST, second, 2)


def test_the_event_of_a_follow_up_says_how_it_was_understood(tmp_path: Path) -> None:
    with served(ferry(tmp_path, model=_model())) as server:
        first = _ask(server, FIRST, "")
        name, asked = server.events(SECOND, follows=first)[0]
        assert (name, asked["question"]) == ("asked", ALONE)


def test_a_question_that_is_edited_follows_the_same_answer_as_before(tmp_path: Path) -> None:
    with served(ferry(tmp_path, model=_model())) as server:
        first = _ask(server, FIRST, "")
        _ask(server, SECOND, first)
        edited = _ask(server, "And by whom?", first)
        turns = server.client.get(f"/api/threads/{edited}").json()["turns"]
        assert [turn["follows"] for turn in turns] == ["", first, first]
        assert [turn.asked for turn in server.service.answers.before(edited, 9)] == [FIRST, "And by whom?"]


def test_a_question_without_a_conversation_is_in_no_list(tmp_path: Path) -> None:
    with served(ferry(tmp_path)) as server:
        server.ask(FIRST)
        assert server.client.get("/api/threads").json() == []


def test_a_follow_up_to_an_answer_that_is_not_kept_is_refused(tmp_path: Path) -> None:
    with served(ferry(tmp_path)) as server:
        assert server.ask(SECOND, follows="a0").status_code == 404


def test_a_thread_is_deleted_with_its_answers(tmp_path: Path) -> None:
    with served(ferry(tmp_path, model=_model())) as server:
        first = _ask(server, FIRST, "")
        second = _ask(server, SECOND, first)
        assert server.client.delete(f"/api/threads/{first}").json() == {"answers": 2}
        assert server.client.get(f"/api/answers/{second}").status_code == 404
        assert server.client.delete(f"/api/threads/{first}").status_code == 404


def test_a_client_neither_lists_nor_deletes_the_conversations_of_another() -> None:
    store = AnswerStore(None)
    store.keep("a1", ANSWER)
    store.keep_turn("a1", follows="", asked="Who?", client="one")
    assert store.conversations("other", 9) == []
    assert store.drop_thread("a1", "other") == 0
    assert [row.question for row in store.conversations("one", 9)] == ["Who?"]


def test_answers_of_a_store_without_conversations_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    store = AnswerStore(path)
    store.keep("a1", ANSWER)
    store.close()
    with sqlite3.connect(path) as db:
        db.executescript("DROP TABLE turns; PRAGMA user_version = 1")
    db.close()
    store = AnswerStore(path)
    assert store.answer("a1").answers == ("Ada",)
    store.keep_turn("a1", follows="", asked="Who?", client="")
    assert store.thread("a1")[0].asked == "Who?"
    store.close()


@pytest.mark.long
def test_conversations_are_there_after_a_restart(tmp_path: Path) -> None:
    keeping = StorageOptions(answers=tmp_path / "answers.sqlite")
    with served(ferry(tmp_path, keeping=keeping)) as server:
        first = _ask(server, FIRST, "")
    again = ferry(tmp_path, keeping=keeping, index=server.service.index)
    with served(again) as server:
        assert [row["id"] for row in server.client.get("/api/threads").json()] == [first]


def test_a_question_is_answered_from_what_was_read_by_now_when_it_is_told_to(tmp_path: Path) -> None:
    released = threading.Event()

    def reads(prompt: str) -> str:
        if "1901" in prompt.partition("<passage")[2]:
            released.wait(60)
        return says(prompt)

    model = Scripted(reads, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script")
    with served(ferry(tmp_path, model=model)) as server:
        body = {"question": FIRST, "within": 600}
        headers = {"Accept": "text/event-stream"}
        with server.client.stream("POST", "/api/ask", json=body, headers=headers) as response:
            events = read_events(response)
            name = next(data["id"] for kind, data in events if kind == "asked")
            for _ in range(2):  # the third passage is held
                next(data for kind, data in events if kind == "read")
            assert server.client.post(f"/api/ask/{name}/finish").status_code == 200
            answer = next(data["answer"] for kind, data in events if kind == "answer")
        released.set()
        assert answer["answers"] == ["1887"]
        assert answer["read"]["late"] == ["p3"]


def test_a_question_without_a_deadline_cannot_be_finished(tmp_path: Path) -> None:
    released = threading.Event()
    with served(ferry(tmp_path, model=held(released))) as server:
        body = {"question": FIRST}
        headers = {"Accept": "text/event-stream"}
        with server.client.stream("POST", "/api/ask", json=body, headers=headers) as response:
            name = next(data["id"] for kind, data in read_events(response) if kind == "asked")
            refused = server.client.post(f"/api/ask/{name}/finish")
            released.set()
        assert refused.status_code == 400
        assert "within" in refused.json()["error"]["message"]


def test_the_same_question_again_is_asked_as_it_stands(tmp_path: Path) -> None:
    model = _model()
    with served(ferry(tmp_path, model=model)) as server:
        first = _ask(server, FIRST, "")
        again = _ask(server, FIRST, first)
        turns = server.client.get(f"/api/threads/{again}").json()["turns"]
        assert [turn["question"] for turn in turns] == [FIRST, FIRST]
