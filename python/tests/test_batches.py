"""Batches as columns: lists, numpy, Arrow, pandas."""

from __future__ import annotations

import array
import datetime as dt

import pytest
from support import unchanged

import nuthatch

numpy = pytest.importorskip("numpy")
EVERYTHING = ("text", "payload", "vector")


def test_numpy_bools_are_zeros_and_ones(notes):
    notes.upsert(ids=["a", "b"], vectors=numpy.array([[True, False], [True, True]]))
    assert notes.get("a", include=["vector"]).vector == [1.0, 0.0]
    assert notes.search(vector=numpy.array([True, False]), limit=1)[0].id == "a"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int64", ">f4", ">f8"])
def test_numpy_matrices_of_every_real_type_are_taken(db, dtype):
    notes = db.collection("n", embedder="none")
    matrix = numpy.array([[1, 2, 3], [4, 5, 6]], dtype=dtype)
    notes.upsert(ids=["a", "b"], vectors=matrix)
    assert notes.get("b", include=["vector"]).vector == [4.0, 5.0, 6.0]
    assert notes.search(vector=matrix[1], limit=1)[0].id == "b"


def test_arrays_that_are_not_contiguous_are_read_as_they_look(notes):
    wide = numpy.arange(24, dtype="f4").reshape(4, 6)
    notes.upsert(ids=["a", "b"], vectors=wide[::2, ::-2])
    assert notes.get("b", include=["vector"]).vector == wide[2, ::-2].tolist()
    notes.upsert(ids=["t0", "t1", "t2"], vectors=numpy.asfortranarray(wide[:3, :3]))
    assert notes.get("t1", include=["vector"]).vector == wide[1, :3].tolist()
    notes.upsert([{"id": "row", "vector": wide[:3, 0]}])
    assert notes.get("row", include=["vector"]).vector == [0.0, 6.0, 12.0]


def test_a_batch_may_mix_rows_with_and_without_vectors(notes):
    notes.upsert(ids=["a", "b"], texts=["one", None], vectors=[None, [1.0, 2.0]], payloads=[None, {"n": 1}])
    assert notes.info().vectors == 1
    assert notes.get("a", include=EVERYTHING).vector is None


def test_vectors_may_be_arrays_of_the_standard_library(notes):
    notes.upsert([{"id": "f", "vector": array.array("f", [1, 2])}, {"id": "d", "vector": array.array("d", [3, 4])}])
    assert notes.get("d", include=["vector"]).vector == [3.0, 4.0]


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"vectors": numpy.zeros(4)}, "1 dimension"),
        ({"vectors": numpy.zeros((2, 2, 2))}, "3 dimension"),
        ({"vectors": numpy.zeros((3, 2))}, "3 entries for 2 ids"),
        ({"vectors": numpy.array([["a", "b"], ["c", "d"]])}, "<U1"),
        ({"vectors": numpy.ones((2, 2), dtype=complex)}, "complex"),
        ({"vectors": numpy.ones((2, 2), dtype="M8[s]")}, "datetime64"),
        ({"vectors": numpy.ones((2, 0))}, "0 components"),
        ({"vectors": numpy.full((2, 2), 1e300)}, "is inf;"),
        ({"vectors": [[1.0, 2.0], [1.0, "x"]]}, "vector 1.*not a number"),
        ({"vectors": [[1.0, 2.0]]}, "1 entries for 2 ids"),
        ({"vectors": "ab"}, "str"),
        ({"vectors": 7}, "int"),
        ({"texts": ["only one"]}, "texts has 1 entries for 2 ids"),
        ({"texts": "ab"}, "texts is of type str"),
        ({"texts": ["x", 5]}, '"b".*an int'),
        ({"payloads": [{}, 5], "texts": ["x", "y"]}, '"b".*an int'),
    ],
)
def test_columns_that_do_not_fit_are_refused_by_name(notes, columns, named):
    notes.upsert(ids=["kept"], vectors=[[1.0, 2.0]])
    with unchanged(notes), pytest.raises(nuthatch.InvalidError, match=named):
        notes.upsert(ids=["a", "b"], **columns)


def test_an_array_of_wrong_shape_as_one_vector_is_refused(notes):
    with pytest.raises(nuthatch.InvalidError, match=r"'a': its vector.*shape \(1, 2\)"):
        notes.upsert([{"id": "a", "vector": numpy.zeros((1, 2))}])
    with pytest.raises(nuthatch.InvalidError, match="vector.*2 dimension"):
        notes.search(vector=numpy.zeros((1, 2)))


