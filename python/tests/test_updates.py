"""Changing fields of records and files: the same calls embedded, awaited and over HTTP."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone

import pytest

import nuthatch

AT = datetime(2026, 1, 31, 12, 30, tzinfo=timezone.utc)


@pytest.fixture
def filled(notes):
    notes.upsert(
        [
            {"id": f"n{n}", "text": f"note {n}", "vector": [1.0, n], "payload": {"n": n, "tags": ["all"]}}
            for n in range(4)
        ]
    )
    return notes


def test_fields_change_and_the_rest_of_the_record_stays(filled):
    before = filled.get("n1", include=["text", "vector"])
    assert filled.update(["n1", "nobody"], set={"meta.at": AT, "n": None}, add={"tags": "new"}, unset=["absent"]) == 1
    after = filled.get("n1", include=["text", "vector", "payload"])
    assert (after.text, after.vector) == (before.text, before.vector)
    assert after.payload == {"meta": {"at": AT}, "n": None, "tags": ["all", "new"]}
    assert filled.update("n1", add={"tags": ["new"]}) == 0, "it was like this already"
    assert [hit.id for hit in filled.search("note", where="tags contains 'new'")] == ["n1"]


def test_a_condition_says_which(filled):
    assert filled.update(where="n >= 2", set={"state": "late"}, remove={"tags": "all"}) == 2
    assert filled.count("state = 'late' and not exists(tags)") == 2
    assert filled.facets("state")["state"].missing == 2


def test_different_changes_are_one_batch(filled):
    done = filled.update_many(
        [{"id": "n0", "set": {"n": 10}}, {"ids": ["n1", "n2"], "unset": "n", "add": {"tags": ["x", "y"]}}]
    )
    assert done == 3
    assert [record.payload.get("n") for record in filled.get(["n0", "n1", "n2"])] == [10, None, None]
    with pytest.raises(nuthatch.InvalidError, match=r"n3.*`tags`"):
        filled.update_many([{"id": "n0", "set": {"n": 11}}, {"id": "n3", "set": {"tags.a": 1}}])
    assert filled.get("n0").payload["n"] == 10


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda c: c.update("n0"), "names no field"),
        (lambda c: c.update(set={"n": 1}), "ids or where"),
        (lambda c: c.update("n0", where="n = 1", set={"n": 1}), "ids or where"),
        (lambda c: c.update("n0", set=["n"]), "not a dict"),
        (lambda c: c.update("n0", set={"n": 1}, unset="n"), "twice"),
        (lambda c: c.update("n0", set={"a": {}}, unset="a.b"), "contains it"),
        (lambda c: c.update("n0", set={"n": object()}), "n"),
        (lambda c: c.update(["n0", "n0"], set={"n": 1}), "twice"),
        (lambda c: c.update("n0", set={"": 1}), "empty name"),
        (lambda c: c.update_many([{"set": {"n": 1}}]), "needs 'id' or 'ids'"),
        (lambda c: c.update_many([{"id": "n0", "puts": {}}]), "puts"),
        (lambda c: c.update_many(["n0"]), "not a dict"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(filled, wrong, message):
    with pytest.raises(nuthatch.InvalidError, match=message):
        wrong(filled)
    assert filled.get("n0").payload == {"n": 0, "tags": ["all"]}


def test_tags_of_files_stay_when_the_files_change(db, tmp_path):
    (tmp_path / "papers").mkdir()
    paper = tmp_path / "papers" / "a.md"
    paper.write_text("# A\n\nOne thing.\n")
    docs = db.collection("docs", embedder="none")
    db.add(tmp_path / "papers", docs, tags=["new", "ops"], payload={"year": 2026})
    assert docs.count("tags contains 'ops' and year = 2026") == 1
    paper.write_text("# A\n\nOne thing, and another.\n")
    db.add(tmp_path / "papers", docs)
    assert docs.count("tags contains 'ops' and year = 2026") == 1
    [file] = docs.files()
    assert docs.update_files(file.path, remove={"tags": "new"}, set={"year": 2027}) == 1
    db.add(tmp_path / "papers", docs, tags="seen")
    assert docs.search("thing")[0].payload["tags"] == ["ops", "seen"]
    with pytest.raises(nuthatch.InvalidError, match="path"):
        docs.update_files(file.path, unset="path")


def test_the_same_calls_are_awaited(filled):
    async def change_all() -> list[int]:
        docs = nuthatch.AsyncCollection(filled)
        return [
            await docs.update("n0", set={"n": 9}),
            await docs.update_many([{"id": "n1", "set": {"n": 9}}]),
            await docs.update(where="n = 9", unset="n"),
            await docs.update_files("nowhere", set={"x": 1}),
        ]

    assert asyncio.run(change_all()) == [1, 1, 2, 0]
