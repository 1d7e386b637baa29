"""LangChain's standard tests (langchain-tests) against our vector store, store of bytes, retriever and cache."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_tests.integration_tests import (
    AsyncCacheTestSuite,
    BaseStoreAsyncTests,
    BaseStoreSyncTests,
    RetrieversIntegrationTests,
    SyncCacheTestSuite,
    VectorStoreIntegrationTests,
)

import nuthatch
from nuthatch.integrations.langchain import (
    NuthatchByteStore,
    NuthatchCache,
    NuthatchRetriever,
    NuthatchVectorStore,
)


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, db: nuthatch.Database) -> NuthatchVectorStore:
        return NuthatchVectorStore(db.collection("documents", embedder="none"), self.get_embeddings())


class Bytes:
    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return b"one", b"\x00\xff", b""

    @pytest.fixture
    def kv_store(self, db: nuthatch.Database) -> NuthatchByteStore:
        return NuthatchByteStore(db.kv("bytes"))


class TestByteStore(Bytes, BaseStoreSyncTests[bytes]):
    pass


class TestByteStoreAwaited(Bytes, BaseStoreAsyncTests[bytes]):
    pass


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def collection(self, db: nuthatch.Database) -> None:
        self._collection = db.collection("documents", embedder="none")
        self._collection.upsert(ids=list("abcdef"), texts=["some words about birds"] * 6)

    @property
    def retriever_constructor(self) -> type[NuthatchRetriever]:
        return NuthatchRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"collection": self._collection}

    @property
    def retriever_query_example(self) -> str:
        return "birds"


class Answers:
    @pytest.fixture
    def cache(self, db: nuthatch.Database) -> NuthatchCache:
        return NuthatchCache(db.cache("answers"))


class TestCache(Answers, SyncCacheTestSuite):
    pass


class TestCacheAwaited(Answers, AsyncCacheTestSuite):
    pass
