"""Element types of vectors: each comes back as it went in, and ranks as arithmetic says."""

from __future__ import annotations

import pytest
from support import unchanged

import nuthatch

numpy = pytest.importorskip("numpy")

TYPES = ["f32", "f16", "int8", "uint8", "binary"]
DIM = 24
ROWS = 400


def vectors_of(elements, rows=ROWS, seed=11):
    rng = numpy.random.default_rng(seed)
    return {
        "f32": lambda: rng.standard_normal((rows, DIM)).astype("f4"),
        "f16": lambda: rng.standard_normal((rows, DIM)).astype("f2"),
        "int8": lambda: rng.integers(-128, 128, (rows, DIM)).astype("i1"),
        "uint8": lambda: rng.integers(0, 256, (rows, DIM)).astype("u1"),
        "binary": lambda: rng.integers(0, 2, (rows, DIM)).astype(bool),
    }[elements]()


def similarities(metric, query, matrix):
    """Higher is better."""
    query, matrix = query.astype("f8"), matrix.astype("f8")
    if metric == "dot":
        return matrix @ query
    if metric == "cosine":
        return matrix @ query / numpy.linalg.norm(matrix, axis=1) / numpy.linalg.norm(query)
    return -((matrix - query) ** 2).sum(axis=1)


@pytest.mark.parametrize("elements", TYPES)
def test_vectors_come_back_as_they_went_in_before_and_after_indexing_and_reopening(folder, elements):
    matrix = vectors_of(elements, rows=20)
    with nuthatch.connect(folder) as db:
        points = db.collection("points", elements=elements, embedder="none")
        points.upsert(ids=[str(n) for n in range(20)], vectors=matrix)

        def back(points):
            return [points.get(str(n), include=["vector"]).vector for n in range(20)]

        expected = matrix.astype("f4").tolist()
        assert back(points) == expected
        assert points.optimize()
        assert back(points) == expected
        assert points.search(vector=matrix[3], limit=1, include=["vector"])[0].vector == expected[3]
        assert points.info().elements == elements
    with nuthatch.connect(folder) as db:
        assert db.collection("points").info().elements == elements
        assert back(db.collection("points")) == expected


