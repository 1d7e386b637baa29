"""LlamaIndex on collections and keyspaces. It publishes no suite for stores; these are ours."""

from __future__ import annotations

import asyncio

import pytest
from support import toy_embed

import nuthatch

pytest.importorskip("llama_index.core", reason="needs LlamaIndex: pip install 'nuthatch[llama-index]'")

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore.keyval_docstore import KVDocumentStore
from llama_index.core.storage.index_store.keyval_index_store import KVIndexStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from nuthatch.integrations.llama_index import NuthatchKVStore, NuthatchVectorStore


def node(id, text, document=None, **metadata):
    made = TextNode(id_=id, text=text, metadata=metadata, embedding=toy_embed([text])[0])
    if document is not None:
        made.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return made


NODES = [
    node("a", "red fish", "doc1", year=2023, tags=["x", "y"]),
    node("b", "blue fish", "doc1", year=2024, team="o'core"),
    node("c", "green bird", "doc2", year=2025),
    node("d", "grey stone"),
]


@pytest.fixture
def store(notes):
    store = NuthatchVectorStore(notes)
    assert store.add(NODES) == ["a", "b", "c", "d"]
    return store


def query(text, **options):
    return VectorStoreQuery(query_embedding=toy_embed([text])[0], query_str=text, **{"similarity_top_k": 10, **options})


def only(*filters, condition=FilterCondition.AND):
    return MetadataFilters(
        filters=[
            f if isinstance(f, MetadataFilters) else MetadataFilter(key=f[0], operator=f[1], value=f[2])
            for f in filters
        ],
        condition=condition,
    )


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        (only(("year", FilterOperator.EQ, 2024)), "b"),
        (only(("year", FilterOperator.NE, 2024)), "acd"),
        (only(("year", FilterOperator.GT, 2023), ("year", FilterOperator.LT, 2025)), "b"),
        (only(("year", FilterOperator.GTE, 2024)), "bc"),
        (only(("year", FilterOperator.LTE, 2024)), "ab"),
        (only(("year", FilterOperator.IN, [2023, 2025])), "ac"),
        (only(("year", FilterOperator.NIN, [2023, 2025])), "bd"),
        (only(("tags", FilterOperator.ANY, ["y", "z"])), "a"),
        (only(("tags", FilterOperator.ALL, ["y", "x"])), "a"),
        (only(("tags", FilterOperator.ALL, ["y", "z"])), ""),
        (only(("tags", FilterOperator.CONTAINS, "x")), "a"),
        (only(("team", FilterOperator.TEXT_MATCH, "'co")), "b"),
        (only(("year", FilterOperator.IS_EMPTY, None)), "d"),
        (
            only(
                ("year", FilterOperator.EQ, 2023), ("team", FilterOperator.EQ, "o'core"), condition=FilterCondition.OR
            ),
            "ab",
        ),
        (
            only(("year", FilterOperator.EQ, 2023), ("year", FilterOperator.EQ, 2025), condition=FilterCondition.NOT),
            "bd",
        ),
        (only(only(("year", FilterOperator.GT, 2023)), ("year", FilterOperator.NE, 2025)), "b"),
        (only(("nobody", FilterOperator.EQ, 1)), ""),
        (only(("year", FilterOperator.EQ, "2024")), ""),
    ],
)
def test_filters_mean_what_they_say(store, filters, ids):
    assert sorted(store.query(query("fish", filters=filters)).ids) == sorted(ids)
    assert sorted(found.node_id for found in store.get_nodes(filters=filters)) == sorted(ids)


@pytest.mark.parametrize(
    "part",
    [
        ("team", FilterOperator.TEXT_MATCH_INSENSITIVE, "X"),
        ("team", FilterOperator.TEXT_MATCH, "5%"),
        ("y", FilterOperator.IN, 3),
    ],
)
def test_a_filter_that_cannot_be_said_is_an_error(store, part):
    with pytest.raises(nuthatch.InvalidError):
        store.query(query("fish", filters=only(part)))


