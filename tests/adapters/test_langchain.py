"""Our search and our answers in LangChain, and its retrievers and chat models in ours."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import disputatio as d
from disputatio.errors import InputError, StoreError, UnknownName
from tests.adapters.material import PASSAGES, QUESTION, made_index, read

pytestmark = pytest.mark.slow  # LangChain takes seconds to import
CONTRACT = Path(__file__).with_name("langchain_contract.py")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_index(tmp_path_factory.mktemp("langchain"))


def test_the_retriever_passes_langchains_own_tests(index: Path) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(CONTRACT)]
    root = CONTRACT.parent.parent.parent
    done = subprocess.run(
        [*words, f"--rootdir={root}"],
        env={**os.environ, "FERRY_INDEX": str(index)},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout, done.stdout


def test_documents_carry_the_fields_of_their_passages(index: Path) -> None:
    from disputatio.adapters.langchain import DisputatioRetriever

    retriever = DisputatioRetriever(index, sources=["almanac.example"])
    [document] = retriever.invoke(QUESTION)
    assert document.id == "p2"
    assert document.page_content == PASSAGES[1].text
    fields = {name: document.metadata[name] for name in ("source", "url", "date", "page")}
    assert fields == {
        "source": "almanac.example",
        "url": "https://almanac.example/ferry",
        "date": "1925-03-01",
        "page": "4",
    }
    assert document.metadata["score"] > 0
    assert [each.id for each in retriever.invoke(QUESTION, sources=["buzz.example"])] == ["p3"]


def test_an_unknown_option_and_a_missing_index_are_named(index: Path, tmp_path: Path) -> None:
    from disputatio.adapters.langchain import DisputatioRetriever

    with pytest.raises(UnknownName, match="did you mean 'per_source'"):
        DisputatioRetriever(index, per_sorce=2)
    with pytest.raises(StoreError, match="none"):
        DisputatioRetriever(tmp_path / "none")


def test_a_chain_ends_in_an_answer_with_its_passages(index: Path) -> None:
    from langchain_core.prompts import PromptTemplate
    from langchain_core.runnables import RunnableLambda

    from disputatio.adapters.langchain import DisputatioRunnable

    ask = DisputatioRunnable(index=index, model=d.FunctionModel(read))
    chain = PromptTemplate.from_template("When did the {what} first cross?") | ask | RunnableLambda(dict)
    output = chain.invoke({"what": "ferry"})
    assert output["input"] == QUESTION
    assert output["disputatio"]["answers"] == ["1887"]
    assert "[1]" in output["answer"]
    assert {document.id for document in output["context"]} == {"p1", "p2", "p3"}
    assert [each["disputatio"]["answers"] for each in ask.batch([QUESTION, {"input": QUESTION}])] == [
        ["1887"],
        ["1887"],
    ]
    assert asyncio.run(ask.ainvoke({"question": QUESTION}))["disputatio"]["answers"] == ["1887"]
    with pytest.raises(InputError, match="no question"):
        ask.invoke({"context": "?"})


def test_a_cancelled_task_ends_its_model_calls(index: Path) -> None:
    from disputatio.adapters.langchain import DisputatioRunnable

    begun, ended = threading.Event(), threading.Event()

    class Waiting:
        def complete(self, prompts: Any, sampling: Any, *, cancel: d.Cancel, **_: Any) -> Any:
            with cancel.calling(ended.set):
                begun.set()
                ended.wait(30)
            raise d.Cancelled

    async def begin_and_cancel() -> None:
        task = asyncio.create_task(DisputatioRunnable(index=index, model=Waiting()).ainvoke(QUESTION))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(begin_and_cancel())
    assert ended.wait(30)


def test_a_retriever_of_langchains_is_searched_by_ours() -> None:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Ferries(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [
                Document(page_content=each.text, metadata={"source": each.source}, id=each.id)
                for each in PASSAGES
            ]

    answer = d.ask(QUESTION, index=Ferries(), model=d.FunctionModel(read))
    assert answer.answers == ("1887",)
    assert {passage.id for passage in answer.passages} == {"p1", "p2", "p3"}


def test_a_chat_model_of_langchains_answers_for_ours() -> None:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    from disputatio.adapters.langchain import as_model

    settings: list[dict[str, Any]] = []

    class Chat(BaseChatModel):
        model_name: str = "reader-1"

        @property
        def _llm_type(self) -> str:
            return "reader"

        def _generate(
            self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> ChatResult:
            settings.append(kwargs)
            text = read("\n\n".join(str(message.content) for message in messages))
            usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
            message = AIMessage(
                content=text, usage_metadata=usage, response_metadata={"finish_reason": "stop"}
            )
            return ChatResult(generations=[ChatGeneration(message=message)])

    model = as_model(Chat(), logprobs=False)
    answer = d.ask(QUESTION, passages=PASSAGES, model=model)
    assert answer.answers == ("1887",)
    assert answer.model == "langchain:reader-1"
    assert answer.usage.prompt_tokens == 9 * answer.usage.calls
    assert all({"max_tokens", "temperature"} <= each.keys() for each in settings)
