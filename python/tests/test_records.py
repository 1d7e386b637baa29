"""Writing, reading and listing records."""

from __future__ import annotations

import pytest

import nuthatch


def test_upsert_inserts_then_replaces_and_says_so(notes):
    assert notes.upsert([{"id": "a", "text": "one"}, {"id": "b", "text": "two"}]) == (2, 0)
    assert notes.upsert([{"id": "b", "text": "zwei", "payload": {"lang": "de"}}, {"id": "c", "text": "three"}]) == (
        1,
        1,
    )
    assert notes.get("b") == nuthatch.Record("b", "zwei", {"lang": "de"})
    assert notes.count() == len(notes) == 3


def test_get_gives_one_record_or_a_list_in_the_order_asked(notes):
    notes.upsert(ids=["a", "b"], texts=["one", "two"])
    assert notes.get("nobody") is None
    assert [record and record.id for record in notes.get(["b", "nobody", "a"])] == ["b", None, "a"]
    assert notes.get([]) == []


def test_an_id_is_in_a_collection_when_its_record_is(db, notes):
    notes.upsert(ids=["a", "b"], texts=["one", "two"])
    notes.delete("b")
    assert "a" in notes and "b" not in notes and "nobody" not in notes
    with db.snapshot() as moment:
        notes.upsert(ids=["c"], texts=["three"])
        assert "a" in moment.collection("notes") and "c" not in moment.collection("notes") and "c" in notes
    with db.transaction() as tx:
        tx.collection("notes").upsert(ids=["d"], texts=["four"])
        assert "d" in tx.collection("notes") and "d" not in notes
    assert "d" in notes
    for wrong in (notes.get("a"), 7, None):
        with pytest.raises(nuthatch.InvalidError, match="id"):
            wrong in notes  # noqa: B015


def test_include_decides_what_records_carry(notes):
    notes.upsert([{"id": "a", "text": "one", "vector": [1, 2], "payload": {"n": 1}, "context": "Numbers"}])
    assert notes.get("a", include=["vector"]) == nuthatch.Record("a", None, {}, None, [1.0, 2.0])
    assert notes.get("a") == nuthatch.Record("a", "one", {"n": 1}, "Numbers", None)
    assert notes.search("one", include="vector")[0].vector == [1.0, 2.0]
    assert notes.search("one", include=[])[0].text is None


def test_a_record_read_can_be_written_again(notes):
    record = {"id": "a", "text": "one", "vector": [0.5, 0.25], "payload": {"n": 1, "tags": ["x"]}, "context": "Numbers"}
    notes.upsert([record])
    read = notes.get("a", include=("text", "payload", "vector"))
    assert read.to_dict() == record
    notes.upsert([read])
    assert notes.get("a", include=("text", "payload", "vector")) == read


def test_a_generator_is_one_batch(notes):
    assert notes.upsert({"id": str(n), "payload": {"n": n}} for n in range(100)) == (100, 0)

    def breaks():
        yield {"id": "new", "text": "x"}
        raise RuntimeError("the source dried up")

    with pytest.raises(RuntimeError, match="dried up"):
        notes.upsert(breaks())
    assert notes.get("new") is None


def test_an_empty_batch_is_refused_and_changes_nothing(notes):
    with pytest.raises(nuthatch.InvalidError, match="batch is empty"):
        notes.upsert([])
    with pytest.raises(nuthatch.InvalidError, match="batch is empty"):
        notes.upsert(ids=[])
    assert notes.delete([]) == 0
    assert notes.count() == 0


def test_delete_by_ids_passes_over_unknown_ones_and_by_filter_takes_all_that_match(notes):
    notes.upsert([{"id": str(n), "payload": {"n": n}} for n in range(10)])
    assert notes.delete(["0", "nobody", "1"]) == 2
    assert notes.delete("2") == 1
    assert notes.delete(where="n >= 8") == 2
    assert [record.id for record in notes] == ["3", "4", "5", "6", "7"]


def test_count_takes_a_filter(notes):
    notes.upsert([{"id": str(n), "payload": {"n": n, "team": "core" if n % 2 else "ops"}} for n in range(10)])
    assert notes.count() == 10
    assert notes.count("n >= 4 and team = 'core'") == 3


def test_scan_pages_through_every_record_once(notes):
    notes.upsert([{"id": str(n), "payload": {"n": n}} for n in range(25)])
    seen, cursor, pages = [], None, 0
    while True:
        page = notes.scan(limit=10, cursor=cursor)
        seen += [record.id for record in page]
        pages, cursor = pages + 1, page.cursor
        if cursor is None:
            break
    assert seen == [str(n) for n in range(25)]
    assert pages == 3
    assert [record.id for record in notes.scan(where="n >= 20", limit=3)] == ["20", "21", "22"]


def test_iteration_crosses_pages(notes, monkeypatch):
    notes.upsert([{"id": str(n), "payload": {"n": n}} for n in range(2500)])
    assert sum(record.payload["n"] for record in notes) == sum(range(2500))


def test_text_context_and_code_are_searched_their_own_way(notes):
    notes.upsert(
        [
            {"id": "prose", "text": "the handle stays", "context": "Doors > Kitchen"},
            {"id": "code", "text": "def parseHttpHeader(): ...", "code": True},
        ]
    )
    assert [hit.id for hit in notes.search("kitchen")] == ["prose"]
    assert [hit.id for hit in notes.search("header")] == ["code"]


def test_two_handles_of_one_collection_see_each_others_writes(db):
    one, other = db.collection("shared", embedder="none"), db.collection("shared")
    one.upsert([{"id": "a", "text": "hello"}])
    assert other.get("a").text == "hello"
    assert other.search("hello")[0].id == "a"
