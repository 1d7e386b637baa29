"""LangChain on collections and keyspaces, beyond what its own suite asks (``make conformance`` runs that)."""

from __future__ import annotations

import asyncio

import pytest
from support import toy_embed

import nuthatch

langchain_core = pytest.importorskip("langchain_core", reason="needs LangChain: pip install 'nuthatch[langchain]'")

from langchain_core.documents import Document  # noqa: E402
from langchain_core.embeddings import Embeddings  # noqa: E402
from langchain_core.indexing import InMemoryRecordManager, aindex, index  # noqa: E402

from nuthatch.integrations.langchain import NuthatchByteStore, NuthatchRetriever, NuthatchVectorStore  # noqa: E402


class Toy(Embeddings):
    def embed_documents(self, texts):
        return toy_embed(texts)

    def embed_query(self, text):
        return toy_embed([text])[0]


DOCUMENTS = [
    Document(id="a", page_content="red fish", metadata={"year": 2023, "tags": ["x", "y"], "by": {"name": "Ann"}}),
    Document(id="b", page_content="blue fish", metadata={"year": 2024, "team": "o'core"}),
    Document(id="c", page_content="green bird", metadata={"year": 2025, "done": True}),
    Document(id="d", page_content="grey stone"),
]


@pytest.fixture
def store(notes):
    store = NuthatchVectorStore(notes, Toy())
    store.add_documents(DOCUMENTS)
    return store


@pytest.mark.parametrize(
    ("filter", "ids"),
    [
        ({"year": 2024}, "b"),
        ({"year": {"$gte": 2024}}, "bc"),
        ({"year": {"$gt": 2023, "$lt": 2025}}, "b"),
        ({"year": {"$between": [2023, 2024]}}, "ab"),
        ({"year": {"$in": [2023, 2025]}}, "ac"),
        ({"year": {"$nin": [2023, 2025]}}, "bd"),
        ({"year": {"$ne": 2024}}, "acd"),
        ({"year": {"$exists": False}}, "d"),
        ({"year": None}, "d"),
        ({"year": {"$not": {"$gt": 2023}}}, "ad"),
        ({"team": "o'core"}, "b"),
        ({"team": {"$like": "o%"}}, "b"),
        ({"tags": {"$contains": "y"}}, "a"),
        ({"by.name": "Ann"}, "a"),
        ({"done": True, "year": 2025}, "c"),
        ({"$or": [{"year": 2023}, {"done": True}]}, "ac"),
        ({"$and": [{"year": {"$gte": 2024}}, {"$not": {"done": True}}]}, "b"),
        ({"nobody": 1}, ""),
        ({"year": "2024"}, ""),
        ({}, "abcd"),
        ("year >= 2024 and done = true", "c"),
    ],
)
def test_filters_mean_what_they_say(store, filter, ids):
    found = store.similarity_search("fish", k=10, filter=filter)
    assert sorted(document.id for document in found) == sorted(ids)
    assert {d.id for d in asyncio.run(store.asimilarity_search("fish", k=10, filter=filter))} == set(ids)


@pytest.mark.parametrize(
    "filter",
    [
        {"year": {"$near": 1}},
        {"$nor": []},
        {"year": {"$in": 3}},
        {"$and": {}},
        {"year": {"$between": [1]}},
        7,
        {"a..b": 1},
    ],
)
def test_a_filter_that_cannot_be_said_is_an_error(store, filter):
    with pytest.raises(nuthatch.InvalidError):
        store.similarity_search("fish", filter=filter)


@pytest.mark.parametrize(("metric", "nearest_is"), [("cosine", max), ("dot", max), ("l2", min)])
def test_scores_are_the_metrics_and_relevance_is_always_better_when_higher(db, metric, nearest_is):
    store = NuthatchVectorStore(db.collection(metric, metric=metric, embedder="none"), Toy())
    store.add_documents(DOCUMENTS)
    scored = store.similarity_search_with_score("red fish", k=4)
    assert scored[0][0].id == "a" and scored[0][1] == nearest_is(score for _, score in scored)
    relevant = store.similarity_search_with_relevance_scores("red fish", k=4)
    assert [document.id for document, _ in relevant] == [document.id for document, _ in scored]
    values = [score for _, score in relevant]
    assert values == sorted(values, reverse=True) and all(0 <= value <= 1 for value in values)


def test_unlike_documents_are_chosen_among_the_nearest(store):
    store.add_texts(["red fish fish"], ids=["twin"])
    by_nearness = store.max_marginal_relevance_search("red fish", k=2, lambda_mult=1.0)
    by_difference = store.max_marginal_relevance_search("red fish", k=2, fetch_k=10, lambda_mult=0.0)
    assert [d.id for d in by_nearness] == ["a", "twin"]
    assert by_difference[0].id == "a" and by_difference[1].id != "twin"
    assert len(asyncio.run(store.amax_marginal_relevance_search("red fish", k=2, filter={"year": 2023}))) == 1


