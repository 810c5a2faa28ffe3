"""A Self-RAG checkpoint behind a real server: tiny, with the authors' tokens and known chances of each."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator

import pytest

from disputatio.config import read_settings
from disputatio.kit import Kit
from disputatio.llm.connection import Connection
from disputatio.llm.endpoint import Endpoint
from disputatio.parts import build_kit
from disputatio.store.in_memory import InMemory
from disputatio.strategies.self_rag import SUPPORT_WORTH, USE_WORTH, self_rag
from disputatio.trace import Trace
from disputatio.types import Message, Passage, Prompt, Sampling
from tests.llm import tiny_checkpoint as tiny

QUESTION = "In which year did the ferry first cross?"
PASSAGES = [
    Passage(id="a", source="a", text="The ferry crossed in 7."),
    Passage(id="b", source="b", text="No ferry."),
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the server comes for x86-64 alone"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("tiny") / "selfrag-tiny.gguf"
    tiny.write(path)
    line = [sys.executable, "-m", "tests.llm.tiny_checkpoint", str(path)]
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http"), "the server of llama.cpp did not start"
        yield address
        server.kill()


@pytest.fixture(scope="module")
def checkpoint(address: str) -> Iterator[Endpoint]:
    with Endpoint(Connection("selfrag-tiny", base_url=f"{address}/v1", api_key="none")) as endpoint:
        yield endpoint


def test_a_server_of_llama_cpp_takes_what_is_sent_beside_a_request(
    address: str, checkpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_CPP_HOST", address)
    kit = build_kit(
        read_settings(model="llama.cpp:selfrag-tiny", journal="none", encoder="none", embedder="none")
    )
    prompt = Prompt(messages=(Message(role="user", content=QUESTION),))
    sampling = Sampling(max_tokens=4)
    [ours], [plain] = kit.model.complete([prompt], sampling), checkpoint.complete([prompt], sampling)
    assert ours.text == plain.text != ""
    assert kit.model.capabilities().logprobs


def test_its_reflection_tokens_are_read_with_the_chances_that_it_gives_them(checkpoint: Endpoint) -> None:
    trace = Trace()
    kit = Kit(model=checkpoint, retriever=InMemory(PASSAGES), trace=trace)
    answer = self_rag(QUESTION, kit)
    assert answer.answers == (tiny.ANSWER,)
    assert [reply.answer for reply in answer.replies] == [tiny.ANSWER, tiny.ANSWER]
    [note] = [event for event in trace.records() if event["event"] == "pre_check"]
    [critique] = [event for event in trace.records() if event["event"] == "critique"]
    support = sum(chance * worth for chance, worth in zip(tiny.SUPPORT, SUPPORT_WORTH, strict=True))
    use = sum(chance * worth for chance, worth in zip(tiny.USE, USE_WORTH, strict=True))
    fluency = (tiny.SUPPORT[0] * tiny.USE[-1]) ** (1 / len([*tiny.ANSWER, "support", "use"]))
    expected = fluency + tiny.RELEVANT[0] + support + 0.5 * use
    assert note["logprobs"] == pytest.approx([-0.5108, -0.9163], abs=1e-3)
    assert list(critique["scores"].values()) == pytest.approx([expected] * 2, abs=2e-3)


def test_below_the_threshold_it_answers_directly_after_its_other_token(checkpoint: Endpoint) -> None:
    kit = Kit(model=checkpoint, retriever=InMemory(PASSAGES))
    answer = self_rag(QUESTION, kit, threshold=0.7)
    assert (answer.answers, answer.retrievals, answer.passages) == ((tiny.ANSWER,), 0, ())


def test_what_its_turn_begins_with_is_no_part_of_its_reply(checkpoint: Endpoint) -> None:
    begun = "[Retrieval]<paragraph>The ferry crossed in 7.</paragraph>[Relevant]"
    turns = (Message(role="user", content=QUESTION), Message(role="assistant", content=begun))
    [word] = checkpoint.complete([Prompt(messages=turns)], Sampling(max_tokens=40))
    assert word.text == "In 7.[Fully supported][Utility:5]"