@pytest.mark.parametrize("elements", TYPES)
@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_hits_are_in_exact_order_fresh_and_indexed(db, elements, metric):
    if elements == "binary":
        metric = "hamming"
    matrix = vectors_of(elements)
    questions = vectors_of(elements, rows=5, seed=12)
    points = db.collection("points", metric=metric, elements=elements, embedder="none")
    points.upsert(ids=[str(n) for n in range(ROWS)], vectors=matrix, payloads=[{"n": n} for n in range(ROWS)])
    for _ in ("fresh", "indexed"):
        for question in questions:
            exact = similarities(metric, question, matrix)
            for ask in ({}, {"exact": True}, {"where": f"n < {ROWS // 2}"}):
                found = points.search(vector=question, limit=10, **ask)
                among = exact[: ROWS // 2] if "where" in ask else exact
                # Compared by similarity: rows that are equally near may come in any order.
                best = numpy.sort(among)[::-1][:10]
                assert exact[[int(hit.id) for hit in found]] == pytest.approx(best, rel=1e-4, abs=1e-4)
        assert points.optimize()


def test_hamming_scores_are_counts_of_components_that_differ(db):
    bits = db.collection("bits", dim=12, elements="binary", embedder="none")
    assert bits.info().metric == "hamming"
    matrix = vectors_of("binary", rows=50)[:, :12]
    bits.upsert(ids=[str(n) for n in range(50)], vectors=matrix)
    for _ in ("fresh", "indexed"):
        found = bits.search(vector=matrix[7], limit=50)
        assert len(found) == 50
        for hit in found:
            assert hit.score == (matrix[int(hit.id)] != matrix[7]).sum()
        assert [hit.score for hit in found] == sorted(hit.score for hit in found)
        assert bits.optimize()


def test_zeros_and_ones_may_be_bools_or_numbers_in_lists_and_arrays(db):
    bits = db.collection("bits", elements="binary", embedder="none")
    bits.upsert(
        [
            {"id": "bools", "vector": [True, False, True]},
            {"id": "numbers", "vector": [1, 0, 1.0]},
            {"id": "array", "vector": numpy.array([True, False, True])},
        ]
    )
    for record in bits:
        assert bits.get(record.id, include=["vector"]).vector == [1.0, 0.0, 1.0]
    assert [hit.score for hit in bits.search(vector=numpy.array([True, False, True]))] == [0.0, 0.0, 0.0]


def test_arrow_columns_of_small_types_are_taken(db):
    pyarrow = pytest.importorskip("pyarrow")
    small = db.collection("small", elements="int8", embedder="none")
    small.upsert(pyarrow.table({"id": ["a"], "vector": pyarrow.array([[-128, 127]], pyarrow.list_(pyarrow.int8(), 2))}))
    assert small.get("a", include=["vector"]).vector == [-128.0, 127.0]
    bits = db.collection("bits", elements="binary", embedder="none")
    bits.upsert(
        pyarrow.table({"id": ["a"], "vector": pyarrow.array([[True, False]], pyarrow.list_(pyarrow.bool_(), 2))})
    )
    assert bits.get("a", include=["vector"]).vector == [1.0, 0.0]


def test_halves_are_rounded_to_the_nearest(db):
    halves = db.collection("halves", elements="f16", metric="l2", embedder="none")
    halves.upsert(ids=["a"], vectors=[[0.1, 65504.0]])
    assert halves.get("a", include=["vector"]).vector == [float(numpy.float16(0.1)), 65504.0]
    # Searches compare the stored values.
    assert halves.search(vector=[float(numpy.float16(0.1)), 65504.0])[0].score == 0.0


@pytest.mark.parametrize(
    ("elements", "vector", "named"),
    [
        ("f16", [1.0, 70_000.0], '"a".*element 1.*70000.*65504'),
        ("int8", [1.0, 0.5], '"a".*element 1.*0.5.*int8.*f16'),
        ("int8", [300, 1], '"a".*element 0.*300.*-128 to 127'),
        ("uint8", [1, -1], '"a".*element 1.*-1.*0 to 255'),
        ("uint8", [256, 1], '"a".*element 0.*256'),
        ("binary", [1, 2], '"a".*element 1.*2.*zeros and ones'),
        ("binary", [0.5, 1], '"a".*element 0.*0.5'),
        ("binary", [1, 0, 1], '"a".*3 dimensions.*2'),
        ("int8", [float("nan"), 1], '"a".*NaN'),
        ("int8", [0, 0], '"a".*zero'),
    ],
)
def test_what_a_type_cannot_hold_is_refused_and_nothing_is_changed(db, elements, vector, named):
    points = db.collection("points", elements=elements, embedder="none")
    points.upsert([{"id": "kept", "vector": [1, 1]}])
    with unchanged(points), pytest.raises(nuthatch.InvalidError, match=named):
        points.upsert([{"id": "good", "vector": [1, 1]}, {"id": "a", "vector": vector}])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"elements": "f64"}, "unknown.*f64.*f32"),
        ({"elements": 8}, "elements=8.*a string"),
        ({"metric": "hamming"}, "hamming.*f32"),
        ({"elements": "f32", "metric": "hamming"}, "hamming.*f32"),
        ({"elements": "binary", "metric": "cosine"}, "cosine.*binary"),
        ({"elements": "binary", "metric": "l2"}, "l2.*binary"),
    ],
)
def test_types_and_metrics_that_do_not_fit_make_no_collection(db, options, named):
    with pytest.raises(nuthatch.InvalidError, match=named):
        db.collection("new", embedder="none", **options)
    assert db.collections() == []


def test_another_type_than_the_stored_one_is_refused_naming_both(db):
    db.collection("points", elements="f16", embedder="none")
    with pytest.raises(nuthatch.InvalidError, match="elements f16.*int8"):
        db.collection("points", elements="int8")
    assert db.collection("points").info().elements == "f16"
    assert "elements='f16'" in repr(db.collection("points"))
