"""Haystack's tests for document stores (haystack.testing) against ours.

Two things the suite asks each store to say for itself: what writing does when no policy is given (a document that is there is an
error, here), and how documents are compared (embeddings are stored in 32 bits).
"""

from __future__ import annotations

import struct
from typing import Any

import pytest
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.testing import document_store as suite
from haystack.testing import document_store_async as suite_awaited

import nuthatch
from nuthatch.integrations.haystack import NuthatchDocumentStore

SUITES = (
    suite.DocumentStoreBaseExtendedTests,
    suite.CountDocumentsByFilterTest,
    suite.CountUniqueMetadataByFilterTest,
    suite.GetMetadataFieldsInfoTest,
    suite.GetMetadataFieldMinMaxTest,
    suite.GetMetadataFieldUniqueValuesTest,
)
AWAITED = tuple(found for name, found in vars(suite_awaited).items() if name.endswith("AsyncTest"))


class Store:
    @pytest.fixture
    def document_store(self, db: nuthatch.Database) -> NuthatchDocumentStore:
        return NuthatchDocumentStore(database=db)

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        assert [in_32_bits(document) for document in received] == [in_32_bits(document) for document in expected]


class TestDocumentStore(Store, *SUITES):
    def test_write_documents(self, document_store: NuthatchDocumentStore) -> None:
        document = Document(content="some words")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])
        assert document_store.filter_documents() == [document]


class TestDocumentStoreAwaited(Store, *AWAITED):
    async def test_write_documents_async(self, document_store: NuthatchDocumentStore) -> None:
        document = Document(content="some words")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


def in_32_bits(document: Document) -> dict[str, Any]:
    parts = document.to_dict(flatten=False)
    if (embedding := parts["embedding"]) is not None:
        parts["embedding"] = struct.unpack(f"{len(embedding)}f", struct.pack(f"{len(embedding)}f", *embedding))
    return parts
