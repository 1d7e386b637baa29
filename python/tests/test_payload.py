"""Which values a payload holds, and how they come back."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from support import unchanged

import nuthatch


def test_every_kind_of_value_comes_back_as_it_went_in(notes):
    payload = {
        "none": None,
        "yes": True,
        "int": -(2**63),
        "float": 0.1,
        "text": "naïve ☃ 𝄞",
        "list": [1, 2.5, "x", None, False, [], {}],
        "map": {"inner": {"deep": [1]}},
    }
    notes.upsert([{"id": "a", "payload": payload}])
    back = notes.get("a").payload
    assert back == payload
    assert {name: type(value) for name, value in back.items()} == {name: type(value) for name, value in payload.items()}


def test_datetimes_come_back_aware_in_utc(notes):
    utc = dt.timezone.utc
    payload = {
        "aware": dt.datetime(2025, 6, 1, 12, 0, 0, 123456, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        "zone": dt.datetime(2025, 6, 1, 12, tzinfo=ZoneInfo("Asia/Kolkata")),
        "naive": dt.datetime(2025, 6, 1, 12),
        "date": dt.date(2025, 6, 1),
        "first": dt.datetime.min,
        "last": dt.datetime.max,
        "nested": [dt.date(1969, 12, 31)],
    }
    notes.upsert([{"id": "a", "payload": payload}])
    assert notes.get("a").payload == {
        "aware": dt.datetime(2025, 6, 1, 10, 0, 0, 123456, tzinfo=utc),
        "zone": dt.datetime(2025, 6, 1, 6, 30, tzinfo=utc),
        "naive": dt.datetime(2025, 6, 1, 12, tzinfo=utc),
        "date": dt.datetime(2025, 6, 1, tzinfo=utc),
        "first": dt.datetime.min.replace(tzinfo=utc),
        "last": dt.datetime.max.replace(tzinfo=utc),
        "nested": [dt.datetime(1969, 12, 31, tzinfo=utc)],
    }


def test_datetimes_are_filterable(notes):
    notes.upsert([{"id": str(year), "payload": {"at": dt.datetime(year, 1, 1)}} for year in (2023, 2024, 2025)])
    assert notes.count("at >= '2024-01-01'") == 2


def test_numpy_values_are_taken_as_pythons_own(notes):
    numpy = pytest.importorskip("numpy")
    payload = {"i": numpy.int32(7), "f": numpy.float32(0.5), "b": numpy.bool_(True), "a": numpy.arange(3)}
    notes.upsert([{"id": "a", "payload": payload}])
    back = notes.get("a").payload
    assert back == {"i": 7, "f": 0.5, "b": True, "a": [0, 1, 2]}
    assert type(back["b"]) is bool


def test_tuples_come_back_as_lists(notes):
    notes.upsert([{"id": "a", "payload": {"pair": (1, "x")}}])
    assert notes.get("a").payload == {"pair": [1, "x"]}


loop: list[object] = []
loop.append(loop)


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        ({"big": 2**63}, '"big".*64 bits'),
        ({"nan": float("nan")}, '"nan".*NaN'),
        ({"inf": float("-inf")}, '"inf".*inf'),
        ({"meta": {"tags": [1, {2, 3}]}}, r'"meta.tags\[1\]".*a set'),
        ({"raw": b"bytes"}, '"raw".*bytes'),
        ({"price": __import__("decimal").Decimal("1.5")}, '"price".*Decimal'),
        ({"odd": "\ud800"}, '"odd".*surrogates'),
        ({"loop": loop}, '"loop.*nest'),
        ({"meta": {1: "x"}}, '"meta".*an int'),
        ({1: "x"}, "an int.*strings"),
        ({"a.b": 1}, "a.b"),
        ({"": 1}, "field"),
        ([("a", 1)], "payload.*a list"),
        ("text", "payload.*a str"),
    ],
)
def test_what_a_payload_cannot_hold_is_refused_by_record_and_field(notes, payload, named):
    notes.upsert([{"id": "kept", "payload": {"n": 1}}])
    with unchanged(notes), pytest.raises(nuthatch.InvalidError, match=f'(?s)"bad".*{named}|{named}.*"bad"'):
        notes.upsert([{"id": "fine", "payload": {"n": 2}}, {"id": "bad", "payload": payload}])
