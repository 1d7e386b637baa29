"""Haystack on collections, beyond what its own suite asks (``make conformance`` runs that)."""

from __future__ import annotations

import asyncio

import pytest
from support import toy_embed

import nuthatch

pytest.importorskip("haystack", reason="needs Haystack: pip install 'nuthatch[haystack]'")

from haystack import Pipeline
from haystack.dataclasses import ByteStream, Document, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.utils import Secret

from nuthatch.integrations.haystack import (
    NuthatchBM25Retriever,
    NuthatchDocumentStore,
    NuthatchEmbeddingRetriever,
    NuthatchHybridRetriever,
)

DOCUMENTS = [
    Document(id=id, content=text, meta=meta, embedding=toy_embed([text])[0])
    for id, text, meta in [
        ("a", "red fish", {"year": 2023, "by": {"name": "Ann"}}),
        ("b", "blue fish", {"year": 2024, "team": "o'core"}),
        ("c", "green bird", {"year": 2025}),
    ]
]


@pytest.fixture
def store(db):
    store = NuthatchDocumentStore(database=db)
    assert store.write_documents(DOCUMENTS) == 3
    return store


def is_(field, operator, value):
    return {"field": field, "operator": operator, "value": value}


def test_a_write_of_which_one_is_there_writes_none(store):
    new = Document(id="new", content="new")
    for policy in (DuplicatePolicy.NONE, DuplicatePolicy.FAIL):
        with pytest.raises(DuplicateDocumentError):
            store.write_documents([new, DOCUMENTS[0]], policy)
        with pytest.raises(DuplicateDocumentError):
            store.write_documents([new, new], policy)
    assert store.count_documents() == 3
    assert store.write_documents([new, DOCUMENTS[0]], DuplicatePolicy.SKIP) == 1
    assert store.write_documents([Document(id="new", content="newer")], DuplicatePolicy.OVERWRITE) == 1
    assert store.filter_documents()[-1].content == "newer"


def test_documents_of_every_kind_come_back_as_they_were(db):
    store = NuthatchDocumentStore(database=db)
    documents = [
        Document(id="bytes", blob=ByteStream(b"\x00\xff", meta={"k": 1}, mime_type="image/png"), meta={"n": 1}),
        Document(id="empty"),
        Document(id="text", content=""),
        Document(id="vector", embedding=[1.0, 0.5]),
    ]
    store.write_documents(documents)
    assert store.filter_documents() == documents
    with pytest.raises(nuthatch.InvalidError, match="sparse"):
        store.write_documents([Document(content="x", sparse_embedding=SparseEmbedding([1], [1.0]))])


def test_filters_reach_into_maps_and_refuse_what_is_no_meta(store):
    assert [d.id for d in store.filter_documents(is_("meta.by.name", "==", "Ann"))] == ["a"]
    assert [d.id for d in store.filter_documents(is_("team", "==", "o'core"))] == ["b"]
    assert store.filter_documents(is_("meta.nobody", ">", 3)) == []
    for wrong in (is_("content", "==", "red fish"), is_("meta.year", "~", 1), is_("meta.year", "==", [1])):
        with pytest.raises(FilterError):
            store.filter_documents(wrong)
    with pytest.raises(FilterError):
        store.delete_by_filter({})


def test_the_retrievers_find_by_words_by_embedding_and_by_both(store):
    by_words = NuthatchBM25Retriever(store, top_k=2, filters=is_("meta.year", ">=", 2024))
    assert [d.id for d in by_words.run("fish")["documents"]] == ["b"]
    assert [d.id for d in by_words.run("fish", filters=is_("meta.year", "<", 2024))["documents"]] == ["a"]
    merging = NuthatchBM25Retriever(store, filters=is_("meta.year", ">=", 2024), filter_policy="merge")
    assert [d.id for d in merging.run("fish", filters=is_("meta.team", "!=", "x"))["documents"]] == ["b"]
    embedding = toy_embed(["green bird"])[0]
    nearest = NuthatchEmbeddingRetriever(store, top_k=1).run(embedding)["documents"]
    assert nearest[0].id == "c" and nearest[0].score == pytest.approx(1.0) and nearest[0].embedding is None
    both = asyncio.run(NuthatchHybridRetriever(store, top_k=3).run_async("blue", embedding))["documents"]
    assert {d.id for d in both} == {"a", "b", "c"} and both[0].id == "b"


