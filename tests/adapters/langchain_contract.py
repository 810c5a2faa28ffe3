"""LangChain's own tests of a retriever, on ours; run by `test_langchain.py` in a process of their own."""

from __future__ import annotations

import os
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests.retrievers import RetrieversIntegrationTests

from disputatio.adapters.langchain import DisputatioRetriever


@pytest.mark.anyio
class TestDisputatioRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return DisputatioRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": os.environ["FERRY_INDEX"]}

    @property
    def retriever_query_example(self) -> str:
        return "the ferry crossed"

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"
