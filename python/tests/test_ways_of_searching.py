"""Like a record, many at once, as good as asked for, within a time; and what merging does for it."""

from __future__ import annotations

import os
import signal
import time

import pytest
from support import run_python, toy_embed, unchanged

import nuthatch
from nuthatch import _core
from nuthatch.queries import asked

numpy = pytest.importorskip("numpy")

ROWS = 600
COMMON = {
    "limit": 10,
    "offset": 0,
    "where": None,
    "mode": None,
    "fusion": "rrf",
    "weights": None,
    "include": (),
    "recall": None,
    "ef": None,
    "exact": False,
    "timeout": None,
}


@pytest.fixture
def points(db):
    """600 vectors, the even ones sealed into a segment, the odd ones fresh; each with a text and a number."""
    points = db.collection("points", dim=16, metric="l2", embedder="none")
    matrix = numpy.random.default_rng(3).standard_normal((ROWS, 16)).astype("f4")
    for part in (range(0, ROWS, 2), range(1, ROWS, 2)):
        points.upsert(
            ids=[str(n) for n in part],
            texts=[f"word{n % 7} word{n}" for n in part],
            vectors=matrix[list(part)],
            payloads=[{"n": n} for n in part],
        )
        if part.start == 0:
            assert points.optimize()
    return points


def matrix_of(points):
    records = points.get([str(n) for n in range(ROWS)], include=["vector"])
    return numpy.array([record.vector for record in records])


def shown(results):
    return [(hit.id, hit.score, hit.legs) for hit in results]


def ids(results):
    return [hit.id for hit in results]


def test_a_search_like_a_record_finds_its_neighbours_and_not_itself(points):
    matrix = matrix_of(points)
    for name in ("4", "5"):
        expected = [n for n in numpy.argsort(((matrix - matrix[int(name)]) ** 2).sum(axis=1)) if n != int(name)]
        found = points.search(like=name, limit=12)
        assert ids(found) == [str(n) for n in expected[:12]]
        assert name not in ids(points.search(like=name, where="n < 10"))
        assert len(points.search(like=name, where="n < 10")) == 9


def test_a_search_like_a_record_may_have_words_besides(points):
    found = points.search("word3", like="3", limit=20, explain=True)
    assert found.explain["mode"] == "hybrid"
    assert "3" not in ids(found)
    assert any(hit.legs.text for hit in found)
    assert any(hit.legs.vector for hit in found)


def test_a_search_like_what_is_not_there_is_refused(points):
    points.upsert([{"id": "blind", "text": "no vector"}])
    with unchanged(points):
        with pytest.raises(nuthatch.NotFoundError, match='names record "ghost"'):
            points.search(like="ghost")
        with pytest.raises(nuthatch.InvalidError, match='"blind" has no vector'):
            points.search(like="blind")
        with pytest.raises(nuthatch.InvalidError, match="not both"):
            points.search(like="1", vector=[0.0] * 16)
        with pytest.raises(nuthatch.InvalidError, match="needs a text"):
            points.search(like="1", mode="text")


@pytest.mark.parametrize("accuracy", [{"recall": 0.5}, {"recall": 0.999}, {"ef": 1}, {"ef": 100_000}, {"exact": True}])
def test_small_and_fresh_collections_are_answered_exactly_whatever_is_asked(points, accuracy):
    matrix = matrix_of(points)
    for n in (0, 1):
        expected = numpy.argsort(((matrix - matrix[n]) ** 2).sum(axis=1))[:10]
        assert ids(points.search(vector=matrix[n], **accuracy)) == [str(n) for n in expected]


