"""Bad calls: each names what is wrong, and leaves the store as it was."""

from __future__ import annotations

import copy
import pickle

import pytest
from support import unchanged

import nuthatch


@pytest.fixture
def notes(db):
    notes = db.collection("notes", embedder="none")
    notes.upsert([{"id": "kept", "text": "kept", "vector": [1.0, 2.0], "payload": {"n": 1}}])
    return notes


@pytest.mark.parametrize(
    ("batch", "named"),
    [
        ([{"id": "a", "vector": [1.0, 2.0, 3.0]}], '"a".*3 dimensions.*2'),
        ([{"id": "a", "vector": [float("nan"), 1.0]}], '"a".*NaN'),
        ([{"id": "a", "vector": [float("inf"), 1.0]}], '"a".*is inf;'),
        ([{"id": "a", "vector": [1e300, 1.0]}], '"a".*is inf;'),
        ([{"id": "a", "vector": []}], '"a"'),
        ([{"id": "a", "vector": "12"}], "'a'.*str"),
        ([{"id": "a", "vector": [1.0, None]}], "'a'.*not a number"),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], '"a" occurs twice'),
        ([{"id": "", "text": "x"}], "empty id"),
        ([{"id": "a" * 1025, "text": "x"}], "1025 bytes"),
        ([{"text": "x"}], "record 1 has no id"),
        ([{"id": 7, "text": "x"}], "its id is an int"),
        ([{"id": "a"}], '"a" has no text'),
        ([{"id": "a", "text": 5}], '"a".*its text is an int'),
        ([{"id": "a", "text": "\udc80"}], '"a".*surrogates'),
        ([{"id": "\udc80", "text": "x"}], "surrogates"),
        ([{"id": "a", "txt": "x"}], "unknown key 'txt'; did you mean 'text'"),
        ([{"id": "a", "vectors": [1, 2]}], "did you mean 'vector'"),
        ([{"id": "a", "metadata": {}}], "unknown key 'metadata'.*payload"),
        ([{"id": "a", "text": "x" * (4 << 20) + "x"}], '"a".*bytes'),
        ([{"id": "a", "text": "x", "code": "yes"}], '"a".*its code'),
        ([["a", "x"]], "record 1 is of type list"),
        ({"id": "a", "text": "x"}, "one dict; put it into a list"),
        ("a", "one str"),
        (7, "one int"),
    ],
)
def test_a_bad_batch_is_refused_whole(notes, batch, named):
    with unchanged(notes), pytest.raises(nuthatch.InvalidError, match=named):
        notes.upsert([{"id": "good", "text": "good"}, *batch] if isinstance(batch, list) else batch)


def test_upsert_takes_records_or_columns(notes):
    with unchanged(notes):
        with pytest.raises(nuthatch.InvalidError, match="neither records nor ids"):
            notes.upsert()
        with pytest.raises(nuthatch.InvalidError, match="leave out ids and texts"):
            notes.upsert([{"id": "a"}], ids=["a"], texts=["x"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "a text, a vector, or the id"),
        ({"vector": [1.0]}, "query vector.*1 dimension"),
        ({"vector": [float("nan"), 1.0]}, "query vector.*NaN"),
        ({"text": 5}, "text to search for is an int"),
        ({"text": "x", "mode": "fuzzy"}, 'unknown mode "fuzzy"'),
        ({"text": "x", "mode": "vector"}, "no embedder"),
        ({"vector": [1.0, 2.0], "mode": "text"}, "needs a text"),
        ({"text": "x", "limit": 0}, "limit is 0"),
        ({"text": "x", "limit": -1}, "limit=-1"),
        ({"text": "x", "limit": 2.5}, "limit=2.5"),
        ({"text": "x", "limit": 10_001}, "10000"),
        ({"text": "x", "limit": 2**70}, "63 bits"),
        ({"text": "x", "offset": -5}, "offset=-5"),
        ({"text": "x", "cursor": "zzz"}, "not a cursor"),
        ({"text": "x", "cursor": "after:²"}, "not a cursor"),
        ({"text": "x", "cursor": "after:5", "offset": 3}, "not both"),
        ({"text": "x", "include": ["texts"]}, "include names 'texts'"),
        ({"text": "x", "fusion": "best"}, 'unknown fusion "best"'),
        ({"text": "x", "weights": (0, 0)}, "not both 0"),
        ({"text": "x", "weights": (1, float("nan"))}, "weights"),
        ({"text": "x", "weights": {"txt": 1}}, "leg 'txt'"),
        ({"text": "x", "weights": 3}, "weights=3"),
        ({"text": "x", "where": "n >"}, "where|expected|position|column"),
        ({"text": "x", "where": "nn > 1"}, "nn"),
        ({"text": "x", "where": {"n": 1}}, "where=.*a string"),
    ],
)
def test_a_bad_search_is_refused(notes, arguments, named):
    with unchanged(notes), pytest.raises(nuthatch.InvalidError, match=named):
        notes.search(**arguments)


def test_a_malformed_filter_is_refused_with_its_position(notes):
    for call in (notes.count, lambda where: notes.delete(where=where), lambda where: notes.scan(where=where)):
        with unchanged(notes), pytest.raises(nuthatch.InvalidError, match=r"\d"):
            call("n >= 1 and and n < 3")


def test_an_unknown_field_is_refused_with_the_one_that_was_meant(notes):
    notes.upsert([{"id": "b", "payload": {"year": 2025}}])
    with pytest.raises(nuthatch.InvalidError, match="yaer.*year"):
        notes.search("kept", where="yaer > 2024")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "ids, where or prefix"),
        ({"ids": ["a"], "where": "n = 1"}, "ids, where or prefix"),
        ({"ids": 5}, "ids=5"),
        ({"ids": ["kept", 5]}, r"ids\[1\]=5"),
        ({"ids": {"kept": 1}}, "ids="),
        ({"where": 5}, "where=5"),
    ],
)
def test_a_bad_delete_deletes_nothing(notes, arguments, named):
    with unchanged(notes), pytest.raises(nuthatch.InvalidError, match=named):
        notes.delete(**arguments)


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("", {}, "not a valid name"),
        ("a/b", {}, "not a valid name"),
        ("x" * 201, {}, "not a valid name"),
        (5, {}, "name=5"),
        ("new", {"dim": 1}, "1 dimension"),
        ("new", {"dim": 4097}, "4097"),
        ("new", {"dim": "384"}, "dim='384'"),
        ("new", {"metric": "euclid"}, "euclid"),
        ("new", {"elements": "float32"}, "float32"),
        ("new", {"language": "klingon"}, "klingon"),
        ("new", {"embedder": "gpt"}, 'unknown embedder "gpt"'),
        ("new", {"embedder": len}, "wrap it"),
        ("new", {"embedder": 5}, "of type int"),
        ("notes", {"dim": 3}, "dim 2.*3"),
        ("notes", {"metric": "l2"}, "metric cosine.*l2"),
        ("notes", {"elements": "f16"}, "elements f32.*f16"),
        ("notes", {"language": "german"}, "english.*german"),
    ],
)
def test_a_bad_collection_is_refused_and_not_made(db, notes, name, options, named):
    with pytest.raises(nuthatch.InvalidError, match=named):
        db.collection(name, **options)
    assert [info.name for info in db.collections()] == ["notes"]


def test_a_bad_page_is_refused(notes):
    for arguments in ({"limit": 0}, {"limit": 10_001}, {"cursor": "x"}, {"cursor": 5}, {"limit": "5"}):
        with pytest.raises(nuthatch.InvalidError):
            notes.scan(**arguments)


def test_handles_cannot_be_pickled_or_copied(db, notes):
    for handle in (db, notes):
        for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled or copied.*connect there"):
                refuse(handle)


def test_errors_can_be_pickled_and_caught_by_kind():
    error = nuthatch.CorruptError("x is damaged", None)
    assert str(pickle.loads(pickle.dumps(error))) == "x is damaged"
    assert issubclass(nuthatch.InvalidError, ValueError)
    assert issubclass(nuthatch.NotFoundError, LookupError)
    for name in ("Conflict", "Unavailable", "Invalid", "NotFound", "Corrupt", "Closed", "Exhausted", "Internal"):
        assert issubclass(getattr(nuthatch, f"{name}Error"), nuthatch.NuthatchError)


def test_an_oversized_batch_is_refused_as_exhausted(db):
    wide = db.collection("wide", embedder="none")
    texts = ["x" * (4 << 20)] * 33
    with unchanged(wide), pytest.raises(nuthatch.ExhaustedError, match="MiB.*split it"):
        wide.upsert(ids=[str(n) for n in range(33)], texts=texts)


def test_an_error_names_the_thing_that_it_is_about(db):
    def about(call):
        with pytest.raises(nuthatch.NotFoundError) as raised:
            call()
        return raised.value.what, raised.value.name

    for drop in (db.drop_collection, db.drop_keyspace, db.drop_graph):
        assert drop("nothing") is False
    assert about(lambda: db.kv("nothing", create=False)) == ("keyspace", "nothing")
    assert about(lambda: db.graph("nothing", create=False)) == ("graph", "nothing")
    seen = db.kv("seen")
    seen["a"] = "1"
    assert seen.get("none") is None
    assert about(lambda: seen["none"]) == ("key", "none")
    rows = db.collection("rows", embedder="none")
    rows.upsert([{"id": "a", "text": "a"}])
    assert about(lambda: rows.search(like="none")) == ("record", "none")
    db.drop_keyspace("seen")
    assert about(lambda: seen.get("a")) == ("keyspace", "seen")
    with pytest.raises(nuthatch.InvalidError) as raised:
        db.collection("no/name")
    assert (raised.value.what, raised.value.name) == (None, None)
