"""Sparse vectors, token vectors and reranking, over every face."""

import numpy as np
import pytest

import nuthatch


@pytest.fixture
def docs(db):
    fields = {"splade": {"kind": "sparse"}, "late": {"kind": "tokens", "dim": 2, "elements": "f16"}}
    return db.collection("sparse-docs", vectors=fields, embedder="none")


def filled(docs):
    docs.upsert(
        [
            {"id": "a", "text": "red bird", "vectors": {"splade": {17: 0.5, 2045: 1.5}, "late": [[1, 0], [0, 1]]}},
            {"id": "b", "text": "red red", "vectors": {"splade": {"indices": [9, 17], "values": [2.0, 0.25]}}},
            {"id": "c", "text": "red ship", "payload": {"year": 2024}, "vectors": {"late": np.array([[1, 0.5]])}},
        ]
    )


def test_a_sparse_vector_is_read_as_it_was_written_and_found_by_its_dot_product(docs):
    filled(docs)
    found = docs.search(vectors={"splade": {17: 1.0, 2045: 2.0}}, include=["vector"])
    assert [(hit.id, hit.score) for hit in found] == [("a", 3.5), ("b", 0.25)]
    assert found[0].vectors["splade"] == {17: 0.5, 2045: 1.5}
    assert found[0].legs.vectors["splade"].rank == 1
    assert docs.get("b", include="vector").vectors == {"splade": {9: 2.0, 17: 0.25}}
    as_arrays = {"indices": np.array([2045, 17], np.uint32), "values": np.array([2.0, 1.0])}
    assert [hit.score for hit in docs.search(vectors={"splade": as_arrays})] == [3.5, 0.25]
    assert [hit.id for hit in docs.search(like="b", using="splade")] == ["a"]


def test_token_vectors_order_what_the_words_found(docs):
    filled(docs)
    tokens = np.array([[1, 0], [0, 1]], np.float32)
    found = docs.search("red", rerank={"using": "late", "tokens": tokens})
    assert [hit.id for hit in found] == ["a", "c", "b"]
    assert found[0].score == 2.0 and found[0].legs.rerank == nuthatch.Leg(1, 2.0)
    assert found[2].legs.rerank is None, "a record without token vectors comes last"
    assert docs.get("a", include="vector").vectors["late"] == [[1.0, 0.0], [0.0, 1.0]]
    assert [
        hit.id for hit in docs.search("red", where="year = 2024", rerank={"using": "late", "tokens": [[1, 0]]})
    ] == ["c"]


def test_columns_take_values_of_each_kind(docs):
    docs.upsert(
        ids=["x", "y"],
        vectors={"splade": [{1: 1.0}, None], "late": np.ones((2, 3, 2), np.float32)},
    )
    assert docs.get("x", include="vector").vectors == {"splade": {1: 1.0}, "late": [[1.0, 1.0]] * 3}
    assert docs.get("y", include="vector").vectors == {"late": [[1.0, 1.0]] * 3}
    info = docs.info().vector_fields
    assert {name: (field.kind, field.dim, field.vectors) for name, field in info.items()} == {
        "splade": ("sparse", 0, 1),
        "late": ("tokens", 2, 2),
    }


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({-1: 1.0}, "no whole number from 0 to 4294967295"),
        ({1.5: 1.0}, "no whole number from 0 to 4294967295"),
        ({1: 0.0}, "finite numbers above 0"),
        ({1: float("nan")}, "finite numbers above 0"),
        ({"indices": [1, 1], "values": [1, 2]}, "occurs twice"),
        ({"indices": [1], "values": [1, 2]}, "1 indices and 2 values"),
        ({"indices": [1], "weights": [1]}, "unknown key 'weights'"),
        ([1.0, 2.0], "is sparse, and the value given is dense"),
    ],
)
def test_what_is_no_sparse_vector_is_refused_and_nothing_changes(docs, value, says):
    with pytest.raises(nuthatch.InvalidError, match=says):
        docs.upsert([{"id": "a", "text": "fine"}, {"id": "b", "vectors": {"splade": value}}])
    with pytest.raises(nuthatch.InvalidError, match=says):
        docs.search(vectors={"splade": value})
    assert len(docs) == 0


@pytest.mark.parametrize(
    ("rerank", "says"),
    [
        ({"using": "late", "tokens": [[1, 0, 0]]}, "has 2 dimensions, but the vector has 3"),
        ({"using": "late", "tokens": [[1, 0], [1]]}, "token vector 1 has 1 components, the first has 2"),
        ({"using": "late", "tokens": {1: 1.0}}, "no matrix"),
        ({"using": "splade", "tokens": [[1, 0]]}, "needs a field of token vectors"),
        ({"using": "late", "tokens": [[1, 0]], "candidates": 2}, "give 10"),
        ({"using": "late"}, "missing field `tokens`"),
        ([[1, 0]], "give a dict with 'using' and 'tokens'"),
    ],
)
def test_a_rerank_that_cannot_be_is_refused_with_the_reason(docs, rerank, says):
    filled(docs)
    with pytest.raises(nuthatch.InvalidError, match=says):
        docs.search("red", rerank=rerank)


def test_exports_in_both_formats_carry_them(tmp_path):
    with nuthatch.connect(tmp_path / "data") as db:
        fields = {"splade": {"kind": "sparse"}, "late": {"kind": "tokens", "dim": 2}}
        docs = db.collection("sparse-docs", vectors=fields, embedder="none")
        filled(docs)
        wanted = {record.id: record.vectors for record in docs.scan(include=["vector"])}
        for form in ("jsonl", "parquet"):
            db.export_to(tmp_path / form, format=form)
    for form in ("jsonl", "parquet"):
        with nuthatch.connect(tmp_path / f"from-{form}") as db:
            db.import_from(tmp_path / form)
            read = {record.id: record.vectors for record in db.collection("sparse-docs").scan(include=["vector"])}
            assert read == wanted
