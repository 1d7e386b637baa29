"""Counting the values of fields: the same as a naive count over every record, whichever handle is asked."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from datetime import datetime, timezone

import pytest

import nuthatch

FIELDS = ("team", "tags", "year", "deep.size", "done", "at")
CONDITIONS = (None, "year >= 2022", "team in ('core', 'ops') and not done = true", "tags is not null", "year = 1900")


def payload(dice: random.Random) -> dict[str, object]:
    """Some of the fields, of several kinds."""
    made = {
        "team": dice.choice(["core", "ops", "web", "größe"]),
        "tags": [f"t{dice.randrange(12)}" for _ in range(dice.randrange(4))],
        "year": dice.choice([2020, 2021, 2022, 2023.5, -7]),
        "deep": {"size": dice.randrange(3)},
        "done": dice.random() < 0.5,
        "at": datetime(2025, 1, dice.randrange(1, 5), tzinfo=timezone.utc),
    }
    return {name: value for name, value in made.items() if dice.random() < 0.8}


def values(record: nuthatch.Record, field: str) -> set[tuple[str, object]]:
    """Every value of a field, each once; 1 and True and 1.0 differ."""
    found: object = record.payload
    for name in field.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return {(type(one).__name__, one) for one in (found if isinstance(found, list) else [found]) if one is not None}


def naive(records: list[nuthatch.Record], field: str) -> tuple[Counter[tuple[str, object]], int]:
    """Counts, and the records without a value."""
    counts = Counter(value for record in records for value in values(record, field))
    return counts, sum(not values(record, field) for record in records)


def assert_as_counted(collection) -> None:
    """Facets are what listing everything and counting gives."""
    for condition in CONDITIONS:
        records, page = [], collection.scan(where=condition)
        records += page
        while page.cursor:
            page = collection.scan(where=condition, cursor=page.cursor)
            records += page
        found = collection.facets(FIELDS, where=condition, limit=1000)
        assert list(found) == list(FIELDS)
        for field, facet in found.items():
            counts, missing = naive(records, field)
            assert {(type(value).__name__, value): number for value, number in facet.values} == counts, (
                field,
                condition,
            )
            assert (facet.distinct, facet.missing) == (len(counts), missing), (field, condition)
            numbers = [number for _, number in facet.values]
            assert numbers == sorted(numbers, reverse=True)
            assert collection.facets(field, where=condition, limit=2)[field].values == facet.values[:2]


def test_facets_count_what_a_listing_shows_now_then_and_within_a_transaction(db, notes):
    dice = random.Random(29)
    for start in range(0, 1500, 500):
        notes.upsert([{"id": str(n), "payload": payload(dice)} for n in range(start, start + 500)])
        if start == 500:
            notes.optimize()
        notes.delete([str(dice.randrange(start + 500)) for _ in range(60)])
    assert_as_counted(notes)
    with db.snapshot() as moment:
        before = notes.facets(FIELDS, limit=1000)
        notes.upsert([{"id": str(n), "payload": payload(dice)} for n in range(200)])
        notes.optimize()
        assert moment.collection("notes").facets(FIELDS, limit=1000) == before
        assert_as_counted(moment.collection("notes"))
    assert_as_counted(notes)
    with db.transaction() as transaction:
        assert_as_counted(transaction.collection("notes"))


def test_equal_counts_ascend_by_value_and_a_record_counts_once(notes):
    notes.upsert(ids=["a", "b"], payloads=[{"tag": ["x", "x", "c"]}, {"tag": ["b", None, []]}])
    assert notes.facets("tag") == {"tag": nuthatch.Facet([("b", 1), ("c", 1), ("x", 1)], 3, 0)}


def test_a_transaction_that_counted_conflicts_with_a_change(db, notes):
    notes.upsert(ids=["a"], payloads=[{"team": "core"}])
    with pytest.raises(nuthatch.ConflictError), db.transaction() as transaction:
        transaction.collection("notes").facets("team")
        notes.upsert(ids=["b"], payloads=[{"team": "ops"}])
        transaction.kv("k").put("seen", b"1")


def test_what_cannot_be_counted_is_refused_with_what_to_do(notes):
    notes.upsert(ids=["a"], payloads=[{"team": "core"}])
    with pytest.raises(nuthatch.InvalidError, match="team"):
        notes.facets("taem")
    for wrong in ({"fields": []}, {"fields": "team", "limit": 0}, {"fields": "team", "where": "team ="}):
        with pytest.raises(nuthatch.InvalidError):
            notes.facets(wrong.pop("fields"), **wrong)


def test_too_many_values_are_refused_and_named(notes):
    rows = [f"{n:06}" for n in range(200_001)]
    for start in range(0, len(rows), 50_000):
        some = rows[start : start + 50_000]
        notes.upsert(ids=some, payloads=[{"own": one} for one in some], durability="os")
    with pytest.raises(nuthatch.ExhaustedError, match="own.*where"):
        notes.facets("own")
    assert notes.facets("own", where="own < '000010'")["own"].distinct == 10


def test_facets_are_awaited_too(address):
    async def count() -> dict[str, nuthatch.Facet]:
        async with nuthatch.connect_async(address) as db:
            notes = await db.collection("notes", embedder="none")
            await notes.upsert(ids=["a", "b"], payloads=[{"team": "core"}, {"n": 1}])
            return await notes.facets("team", where="not team = 'ops'")

    assert asyncio.run(count()) == {"team": nuthatch.Facet([("core", 1)], 1, 1)}


def test_a_search_tells_facets_of_everything_that_passes_its_filter(db, notes):
    notes.upsert(
        ids=[str(n) for n in range(60)],
        texts=["red fish" if n < 3 else "blue whale" for n in range(60)],
        vectors=[[n, 1.0] for n in range(60)],
        payloads=[{"team": f"t{n % 20}", "n": n} for n in range(60)],
    )
    with db.snapshot() as moment, db.transaction() as transaction:
        for asked in (notes, moment.collection("notes"), transaction.collection("notes")):
            found = asked.search("red", mode="text", facets=["team", "n"], limit=1, where="n < 25")
            assert len(found) == 1 and list(found.facets) == ["team", "n"]
            assert found.facets == asked.facets(["team", "n"], where="n < 25", limit=10)
            assert (found.facets["team"].distinct, len(found.facets["team"].values)) == (20, 10)
            assert asked.search("red", mode="text").facets == {}
            [one, _] = asked.search_many(vectors=[[1, 1], [2, 2]], facets=["team"])
            assert one.facets["team"].distinct == 20
    with pytest.raises(nuthatch.InvalidError, match="taem.*team"):
        notes.search("red", mode="text", facets=["taem"])
    with pytest.raises(TypeError, match="facet"):
        notes.search("red", facet=["team"])
