"""A retriever and a runnable for LangChain, and its chat models as ours; needs the extra `langchain`.

LangChain's retrievers need no adapter: `disputatio.ask(question, index=retriever)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr

from disputatio.adapters.chat_function import ChatFunction
from disputatio.adapters.parts import Asker, fields_of, search_options, searchable
from disputatio.errors import InputError, MissingDependency
from disputatio.protocols import Retriever
from disputatio.store.own_passages import RetrieverLike
from disputatio.types import Answer, Passage

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.prompt_values import PromptValue
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import Runnable, RunnableConfig
    from langchain_core.runnables.config import run_in_executor
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "langchain_core":
        raise
    raise MissingDependency("langchain-core", "langchain") from error

_QUESTIONS = ("question", "input", "query")  # the keys under which chains carry a question


class DisputatioRetriever(BaseRetriever):
    """Our search as a LangChain retriever.

    `index` is a path, a `disputatio.Index` or any retriever. `k` and the options (those of
    `disputatio.Search`) hold for every query; `invoke` takes others for one. A document has the id of its
    passage, and source, title, URL, date, owner, page and `score` in its metadata.
    """

    index: Any
    k: int | None = None
    options: dict[str, Any] = {}  # noqa: RUF012 (a field of a pydantic model, copied for each)
    _retriever: Retriever = PrivateAttr()

    def __init__(self, index: str | Path | RetrieverLike, *, k: int | None = None, **options: Any) -> None:
        """Raise `StoreError` for a path without an index, and `UnknownName` for an unknown option."""
        ours = {"tags", "metadata", "name"}  # LangChain's own
        fields = {name: options.pop(name) for name in list(options) if name in ours}
        fields |= {"index": index, "k": k, "options": dict(search_options(options))}
        super().__init__(**fields)
        self._retriever = searchable(index)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        del run_manager
        hits = self._retriever.search(query, **search_options({"k": self.k, **self.options, **options}))
        return [document_of(hit.passage, score=hit.score) for hit in hits]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        manager = run_manager.get_sync()
        return await run_in_executor(
            None, lambda: self._get_relevant_documents(query, run_manager=manager, **options)
        )


class DisputatioRunnable(Runnable[str | Mapping[str, Any] | PromptValue, dict[str, Any]]):
    """A question to an answer, as a LangChain runnable; made with the arguments of `disputatio.ask`.

    The input is a text, or a mapping with `question`, `input` or `query`. The output has the keys of
    LangChain's retrieval chains: `input`, `answer` (the text with `[n]`), `context` (the passages read), and
    `disputatio`, the whole answer as JSON values.
    """

    def __init__(self, **arguments: Any) -> None:
        self._asker = Asker(arguments)

    def invoke(
        self,
        input: str | Mapping[str, Any] | PromptValue,  # noqa: A002 (LangChain's name)
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return self._call_with_config(
            lambda each: output_of(self._asker.ask(question_of(each))), input, config, **kwargs
        )

    async def ainvoke(
        self,
        input: str | Mapping[str, Any] | PromptValue,  # noqa: A002 (LangChain's name)
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the answer, awaited: a cancelled task ends its model calls."""

        async def answer(each: str | Mapping[str, Any] | PromptValue) -> dict[str, Any]:
            return output_of(await self._asker.aask(question_of(each)))

        return await self._acall_with_config(answer, input, config, **kwargs)


def question_of(given: str | Mapping[str, Any] | PromptValue) -> str:
    """Return the question in what a chain hands over; raises `InputError` where there is none."""
    if isinstance(given, PromptValue):
        given = given.to_messages()[-1].text
    if isinstance(given, Mapping):
        given = next((given[name] for name in _QUESTIONS if name in given), "")
    if not isinstance(given, str) or not given.strip():
        raise InputError(f"there is no question: give a text, or a mapping with {' or '.join(_QUESTIONS)}")
    return given


def output_of(answer: Answer) -> dict[str, Any]:
    return {
        "input": answer.question,
        "answer": answer.text,
        "context": [document_of(passage) for passage in answer.passages],
        "disputatio": answer.to_dict(),
    }


def document_of(passage: Passage, *, score: float | None = None) -> Document:
    metadata: dict[str, Any] = {**fields_of(passage)}
    if score is not None:
        metadata["score"] = score
    return Document(page_content=passage.text, id=passage.id or None, metadata=metadata)


def as_model(chat: BaseChatModel, **options: Any) -> ChatFunction:
    """Return a LangChain chat model as ours, with options of `ChatFunction`; `sends=()` sends no sampling."""

    def call(messages: list[dict[str, str]], **settings: Any) -> dict[str, Any]:
        message = chat.invoke([(each["role"], each["content"]) for each in messages], **settings)
        return reply_of(message)

    call.__qualname__, call.__module__ = type(chat).__qualname__, type(chat).__module__
    named = getattr(chat, "model_name", None) or getattr(chat, "model", None) or type(chat).__name__
    return ChatFunction(
        call, **{"name": f"langchain:{named}", "sends": ("max_tokens", "temperature"), **options}
    )


def reply_of(message: AIMessage) -> dict[str, Any]:
    """Return a message of LangChain's in OpenAI's form; without a reason to finish, it finished."""
    metadata = message.response_metadata
    reasons = (metadata.get(name) for name in ("finish_reason", "stop_reason", "done_reason"))
    usage: Mapping[str, Any] = message.usage_metadata or {}
    cached = (usage.get("input_token_details") or {}).get("cache_read")
    return {
        "choices": [
            {
                "message": {"content": message.text},
                "finish_reason": next((reason for reason in reasons if reason), "stop"),
                "logprobs": metadata.get("logprobs"),
            }
        ],
        "usage": {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }
