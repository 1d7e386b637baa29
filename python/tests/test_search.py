"""Searching: legs, filters, fusion, pages, and the forms of an answer."""

from __future__ import annotations

import array
import copy
import dataclasses
import pickle
import random
from collections.abc import Sequence

import pytest

import nuthatch


@pytest.fixture
def fish(db):
    fish = db.collection("fish", dim=2, metric="cosine", embedder="none")
    fish.upsert(
        [
            {"id": "red", "text": "a red fish", "vector": [1.0, 0.0], "payload": {"n": 1, "team": "core"}},
            {"id": "blue", "text": "a blue fish fish", "vector": [0.0, 1.0], "payload": {"n": 2, "team": "ops"}},
            {"id": "bird", "text": "a red bird", "vector": [0.9, 0.1], "payload": {"n": 3, "team": "core"}},
            {"id": "mute", "vector": [0.7, 0.7], "payload": {"n": 4}},
            {"id": "blind", "text": "fish without a vector"},
        ]
    )
    return fish


def ids(results):
    return [hit.id for hit in results]


def test_hits_are_dataclasses_whatever_is_looked_at_first(fish):
    def asked():
        return fish.search("red", vector=[1.0, 0.0], include=["text", "payload", "vector"], limit=2)[0]

    whole = asked()
    assert (whole.text, whole.payload, whole.vector) == ("a red fish", {"n": 1, "team": "core"}, [1.0, 0.0])
    made = nuthatch.Hit(whole.id, whole.score, whole.text, whole.payload, whole.legs, whole.context, whole.vector, {})
    assert asked() == made and made == asked() and asked() == asked()
    assert repr(asked()) == repr(made) and repr(made).startswith("Hit(id='red', score=")
    assert dataclasses.asdict(asked()) == dataclasses.asdict(made)
    assert dataclasses.replace(asked(), score=1.0) == dataclasses.replace(made, score=1.0) != made
    assert pickle.loads(pickle.dumps(asked())) == copy.copy(asked()) == copy.deepcopy(asked()) == made
    assert [part.name for part in dataclasses.fields(asked())] == list(nuthatch.Hit.__match_args__)
    hit = asked()
    assert hit.payload is hit.payload and hit.legs is hit.legs
    for name in ("score", "payload"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(asked(), name, 1)
    with pytest.raises(AttributeError, match="'Hit' object has no attribute 'txt'"):
        _ = asked().txt
    with pytest.raises(TypeError, match="unhashable"):
        hash(asked())


def test_places_in_legs_are_dataclasses_too(fish):
    legs = fish.search("red", vector=[1.0, 0.0], limit=1)[0].legs
    made = nuthatch.Legs(text=nuthatch.Leg(1, legs.text.score), vector=nuthatch.Leg(rank=1, score=1.0))
    assert (
        legs == made
        and repr(legs) == repr(made) == f"Legs(text={legs.text!r}, vector={legs.vector!r}, vectors={{}}, rerank=None)"
    )
    assert legs.vector != nuthatch.Leg(2, 1.0) and legs.vector != (1, 1.0)
    assert hash(legs.vector) == hash(nuthatch.Leg(1, 1.0))
    assert dataclasses.asdict(legs.vector) == {"rank": 1, "score": 1.0}
    assert pickle.loads(pickle.dumps(legs)) == copy.deepcopy(legs) == legs
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'rank'"):
        legs.vector.rank = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'text'"):
        del legs.text


def test_a_vector_may_be_any_array_of_numbers(fish):
    numpy = pytest.importorskip("numpy")
    usual = ids(fish.search(vector=[0.9, 0.1]))
    wide = numpy.array([0.9, 5.0, 0.1, 5.0], dtype=numpy.float32)
    for vector in (wide[::2], wide[::2].astype(">f4"), wide[::2].astype(numpy.float64), array.array("f", [0.9, 0.1])):
        assert ids(fish.search(vector=vector, limit=numpy.int64(10), recall=numpy.float32(0.9))) == usual
    with pytest.raises(nuthatch.InvalidError, match=r"vector has 2 dimension\(s\), shape \(1, 2\); it must have 1"):
        fish.search(vector=wide[None, ::2])


def test_a_payload_that_a_caller_changes_stays_changed(fish):
    results = fish.search("red fish", limit=2)
    results[0].payload["seen"] = True
    assert [hit.payload.get("seen") for hit in results] == [True, None]


def test_an_answer_outlives_its_database():
    with nuthatch.connect(":memory:") as db:
        notes = db.collection("notes", embedder="none")
        notes.upsert(ids=["a"], texts=["one"], payloads=[{"n": 1}])
        found = notes.search("one")
    assert found[0].payload == {"n": 1} and found[0].legs.text.rank == 1


def test_text_mode_ranks_by_words(fish):
    results = fish.search("fish", mode="text")
    assert sorted(ids(results)) == ["blind", "blue", "red"]
    assert [hit.legs.text.rank for hit in results] == [1, 2, 3]
    assert all(hit.legs.vector is None and hit.score == hit.legs.text.score for hit in results)


def test_vector_mode_ranks_by_similarity(fish):
    results = fish.search(vector=[1.0, 0.0], mode="vector")
    assert ids(results) == ["red", "bird", "mute", "blue"]
    assert results[0].score == pytest.approx(1.0)
    assert results[1].legs.vector == nuthatch.Leg(2, pytest.approx(0.9939, abs=1e-4))
    assert results[0].legs.text is None


def test_hybrid_hits_carry_rank_and_score_of_both_legs(fish):
    results = fish.search("red fish", vector=[1.0, 0.0])
    best = results[0]
    assert best.id == "red"
    assert best.legs.text.rank == 1
    assert best.legs.vector.rank == 1
    assert best.score == pytest.approx(2 / 61)
    assert {hit.id for hit in results} == {"red", "blue", "bird", "mute", "blind"}


def test_fusion_and_weights_are_the_callers(fish):
    ask = {"text": "fish", "vector": [0.0, 1.0]}
    only_text = fish.search(**ask, weights={"vector": 0.0}, fusion="normalised")
    only_vector = fish.search(**ask, weights=(0, 1), fusion="normalised")
    assert ids(only_text)[:1] == ids(fish.search("fish", mode="text", limit=1))
    assert ids(only_vector)[:2] == ids(fish.search(vector=[0.0, 1.0], limit=2))
    weighted = fish.search(**ask, fusion="weighted", weights=(1, 2))
    hit = next(hit for hit in weighted if hit.id == "blue")
    assert hit.score == pytest.approx(hit.legs.text.score + 2 * hit.legs.vector.score, rel=1e-5)


def test_a_filter_holds_on_both_legs_and_the_limit_is_filled(fish):
    results = fish.search("red fish", vector=[0.0, 1.0], where="team = 'core'")
    assert sorted(ids(results)) == ["bird", "red"]
    assert ids(fish.search(vector=[1.0, 0.0], where="n >= 3")) == ["bird", "mute"]


def test_a_filtered_query_fills_its_limit_at_every_selectivity(db):
    rng = random.Random(7)
    many = db.collection("many", dim=8, metric="l2", embedder="none")
    vectors = [[rng.gauss(0, 1) for _ in range(8)] for _ in range(3000)]
    many.upsert(ids=[str(n) for n in range(3000)], vectors=vectors, payloads=[{"n": n} for n in range(3000)])
    query = vectors[0]

    def distance(n):
        return sum((a - b) ** 2 for a, b in zip(query, vectors[n], strict=True))

    for indexed in (False, True):
        for cut in (1, 3, 30, 300, 2999):
            expected = [str(n) for n in sorted(range(cut), key=distance)[:10]]
            assert ids(many.search(vector=query, where=f"n < {cut}")) == expected, (indexed, cut)
        many.wait_until_indexed()


def test_cursor_and_offset_walk_the_same_pages(fish):
    whole = ids(fish.search("a red fish", vector=[1.0, 0.0], limit=5))
    paged, cursor = [], None
    for _ in range(10):
        page = fish.search("a red fish", vector=[1.0, 0.0], limit=2, cursor=cursor)
        assert ids(page) == ids(fish.search("a red fish", vector=[1.0, 0.0], limit=2, offset=len(paged)))
        paged += ids(page)
        cursor = page.cursor
        if cursor is None:
            break
    assert paged == whole
    assert cursor is None


def test_a_write_is_in_the_next_answer(fish):
    fish.upsert([{"id": "new", "text": "zebrafish", "vector": [-1.0, 0.0]}])
    assert ids(fish.search("zebrafish")) == ["new"]
    assert ids(fish.search(vector=[-1.0, 0.0], limit=1)) == ["new"]
    fish.delete("new")
    assert ids(fish.search("zebrafish")) == []
    fish.wait_until_indexed()
    assert ids(fish.search("zebrafish")) == []


@pytest.mark.parametrize(
    ("metric", "order", "score"),
    [
        ("cosine", ["near", "far", "other"], 1.0),
        ("dot", ["far", "near", "other"], 10.0),
        ("l2", ["near", "other", "far"], 0.5),
    ],
)
def test_metrics_rank_and_score_their_own_way(db, metric, order, score):
    points = db.collection(metric, metric=metric, embedder="none")
    points.upsert(ids=["near", "far", "other"], vectors=[[1.5, 0], [10, 0], [0, 1]])
    results = points.search(vector=[1, 0])
    assert ids(results) == order
    assert results[0].score == pytest.approx(score)


def test_explain_tells_how_and_is_left_out_otherwise(fish):
    explain = fish.search("fish", vector=[1.0, 0.0], where="n > 1", explain=True).explain
    assert explain["mode"] == "hybrid"
    assert explain["filter_matches"] == 3
    assert explain["vector"]["fresh_rows"] + explain["vector"]["segment_rows"] >= 4
    assert explain["text"]["candidates"] >= 1
    assert fish.search("fish").explain is None


def test_an_empty_collection_answers_with_nothing(db):
    empty = db.collection("empty", embedder="none")
    results = empty.search("anything")
    assert list(results) == []
    assert results.cursor is None
    assert not results.degraded
    assert bool(empty)


def test_results_are_a_sequence_with_a_telling_repr(fish):
    results = fish.search("red fish", mode="text")
    assert len(results) == 4
    assert results[-1] == list(results)[-1]
    assert results[:2] == list(results)[:2]
    assert results[0] in results and results[0] is results[0]
    assert isinstance(results, Sequence) and list(reversed(results)) == list(results)[::-1]
    assert (results.index(results[2]), results.count(results[2])) == (2, 1)
    with pytest.raises(IndexError):
        _ = results[4]
    kept = pickle.loads(pickle.dumps(results))
    assert (list(kept), kept.cursor, kept.pending) == (list(results), results.cursor, results.pending)
    made = nuthatch.Results(list(results), degraded=("why",))
    assert (len(made), made.cursor, made.degraded, made.facets) == (4, None, ["why"], {})
    assert "4 hits" in repr(results)
    assert repr(fish) == "Collection('fish', dim=2, metric='cosine', rows=5)"


def test_results_become_dicts(fish):
    first = fish.search("blue", include=["text", "payload", "vector"]).to_dicts()[0]
    assert first["id"] == "blue"
    assert first["payload"] == {"n": 2, "team": "ops"}
    assert first["legs"]["text"]["rank"] == 1
    assert first["legs"]["vector"] is None
    assert first["vector"] == [0.0, 1.0]


def test_results_become_arrow_and_pandas(fish):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    fish.upsert([{"id": "odd", "text": "red red red", "payload": {"n": "many", "score": 5}}])
    table = fish.search("red", mode="text").to_arrow()
    assert table.column_names[:7] == ["id", "score", "text", "text_rank", "text_score", "vector_rank", "vector_score"]
    assert table.column("text_rank").to_pylist() == [1, 2, 3]
    assert "payload.score" in table.column_names
    assert set(table.column("n").to_pylist()) == {"1", "3", '"many"'}
    frame = fish.search("blue", include=("text", "payload", "vector")).to_pandas()
    assert frame["id"].tolist() == ["blue"]
    assert frame["vector"][0].tolist() == [0.0, 1.0]
    empty = fish.search("nothing at all").to_arrow()
    assert empty.num_rows == 0
    assert "id" in empty.column_names