def test_the_old_name_of_ef_still_works_and_warns(points):
    vector = matrix_of(points)[0]
    with pytest.warns(DeprecationWarning, match="effort= is now ef="):
        found = points.search(vector=vector, effort=64)
    assert ids(found) == ids(points.search(vector=vector, ef=64))
    with pytest.raises(nuthatch.InvalidError, match="give ef alone"):
        points.search(vector=vector, ef=64, effort=64)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"recall": 1.5}, "recall is 1.5; give 0.5 to 0.999, or ask for an exact search"),
        ({"recall": 0.1}, "recall is 0.1"),
        ({"recall": float("nan")}, "recall is nan; "),
        ({"recall": "high"}, "recall='high'.*a number"),
        ({"recall": True}, "recall=True.*a number"),
        ({"ef": 0}, "ef is 0; give 1 to 100000"),
        ({"ef": 100_001}, "ef is 100001"),
        ({"ef": -1}, "ef=-1"),
        ({"ef": 2.5}, "ef=2.5"),
        ({"exact": 1}, "exact=1.*True or False"),
        ({"exact": "no"}, "exact='no'"),
        ({"exact": True, "recall": 0.9}, "recall and exact; give one of recall, ef and exact=True"),
        ({"ef": 64, "recall": 0.9}, "recall and ef; give one of"),
        ({"ef": 64, "recall": 0.9, "exact": True}, "recall and ef and exact"),
        ({"timeout": 0}, "timeout=0; give seconds above 0"),
        ({"timeout": -1.5}, "timeout=-1.5"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"timeout": float("inf")}, "timeout=inf"),
        ({"timeout": 1e300}, r"timeout=1e\+300"),
        ({"timeout": "1s"}, "timeout='1s'.*a number"),
        ({"limit": 0}, "limit is 0"),
        ({"where": "m > 1"}, "m"),
        ({"include": ["vectors"]}, "include names 'vectors'"),
    ],
)
def test_a_bad_option_is_refused_by_one_search_and_by_many(points, arguments, named):
    with unchanged(points):
        with pytest.raises(nuthatch.InvalidError, match=named):
            points.search(vector=[0.0] * 16, **arguments)
        with pytest.raises(nuthatch.InvalidError, match=named):
            points.search_many(vectors=[[0.0] * 16], **arguments)


def test_a_zero_vector_is_refused_under_cosine(db):
    angles = db.collection("angles", embedder="none")
    angles.upsert([{"id": "a", "vector": [1, 0]}])
    with unchanged(angles):
        with pytest.raises(nuthatch.InvalidError, match="query vector.*zero"):
            angles.search(vector=[0, 0])
        with pytest.raises(nuthatch.InvalidError, match="query vector.*zero"):
            angles.search_many(vectors=[[1, 0], [0, 0]])
        with pytest.raises(nuthatch.InvalidError, match='"b".*zero'):
            angles.upsert([{"id": "b", "vector": [0, 0]}])


def test_many_searches_answer_as_single_ones(points):
    matrix = matrix_of(points)[:30]
    asked = {"limit": 7, "offset": 2, "where": "n < 500", "include": ["payload", "vector"], "explain": True}
    single = [points.search(vector=row, **asked) for row in matrix]
    for vectors in (matrix, matrix.tolist(), list(matrix), (row for row in matrix)):
        many = points.search_many(vectors=vectors, **asked)
        assert [type(results) for results in many] == [nuthatch.Results] * 30
        for mine, theirs in zip(many, single, strict=True):
            assert mine.to_dicts() == theirs.to_dicts()
            assert (mine.cursor, mine.explain) == (theirs.cursor, theirs.explain)


def test_many_searches_may_be_by_words_or_by_both(points):
    texts = [f"word{n}" for n in range(20)]
    vectors = matrix_of(points)[:20]
    assert [shown(found) for found in points.search_many(texts)] == [shown(points.search(text)) for text in texts]
    both = points.search_many((text for text in texts), vectors=vectors, fusion="normalised", weights=(1, 2))
    for found, text, vector in zip(both, texts, vectors, strict=True):
        assert shown(found) == shown(points.search(text, vector=vector, fusion="normalised", weights=(1, 2)))
    some = points.search_many(texts[:2], vectors=[vectors[0], None])
    assert shown(some[1]) == shown(points.search(texts[1]))


@pytest.mark.parametrize("how", [{}, {"where": "n < 4"}, {"exact": True, "limit": 3}, {"ef": 200, "timeout": 60}])
def test_ids_and_scores_are_those_of_hits(points, how):
    matrix = matrix_of(points)[:20]
    many = points.search_many(vectors=matrix, include=[], **how)
    ids, scores = points.search_ids(matrix, **how)
    assert ids.shape == scores.shape == (20, len(many[0]))
    assert scores.dtype == numpy.float32
    expected = [[hit.id for hit in found] for found in many], [[hit.score for hit in found] for found in many]
    assert (ids.tolist(), scores.tolist()) == expected
    assert points.search_ids(matrix.tolist(), **how) == expected
    assert points.search_ids(list(matrix), **how) == expected