def test_arrow_tables_become_records(notes):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(
        {
            "id": ["a", "b", "c"],
            "text": ["one", None, "three"],
            "vector": pyarrow.array([[1, 2], [3, 4], [5, 6]], pyarrow.list_(pyarrow.float32(), 2)),
            "year": [2023, 2024, None],
            "at": pyarrow.array([dt.datetime(2025, 1, 1)] * 3, pyarrow.timestamp("ns")),
            "tags": [["x"], [], None],
        }
    )
    notes.upsert(table)
    when = dt.datetime(2025, 1, 1, tzinfo=dt.timezone.utc)
    assert notes.get("a", include=EVERYTHING) == nuthatch.Record(
        "a", "one", {"year": 2023, "at": when, "tags": ["x"]}, None, [1.0, 2.0]
    )
    assert notes.get("c").payload == {"at": when}


@pytest.mark.parametrize("kind", ["sliced", "chunked", "float64", "halves", "large lists", "with nulls"])
def test_arrow_vectors_of_every_layout_are_read_right(notes, kind):
    pyarrow = pytest.importorskip("pyarrow")
    rows = [[float(n), n + 0.5, -float(n)] for n in range(6)]
    lists = pyarrow.list_(pyarrow.float32(), 3)
    vectors = {
        "sliced": lambda: pyarrow.array([[9.0] * 3, *rows], lists).slice(1),
        "chunked": lambda: pyarrow.chunked_array([pyarrow.array(rows[:2], lists), pyarrow.array(rows[2:], lists)]),
        "float64": lambda: pyarrow.array(rows, pyarrow.list_(pyarrow.float64())),
        "halves": lambda: pyarrow.array(numpy.array(rows, "f2").tolist(), pyarrow.list_(pyarrow.float16())),
        "large lists": lambda: pyarrow.array(rows, pyarrow.large_list(pyarrow.float32())),
        "with nulls": lambda: pyarrow.array([*rows[:5], None], lists),
    }[kind]()
    notes.upsert(pyarrow.table({"id": list("abcdef"), "text": list("uvwxyz"), "vector": vectors}))
    back = [record.vector for record in notes.get(list("abcdef"), include=["vector"])]
    assert back == ([*rows[:5], None] if kind == "with nulls" else rows)


def test_arrow_tables_that_do_not_fit_are_refused(notes):
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(nuthatch.InvalidError, match="no column 'id' among 'key'"):
        notes.upsert(pyarrow.table({"key": ["a"]}))
    with pytest.raises(nuthatch.InvalidError, match="'vector' is of Arrow type string"):
        notes.upsert(pyarrow.table({"id": ["a"], "vector": ["[1,2]"]}))
    ragged = pyarrow.table({"id": ["a", "b"], "vector": [[1.0, 2.0], [1.0]]})
    with pytest.raises(nuthatch.InvalidError, match='"b".*dimension'):
        notes.upsert(ragged)
    with pytest.raises(nuthatch.InvalidError, match="'x' occurs twice"):
        notes.upsert(pyarrow.table([["a"], [1], [2]], names=["id", "x", "x"]))
    with pytest.raises(nuthatch.InvalidError, match="id is an int"):
        notes.upsert(pyarrow.table({"id": [1]}))
    assert notes.count() == 0


def test_data_frames_become_records(notes):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "id": ["a", "b"],
            "text": ["one", None],
            "vector": [numpy.array([1.0, 2.0]), [3.0, 4.0]],
            "year": pandas.array([2023, None], dtype="Int64"),
            "score": [0.5, float("nan")],
            "at": pandas.to_datetime(["2025-01-01", None]),
            "tags": [["x"], []],
        }
    )
    notes.upsert(frame)
    when = dt.datetime(2025, 1, 1, tzinfo=dt.timezone.utc)
    assert notes.get("a", include=EVERYTHING) == nuthatch.Record(
        "a", "one", {"year": 2023, "score": 0.5, "at": when, "tags": ["x"]}, None, [1.0, 2.0]
    )
    assert notes.get("b").payload == {"tags": []}


def test_anything_that_exports_an_arrow_stream_is_taken(notes):
    pyarrow = pytest.importorskip("pyarrow")

    class Foreign:
        def __arrow_c_stream__(self, requested_schema=None):
            return pyarrow.table({"id": ["a"], "text": ["from elsewhere"]}).__arrow_c_stream__(requested_schema)

    notes.upsert(Foreign())
    assert notes.get("a").text == "from elsewhere"
