"""Our search and our answers in LlamaIndex, and its retrievers and models in ours."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import disputatio as d
from disputatio.errors import UnknownName
from tests.adapters.material import PASSAGES, QUESTION, made_index, read

pytestmark = pytest.mark.slow  # LlamaIndex takes seconds to import


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_index(tmp_path_factory.mktemp("llama_index"))


def test_nodes_carry_the_fields_of_their_passages(index: Path) -> None:
    from disputatio.adapters.llama_index import DisputatioRetriever

    retriever = DisputatioRetriever(index, k=3)
    nodes = retriever.retrieve(QUESTION)
    assert {node.node_id for node in nodes} == {"p1", "p2", "p3"}
    assert [node.score for node in nodes] == sorted((node.score or 0 for node in nodes), reverse=True)
    [dated] = [node for node in nodes if node.node_id == "p2"]
    assert dated.get_content() == PASSAGES[1].text
    assert dated.metadata["url"] == "https://almanac.example/ferry"
    assert asyncio.run(retriever.aretrieve(QUESTION)) == nodes
    with pytest.raises(UnknownName, match="did you mean 'sources'"):
        DisputatioRetriever(index, source=["a"])


def test_the_retriever_is_a_part_of_llama_indexs_own(index: Path) -> None:
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever

    from disputatio.adapters.llama_index import DisputatioRetriever

    halves = [DisputatioRetriever(index, sources=[source]) for source in ("museum.example", "buzz.example")]
    fusion = QueryFusionRetriever(list(halves), llm=MockLLM(), num_queries=1, use_async=False)
    assert {node.node_id for node in fusion.retrieve(QUESTION)} == {"p1", "p3"}


def test_the_query_engine_answers_with_its_passages(index: Path) -> None:
    from disputatio.adapters.llama_index import DisputatioQueryEngine

    engine = DisputatioQueryEngine(index=index, model=d.FunctionModel(read))
    response = engine.query(QUESTION)
    assert "[1]" in str(response)
    assert response.metadata is not None
    assert response.metadata["disputatio"]["answers"] == ["1887"]
    assert {node.node_id for node in response.source_nodes} == {"p1", "p2", "p3"}
    assert str(asyncio.run(engine.aquery(QUESTION))) == str(response)


def test_a_retriever_of_llama_indexs_is_searched_by_ours() -> None:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Ferries(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [
                NodeWithScore(
                    node=TextNode(text=each.text, id_=each.id, metadata={"source": each.source}), score=0.5
                )
                for each in PASSAGES
            ]

    answer = d.ask(QUESTION, index=Ferries(), model=d.FunctionModel(read))
    assert answer.answers == ("1887",)
    assert {passage.id for passage in answer.passages} == {"p1", "p2", "p3"}


def test_a_model_of_llama_indexs_answers_for_ours() -> None:
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

    from disputatio.adapters.llama_index import as_model

    class Reader(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(model_name="reader-1")

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
            return CompletionResponse(text=read(prompt))

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise NotImplementedError

    answer = d.ask(QUESTION, passages=PASSAGES, model=as_model(Reader(), logprobs=False))
    assert answer.answers == ("1887",)
    assert answer.model == "llama-index:reader-1"