def test_ids_of_nothing(points):
    assert points.search_ids([]) == ([], [])
    ids, scores = points.search_ids(numpy.zeros((0, 16)))
    assert ids.shape == scores.shape == (0, 0)
    ids, scores = points.search_ids(matrix_of(points)[:3], where="n > 100000")
    assert ids.shape == scores.shape == (3, 0)
    with pytest.raises(nuthatch.InvalidError, match="query vector.*5 dimensions.*16"):
        points.search_ids(numpy.ones((2, 5)))
    with pytest.raises(nuthatch.InvalidError, match="ef and exact"):
        points.search_ids([[0.0] * 16], ef=5, exact=True)


def test_no_searches_have_no_answers(points):
    assert points.search_many([]) == []
    assert points.search_many(vectors=[]) == []
    assert points.search_many(vectors=numpy.zeros((0, 16))) == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "texts=, vectors=, or both"),
        ({"texts": "word"}, "texts is of type str; give a list"),
        ({"texts": ["x", 5]}, r"texts\[1\] is an int"),
        ({"texts": ["x", None]}, r"texts\[1\] is a NoneType"),
        ({"texts": ["x"], "vectors": [[0.0] * 16] * 2}, "2 entries for 1 texts"),
        ({"vectors": [0.0] * 16}, "vector 0 is of type float"),
        ({"vectors": numpy.zeros(16)}, "1 dimension"),
        ({"vectors": numpy.zeros((2, 0))}, "0 components"),
        ({"vectors": numpy.zeros((2, 5))}, "query vector.*5 dimensions.*16"),
        ({"vectors": [[0.0] * 16, [0.0] * 5]}, "query vector.*5 dimensions.*16"),
        ({"vectors": [[0.0] * 16, None]}, "vector 1 is None"),
        ({"vectors": [[float("nan")] * 16]}, "query vector.*NaN"),
        ({"vectors": 5}, "of type int"),
    ],
)
def test_bad_batches_of_searches_are_refused(points, arguments, named):
    with unchanged(points), pytest.raises(nuthatch.InvalidError, match=named):
        points.search_many(**arguments)


def test_a_search_whose_time_is_up_is_unavailable_and_the_next_one_is_fine(points):
    with unchanged(points):
        with pytest.raises(nuthatch.UnavailableError, match="its time was up"):
            points.search(vector=[0.0] * 16, timeout=1e-9)
        with pytest.raises(nuthatch.UnavailableError, match="its time was up"):
            points.search_many(vectors=[[0.0] * 16] * 3, timeout=1e-9)
    assert len(points.search(vector=[0.0] * 16, timeout=60)) == 10
    assert len(points.search_many(vectors=[[0.0] * 16], timeout=60)[0]) == 10


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_the_time_of_many_searches_is_one_for_all_of_them(db):
    def embed(texts):
        time.sleep(0.05)
        return toy_embed(texts)

    notes = db.collection("notes", embedder=nuthatch.embedders.function(embed, name="slow", dim=16))
    notes.upsert([{"id": "a", "text": "x"}])
    with pytest.raises(nuthatch.UnavailableError, match="its time was up"):
        notes.search_many(["x"] * 6 * (os.cpu_count() or 1), timeout=0.1)


def test_a_search_that_was_cancelled_is_unavailable(points):
    cancel = _core.CancelFlag()
    one = asked(vector=[0.0] * 16, cancel=cancel, **COMMON)
    assert len(points._core.search(one)) == 10
    cancel.set()
    with pytest.raises(nuthatch.UnavailableError, match="cancelled"):
        points._core.search(one)
    with pytest.raises(nuthatch.UnavailableError, match="cancelled"):
        points._search_ids(asked(cancel=cancel, **COMMON), [[0.0] * 16] * 3)