def test_a_call_that_fails_has_written_nothing(store):
    with pytest.raises(nuthatch.InvalidError):
        store.add_texts(["new", "newer"], [{"ok": 1}, {"bad": object()}], ids=["n1", "n2"])
    with pytest.raises(nuthatch.InvalidError):
        store.add_texts(["new"], ids=["n1", "n2"])
    assert store.get_by_ids(["n1", "n2"]) == []


def test_documents_come_back_as_they_were(store):
    assert store.get_by_ids(["c", "a", "nobody"]) == [DOCUMENTS[2], DOCUMENTS[0]]
    assert store.delete(filter={"year": {"$lt": 2024}}) and len(store.collection) == 3
    assert store.delete(["b"]) and store.delete() and len(store.collection) == 0


def test_vectors_may_be_brought_along_and_the_last_of_an_id_holds(notes):
    store = NuthatchVectorStore(notes)
    assert store.add_texts(["one", "two", "three"], ids=["a", "b", "a"], vectors=[[1, 0], [0, 1], [1, 1]]) == [
        "a",
        "b",
        "a",
    ]
    assert store.similarity_search_by_vector([1, 1], k=1)[0].page_content == "three"


def test_without_an_embedding_the_collections_embedder_is_asked(db):
    made = nuthatch.embedders.function(toy_embed, name="toy", dim=16)
    store = NuthatchVectorStore.from_texts(
        ["red fish", "grey stone"], None, ids=["a", "b"], collection=db.collection("own", embedder=made)
    )
    assert [document.id for document in store.similarity_search("fish", k=1)] == ["a"]
    with pytest.raises(nuthatch.InvalidError, match="max_marginal"):
        store.max_marginal_relevance_search("fish")


def test_the_retriever_searches_words_and_meaning(store, notes):
    retriever = NuthatchRetriever(collection=notes, embedding=Toy(), k=2, filter={"year": {"$gte": 2023}})
    assert retriever.invoke("green bird")[0].id == "c"
    assert [d.id for d in asyncio.run(retriever.ainvoke("blue fish", k=1))] == ["b"]
    words = NuthatchRetriever(collection=notes, mode="text")
    assert [d.id for d in words.invoke("stone")] == ["d"]
    assert store.as_retriever(search_kwargs={"k": 1}).invoke("red fish")[0].id == "a"


def test_bytes_expire_and_are_listed_by_prefix(db):
    store = NuthatchByteStore(db.kv("cache"), ttl=60)
    store.mset([("a/1", b"one"), ("a/2", b"two"), ("b/1", b"three")])
    assert list(store.yield_keys(prefix="a/")) == ["a/1", "a/2"]
    assert store.mget(["b/1", "c"]) == [b"three", None] and 0 < db.kv("cache").ttl("a/1") <= 60


def test_what_langchains_indexing_adds_changes_and_deletes_is_in_the_store(notes):
    store = NuthatchVectorStore(notes, Toy())
    known = InMemoryRecordManager("notes")
    known.create_schema()

    def document(text: str, source: str) -> Document:
        return Document(page_content=text, metadata={"source": source})

    def texts() -> list[str]:
        return sorted(record.text for record in notes)

    options = {"source_id_key": "source", "key_encoder": "sha256", "batch_size": 1}
    done = index([document("red", "a"), document("blue", "b")], known, store, cleanup="full", **options)
    assert (done["num_added"], texts()) == (2, ["blue", "red"])
    done = index([document("red", "a"), document("green", "b")], known, store, cleanup="full", **options)
    assert (done["num_added"], done["num_skipped"], done["num_deleted"], texts()) == (1, 1, 1, ["green", "red"])
    done = asyncio.run(aindex([document("grey", "b")], known, store, cleanup="incremental", **options))
    assert (done["num_added"], done["num_deleted"], texts()) == (1, 1, ["grey", "red"])
    with pytest.raises(nuthatch.InvalidError, match="add_texts has no argument 'batchsize'"):
        store.add_texts(["x"], batchsize=1)


def test_what_is_awaited_is_refused_when_it_is_given(db, notes):
    collection, keyspace = nuthatch.AsyncCollection(notes), nuthatch.AsyncKeyspace(db.kv("cache"))
    for make in (
        lambda: NuthatchVectorStore(collection, Toy()),
        lambda: NuthatchRetriever(collection=collection),
        lambda: NuthatchByteStore(keyspace),
    ):
        with pytest.raises((nuthatch.InvalidError, ValueError), match="give its `sync`"):
            make()
