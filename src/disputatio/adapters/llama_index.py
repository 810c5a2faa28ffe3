"""A retriever and a query engine for LlamaIndex, and its models as ours; needs the extra `llama-index`.

LlamaIndex's retrievers and indexes need no adapter: `disputatio.ask(question, index=retriever)`.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from disputatio.adapters.chat_function import ChatFunction
from disputatio.adapters.parts import Asker, fields_of, search_options, searchable
from disputatio.errors import MissingDependency
from disputatio.store.own_passages import RetrieverLike
from disputatio.types import Answer, Passage

try:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.base.response.schema import Response
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.llms import LLM
    from llama_index.core.prompts.mixin import PromptMixinType
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "llama_index":
        raise
    raise MissingDependency("llama-index-core", "llama-index") from error


class DisputatioRetriever(BaseRetriever):
    """Our search as a LlamaIndex retriever, with options of `disputatio.Search`; nodes have our fields."""

    def __init__(
        self,
        index: str | Path | RetrieverLike,
        *,
        k: int | None = None,
        callback_manager: CallbackManager | None = None,
        **options: Any,
    ) -> None:
        """Raise `StoreError` for a path without an index, and `UnknownName` for an unknown option."""
        super().__init__(callback_manager=callback_manager)
        self._options = search_options({"k": k, **options})
        self._retriever = searchable(index)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._retriever.search(query_bundle.query_str, **self._options)
        return [node_of(hit.passage, score=hit.score) for hit in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class DisputatioQueryEngine(BaseQueryEngine):
    """Our answers as a LlamaIndex query engine, made with the arguments of `disputatio.ask`; a response has
    the passages read as source nodes, and the whole answer under `disputatio` in its metadata.
    """

    def __init__(self, *, callback_manager: CallbackManager | None = None, **arguments: Any) -> None:
        super().__init__(callback_manager=callback_manager)
        self._asker = Asker(arguments)

    def _query(self, query_bundle: QueryBundle) -> Response:
        return response_of(self._asker.ask(query_bundle.query_str))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return response_of(await self._asker.aask(query_bundle.query_str))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


def response_of(answer: Answer) -> Response:
    return Response(
        response=answer.text,
        source_nodes=[node_of(passage) for passage in answer.passages],
        metadata={"disputatio": answer.to_dict()},
    )


def node_of(passage: Passage, *, score: float | None = None) -> NodeWithScore:
    node = TextNode(
        text=passage.text, metadata=fields_of(passage), **({"id_": passage.id} if passage.id else {})
    )
    return NodeWithScore(node=node, score=score)


def as_model(llm: LLM, **options: Any) -> ChatFunction:
    """Return a LlamaIndex model as ours, with options of `ChatFunction`; `sends=()` sends no sampling."""

    def call(messages: list[dict[str, str]], **settings: Any) -> Any:
        reply = llm.chat([ChatMessage(**each) for each in messages], **settings)
        raw = reply.raw
        if getattr(raw, "choices", None) or (isinstance(raw, dict) and raw.get("choices")):
            return raw  # OpenAI's form, with its usage and its reason to finish
        return reply.message.content or ""

    call.__qualname__, call.__module__ = type(llm).__qualname__, type(llm).__module__
    return ChatFunction(
        call,
        **{
            "name": f"llama-index:{llm.metadata.model_name}",
            "sends": ("max_tokens", "temperature"),
            **options,
        },
    )