def test_nodes_come_back_as_they_were(store):
    found = store.get_nodes(["c", "nobody", "a"])
    assert [one.node_id for one in found] == ["c", "a"]
    assert found[1].text == "red fish" and found[1].metadata == {"year": 2023, "tags": ["x", "y"]}
    assert found[1].ref_doc_id == "doc1"


def test_every_mode_answers(store):
    nearest = store.query(query("blue fish", similarity_top_k=2))
    assert nearest.ids == ["b", "a"] and nearest.similarities == sorted(nearest.similarities, reverse=True)
    words = store.query(query("stone", mode=VectorStoreQueryMode.TEXT_SEARCH))
    assert words.ids == ["d"] and words.nodes[0].text == "grey stone"
    for alpha, best in ((0.0, "c"), (1.0, "c"), (None, "c")):
        hybrid = store.query(query("green bird", mode=VectorStoreQueryMode.HYBRID, alpha=alpha, hybrid_top_k=1))
        assert hybrid.ids == [best]
    unlike = store.query(query("red fish", mode=VectorStoreQueryMode.MMR, mmr_threshold=1.0, similarity_top_k=2))
    assert unlike.ids[0] == "a" and len(unlike.ids) == 2
    with pytest.raises(nuthatch.InvalidError, match="svm"):
        store.query(query("x", mode=VectorStoreQueryMode.SVM))


def test_similarities_are_better_when_higher_under_every_metric(db):
    store = NuthatchVectorStore(db.collection("l2", metric="l2", embedder="none"))
    store.add(NODES)
    found = store.query(query("red fish"))
    assert found.ids[0] == "a" and found.similarities[0] == 1.0
    assert found.similarities == sorted(found.similarities, reverse=True)


def test_a_query_is_limited_to_some_nodes_or_documents(store):
    assert set(store.query(query("fish", node_ids=["d", "c"])).ids) == {"c", "d"}
    assert set(store.query(query("fish", doc_ids=["doc1"])).ids) == {"a", "b"}
    assert store.query(query("fish", node_ids=[], doc_ids=[])).ids != []


def test_deleting_takes_documents_nodes_and_everything(store):
    store.delete("doc1")
    assert [found.node_id for found in store.get_nodes()] == ["c", "d"]
    store.delete_nodes(["c", "d"], only(("year", FilterOperator.EQ, 2025)))
    assert [found.node_id for found in store.get_nodes()] == ["d"]
    store.clear()
    assert store.get_nodes() == []


def test_it_can_be_awaited(notes):
    async def use():
        store = NuthatchVectorStore(notes)
        await store.async_add(NODES)
        await store.adelete("doc1")
        return (await store.aquery(query("green bird", similarity_top_k=1))).ids

    assert asyncio.run(use()) == ["c"]


def test_an_index_lives_on_it_whole(db, notes):
    kv = NuthatchKVStore(db.kv("llama"))
    context = StorageContext.from_defaults(
        vector_store=NuthatchVectorStore(notes), docstore=KVDocumentStore(kv), index_store=KVIndexStore(kv)
    )
    index = VectorStoreIndex(
        [TextNode(id_="n", text="a word")], storage_context=context, embed_model=MockEmbedding(embed_dim=8)
    )
    index.docstore.add_documents(NODES)
    assert index.as_retriever(similarity_top_k=1).retrieve("anything")[0].node.text == "a word"
    assert index.docstore.get_document("a").text == "red fish"
    again = KVDocumentStore(NuthatchKVStore(db.kv("llama")))
    assert set(again.docs) == {"a", "b", "c", "d"}


def test_keys_of_collections_do_not_mix(db):
    store = NuthatchKVStore(db.kv("llama"))
    store.put_all([("k", {"n": 1}), ("k2", {"n": 2})], collection="a")
    store.put("k", {"n": 3}, collection="ab")
    assert store.get_all("a") == {"k": {"n": 1}, "k2": {"n": 2}} and store.get("k", "ab") == {"n": 3}
    assert (store.delete("k", "a"), store.delete("k", "a"), store.get("k", "a")) == (True, False, None)