def test_scaled_scores_lie_between_0_and_1_and_keep_their_order(store):
    for found in (
        store.embedding_retrieval(toy_embed(["blue fish"])[0], scale_score=True, return_embedding=True),
        store.bm25_retrieval("blue fish", scale_score=True),
    ):
        scores = [d.score for d in found]
        assert found[0].id == "b" and scores == sorted(scores, reverse=True) and all(0 <= s <= 1 for s in scores)


def test_a_pipeline_is_written_down_and_read_again(folder):
    store = NuthatchDocumentStore(str(folder), collection="docs", dim=16)
    store.write_documents(DOCUMENTS)
    store.close()
    pipeline = Pipeline()
    pipeline.add_component("words", NuthatchBM25Retriever(store, top_k=1))
    modules = [f"nuthatch.integrations.haystack.{name}" for name in ("retrievers", "document_store")]
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=modules)
    assert again.run({"words": {"query": "bird"}})["words"]["documents"][0].id == "c"
    again.get_component("words").document_store.close()
    with pytest.raises(nuthatch.InvalidError):
        NuthatchDocumentStore()


def of(parameters: dict) -> dict:
    return parameters["init_parameters"]


def test_a_servers_key_is_written_down_as_where_it_comes_from_and_never_as_it_is(monkeypatch):
    monkeypatch.setenv("MY_KEY", "nuthatch_SECRET")
    server = "http://127.0.0.1:1"
    store = NuthatchDocumentStore(server, api_key=Secret.from_env_var("MY_KEY"))
    pipeline = Pipeline()
    pipeline.add_component("words", NuthatchBM25Retriever(store))
    assert "SECRET" not in pipeline.dumps() and "MY_KEY" in pipeline.dumps()
    again = NuthatchDocumentStore.from_dict(store.to_dict())
    assert again.api_key == store.api_key and again.api_key.resolve_value() == "nuthatch_SECRET"
    default = of(NuthatchDocumentStore(server).to_dict())["api_key"]
    assert default == {"type": "env_var", "env_vars": ["NUTHATCH_API_KEY"], "strict": False}
    with pytest.raises(ValueError, match="token-based"):
        NuthatchDocumentStore(server, api_key=Secret.from_token("nuthatch_SECRET")).to_dict()
    assert of(NuthatchDocumentStore("./memory").to_dict())["api_key"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": "http://127.0.0.1:1", "api_key": "nuthatch_SECRET"}, "api_key is a str; give Secret"),
        ({"path": "http://127.0.0.1:1", "options": {"api_key": "nuthatch_SECRET"}}, "give the key as api_key="),
        ({"path": "./memory", "api_key": Secret.from_token("k")}, "api_key needs the address of a server"),
    ],
)
def test_a_key_that_cannot_be_used_or_would_be_written_down_is_refused(arguments, said):
    with pytest.raises(nuthatch.InvalidError, match=said) as refused:
        NuthatchDocumentStore(**arguments)
    assert "SECRET" not in str(refused.value)


def test_the_key_is_what_a_server_is_asked_with(monkeypatch):
    asked = []
    monkeypatch.setattr(nuthatch, "connect", lambda path, **arguments: asked.append((path, arguments["api_key"])))
    monkeypatch.delenv("NUTHATCH_API_KEY", raising=False)
    for store in (
        NuthatchDocumentStore("http://127.0.0.1:1", api_key=Secret.from_token("k")),
        NuthatchDocumentStore("http://127.0.0.1:1"),
        NuthatchDocumentStore("./memory"),
    ):
        store._database()
    assert asked == [("http://127.0.0.1:1", "k"), ("http://127.0.0.1:1", None), ("./memory", None)]


def test_an_awaited_database_is_refused_when_it_is_given(db):
    with pytest.raises(nuthatch.InvalidError, match="database is an AsyncDatabase; give its `sync`"):
        NuthatchDocumentStore(database=nuthatch.AsyncDatabase(db))