def test_ctrl_c_ends_many_searches():
    script = """
import nuthatch, numpy
with nuthatch.connect(":memory:") as db:
    points = db.collection("points", metric="l2", embedder="none")
    rows = numpy.random.default_rng(1).standard_normal((3000, 8))
    points.upsert(ids=[str(n) for n in range(3000)], vectors=rows)
    points.optimize()
    many = numpy.tile(rows, (100, 1))
    try:
        print("ready", flush=True)
        points.search_many(vectors=many, limit=1000, include=[])
    except KeyboardInterrupt:
        print("stopped", len(points.search(vector=rows[0])), flush=True)
"""
    process = run_python(script)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert out == "stopped 10\n", err


def test_explain_tells_the_plan_of_the_vector_leg(points):
    plan = points.search(vector=[0.0] * 16, explain=True).explain["vector"]
    # Which of the two is the engine's to choose.
    assert plan["plan"] in ("flat scan", "exact comparison")
    assert plan["exact"] == (plan["plan"] == "exact comparison")
    assert (plan["segments"], plan["segment_rows"], plan["fresh_rows"]) == (1, ROWS // 2, ROWS // 2)
    assert (plan["ef"], plan["records_read"], plan["rounds"], plan["cold_reads"]) == (0, 0, 0, 0)
    assert plan["candidates"] >= 10
    exact = points.search(vector=[0.0] * 16, explain=True, exact=True).explain["vector"]
    assert exact["plan"] == "exact comparison"
    assert exact["exact"]
    none = points.search(vector=[0.0] * 16, explain=True, where="n > 10000").explain["vector"]
    assert none["plan"] == "nothing matches"


def test_optimize_leaves_one_segment_and_the_same_answers(db):
    points = db.collection("points", dim=8, metric="l2", embedder="none")
    matrix = numpy.random.default_rng(5).standard_normal((300, 8))
    for start in range(0, 300, 100):
        points.upsert(ids=[str(n) for n in range(start, start + 100)], vectors=matrix[start : start + 100])
        points.wait_until_indexed()
    before = shown(points.search(vector=matrix[0], limit=50))
    assert points.optimize(timeout=60) is True
    info = points.info()
    assert (info.segments, info.vector_graphs, info.building, info.fresh_rows) == (1, 0, None, 0)
    with pytest.warns(DeprecationWarning, match="use vector_graphs"):
        assert info.graphs == 0
    assert shown(points.search(vector=matrix[0], limit=50)) == before
    assert points.optimize() is True


def test_a_bad_time_to_wait_is_refused(points):
    for wait in (points.optimize, points.wait_until_indexed):
        for timeout in (-1, float("nan"), "soon", True):
            with unchanged(points), pytest.raises(nuthatch.InvalidError, match="timeout"):
                wait(timeout=timeout)


def test_a_large_segment_gets_a_graph_that_searches_walk(folder):
    rows = 70_000
    rng = numpy.random.default_rng(9)
    matrix = (
        rng.standard_normal((200, 32))[rng.integers(0, 200, rows)] + 0.4 * rng.standard_normal((rows, 32))
    ).astype("f2")
    with nuthatch.connect(folder, mapped=True, build_memory="1GiB", build_threads=2) as db:
        points = db.collection("points", metric="l2", elements="f16", embedder="none")
        for start in range(0, rows, 10_000):
            part = matrix[start : start + 10_000]
            points.upsert(ids=[str(start + n) for n in range(len(part))], vectors=part)
        told = []
        while not points.optimize(timeout=0.2):
            told.append(points.info().building)
        built = [progress for progress in told if progress]
        # Where files are mapped, a part may have had a graph of its own before.
        assert built and built[-1].total == rows
        assert all(0 <= progress.done <= progress.total <= rows for progress in built)
        info = points.info()
        assert (info.segments, info.vector_graphs, info.building) == (1, 1, None)
        plan = points.search(vector=matrix[0], ef=30, explain=True).explain["vector"]
        assert (plan["plan"], plan["ef"], plan["effort"]) == ("graph walk", 30, 30)
        assert plan["records_read"] > 0
        walked = points.search_many(vectors=matrix[:100], ef=60, include=[])
        exact = points.search_many(vectors=matrix[:100], exact=True, include=[])
        shares = [len(set(ids(one)) & set(ids(other))) / 10 for one, other in zip(walked, exact, strict=True)]
        assert numpy.mean(shares) >= 0.9
