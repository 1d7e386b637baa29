"""A Flight client and Python's calls agree: one random history, told through both doors."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from serving import serving

import nuthatch

pyarrow = pytest.importorskip("pyarrow")
flight = pytest.importorskip("pyarrow.flight")

DIM = 12
IDS = 120
STEPS = 30
WORDS = ["heron", "kestrel", "plover", "siskin", "wren", "nest", "reed", "bark"]
#: Of the unnamed vector and the field `title`; what a batch holds of them.
ELEMENTS = {
    "f32": ("float32", "float16"),
    "f16": ("float16", "float32"),
    "int8": ("int8", "int8"),
    "uint8": ("uint8", "float32"),
    "binary": ("uint8", "uint8"),
}
CONDITIONS = [
    None,
    "year >= 2021",
    "team = 'b' and year < 2024",
    "tags contains 'x'",
    "at >= '2024-06-01T00:00:00Z'",
    "year < 0",
]


class Both:
    """A collection that Flight writes and one that Python writes, in one folder."""

    def __init__(self, client: Any, db: nuthatch.Database, elements: str, seed: int) -> None:
        self.client, self.db, self.elements = client, db, elements
        self.dice = random.Random(seed)
        self.numbers = numpy.random.default_rng(seed)
        metric = "hamming" if elements == "binary" else "l2"
        title = {"dim": 4, "metric": "l2", "elements": "int8"}
        options = {"dim": DIM, "metric": metric, "elements": elements, "vectors": {"title": title}, "embedder": "none"}
        self.act("create", collection="flown", **options)
        self.called = db.collection("called", **options)
        self.flown = db.collection("flown")

    def act(self, name: str, **body: object) -> Any:
        [result] = self.client.do_action(flight.Action(name, json.dumps(body).encode()))
        return json.loads(result.body.to_pybytes())

    def read(self, **ticket: object) -> list[dict[str, Any]]:
        return self.client.do_get(flight.Ticket(json.dumps(ticket).encode())).read_all().to_pylist()

    def vectors(self, rows: int, dim: int, elements: str) -> numpy.ndarray:
        low, high = {"int8": (-128, 128), "uint8": (0, 256), "binary": (0, 2)}.get(elements, (-500, 500))
        whole = self.numbers.integers(low, high, (rows, dim))
        # Sixteenths: both floats hold them.
        return (whole / 16).astype("f4") if elements in ("f32", "f16") else whole.astype("f4")

    def records(self) -> list[dict[str, Any]]:
        ids = self.dice.sample(range(IDS), self.dice.randint(1, 40))
        vectors = self.vectors(len(ids), DIM, self.elements)
        titles = self.vectors(len(ids), 4, "int8")
        made = []
        for at, number in enumerate(ids):
            payload: dict[str, Any] = {"year": self.dice.randint(2019, 2026)}
            if self.dice.random() < 0.6:
                payload["team"] = self.dice.choice("abc")
                payload["tags"] = self.dice.sample(["x", "y", "z"], self.dice.randint(0, 3))
                payload["at"] = dt.datetime(2024, self.dice.randint(1, 12), 3, 4, 5, 6, 789, dt.timezone.utc)
            record: dict[str, Any] = {"id": f"{number % 7}-{number}", "payload": payload}
            if self.dice.random() < 0.8:
                record["vector"] = vectors[at].tolist()
            if self.dice.random() < 0.5:
                record["vectors"] = {"title": titles[at].tolist()}
            if self.dice.random() < 0.7:
                record["text"] = " ".join(self.dice.choices(WORDS, k=6))
                record["context"] = self.dice.choice(WORDS) if self.dice.random() < 0.3 else None
            made.append({name: value for name, value in record.items() if value is not None})
        return made

    def batch(self, records: list[dict[str, Any]]) -> Any:
        def column(of: Any, kind: Any) -> Any:
            return pyarrow.array([of(record) for record in records], kind)

        item, title = (getattr(pyarrow, name)() for name in (ELEMENTS[self.elements][0], "int8"))

        def cells(item: Any) -> Any:
            kind = item.to_pandas_dtype()
            return lambda vector: None if vector is None else numpy.asarray(vector, dtype=kind)

        cell, cell_of_title = cells(item), cells(title)
        return pyarrow.RecordBatch.from_pydict(
            {
                "id": column(lambda record: record["id"], pyarrow.string()),
                "text": column(lambda record: record.get("text"), pyarrow.string()),
                "context": column(lambda record: record.get("context"), pyarrow.string()),
                "vector": column(lambda record: cell(record.get("vector")), pyarrow.list_(item, DIM)),
                "title": column(
                    lambda record: cell_of_title(record.get("vectors", {}).get("title")), pyarrow.list_(title, 4)
                ),
                "year": column(lambda record: record["payload"]["year"], pyarrow.int32()),
                "team": column(lambda record: record["payload"].get("team"), pyarrow.string()),
                "tags": column(lambda record: record["payload"].get("tags"), pyarrow.list_(pyarrow.string())),
                "at": column(lambda record: record["payload"].get("at"), pyarrow.timestamp("us", "UTC")),
            }
        )

    def write(self) -> None:
        """One step of the history, through both doors."""
        what = self.dice.choices(["put", "ids", "where", "prefix"], [8, 3, 1, 1])[0]
        if what == "put":
            records = self.records()
            told = self.called.upsert(records, durability="os")
            batch = self.batch(records)
            target = flight.FlightDescriptor.for_command(json.dumps({"collection": "flown", "durability": "os"}))
            writer, reader = self.client.do_put(target, batch.schema)
            writer.write_batch(batch)
            said = json.loads(reader.read().to_pybytes())
            writer.done_writing()
            writer.close()
            assert (said["inserted"], said["replaced"]) == (told.inserted, told.replaced)
            return
        named: dict[str, Any] = {
            "ids": {"ids": [f"{number % 7}-{number}" for number in self.dice.sample(range(IDS), 5)]},
            "where": {"where": f"year = {self.dice.randint(2019, 2026)}"},
            "prefix": {"prefix": f"{self.dice.randint(0, 6)}-"},
        }[what]
        deleted = self.act("delete", collection="flown", durability="os", **named)["deleted"]
        assert deleted == self.called.delete(**named, durability="os")


def as_row(record: Any) -> dict[str, Any]:
    """A record of Python's as the row of a scan with all columns, its payload as values."""
    return {
        "id": record.id,
        "text": record.text,
        "context": record.context,
        "payload": plain(record.payload),
        "datetimes": ["at"] if isinstance(record.payload.get("at"), dt.datetime) else None,
        "vector": record.vector,
        "title": record.vectors.get("title"),
    }


def plain(payload: dict[str, Any]) -> dict[str, Any]:
    """As JSON has it: times are strings there."""
    spelt = {name: value.isoformat() if isinstance(value, dt.datetime) else value for name, value in payload.items()}
    return {name: value.replace("+00:00", "Z") if name == "at" else value for name, value in spelt.items()}


def scanned(collection: Any, where: str | None) -> list[Any]:
    page = collection.scan(where=where, limit=1000, include=["text", "payload", "vector"])
    assert page.cursor is None
    return list(page)


@contextlib.contextmanager
def doors(folder: Path, holder: str) -> Iterator[tuple[Any, nuthatch.Database]]:
    """A client of a server, and the same folder as Python has it; one of the two holds it for the other."""
    with contextlib.ExitStack() as stack:
        if holder == "python":
            db = stack.enter_context(nuthatch.connect(folder))
        server = stack.enter_context(serving(folder))
        if holder == "server":
            db = stack.enter_context(nuthatch.connect(folder))
        yield stack.enter_context(flight.connect(f"grpc://{server.address}")), db


@pytest.mark.parametrize(
    ("elements", "holder"), [*((elements, "server") for elements in ELEMENTS), ("f16", "python"), ("binary", "python")]
)
def test_flight_and_python_tell_the_same_of_one_history(folder, elements, holder):
    with doors(folder, holder) as (client, db):
        one_history(client, db, elements)


def one_history(client: Any, db: nuthatch.Database, elements: str) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    both = Both(client, db, elements, seed)
    for step in range(STEPS):
        both.write()
        if step % 10 == 9:
            scans_agree(both)
            searches_agree(both)
            questions_agree(both)
            about = both.act("stats", collection="flown")
            assert about["rows"] == len(both.called) == both.flown.info().rows


def scans_agree(both: Both) -> None:
    for where in CONDITIONS:
        expected = scanned(both.called, where)
        asked = {"where": where} if where else {}
        for name in ("flown", "called"):
            found = both.read(collection=name, **asked)
            for row in found:
                row["payload"] = json.loads(row["payload"] or "{}")
                # There is no such column before the first one.
                row.setdefault("datetimes", None)
            assert found == [as_row(record) for record in expected]
        # A column by itself is what it is among all.
        some = both.read(collection="flown", columns=["vector"], **asked)
        assert some == [{"vector": record.vector} for record in expected]
        some = both.read(collection="flown", columns=["title", "id"], batch_rows=7, **asked)
        assert some == [{"title": record.vectors.get("title"), "id": record.id} for record in expected]
        some = both.read(collection="flown", columns=["at", "year", "tags"], limit=11, **asked)
        for row in some:
            row["tags"] = None if row["tags"] is None else json.loads(row["tags"])
        wanted = [{name: record.payload.get(name) for name in ("at", "year", "tags")} for record in expected[:11]]
        assert some == wanted
        assert both.flown.count(where) == len(expected)


def searches_agree(both: Both) -> None:
    query = both.vectors(1, DIM, both.elements)[0].tolist()
    title = both.vectors(1, 4, "int8")[0].tolist()
    for asked in [
        {"text": "heron nest"},
        {"vector": query, "limit": 25},
        {"vector": title, "using": "title", "limit": 12},
        {"text": "reed", "vector": query, "where": "year >= 2021", "limit": 15},
        {"like": next(iter(both.called)).id, "where": "team = 'b'"} if len(both.called) else {"text": "bark"},
    ]:
        keywords: dict[str, Any] = dict(asked)
        try:
            expected = both.called.search(keywords.pop("text", None), **keywords, include=["text", "payload", "vector"])
        except nuthatch.NuthatchError as refused:
            with pytest.raises(pyarrow.ArrowException, match=str(refused).partition(":")[0][:20]):
                both.read(collection="flown", search=asked)
            continue
        columns = ["id", "score", "text", "payload", "vector", "title"]
        found = both.read(collection="flown", search=asked, columns=columns)
        assert [(row["id"], row["text"], row["vector"], row["title"]) for row in found] == [
            (hit.id, hit.text, hit.vector, hit.vectors.get("title")) for hit in expected
        ]
        assert [row["score"] for row in found] == pytest.approx([hit.score for hit in expected])
        assert [json.loads(row["payload"] or "{}") for row in found] == [plain(hit.payload) for hit in expected]


def questions_agree(both: Both) -> None:
    """Vectors of every width that a batch may hold, many at a time."""
    queries = both.vectors(9, DIM, both.elements)
    expected = both.called.search_many(vectors=queries, limit=5, where="year >= 2020")
    for item in ELEMENTS[both.elements]:
        kind = getattr(pyarrow, item)()
        values = pyarrow.array(queries.reshape(-1).astype(kind.to_pandas_dtype()), kind)
        batch = pyarrow.RecordBatch.from_pydict({"vector": pyarrow.FixedSizeListArray.from_arrays(values, DIM)})
        command = {"collection": "flown", "search": {"limit": 5, "where": "year >= 2020"}}
        writer, reader = both.client.do_exchange(flight.FlightDescriptor.for_command(json.dumps(command)))
        writer.begin(batch.schema)
        writer.write_batch(batch)
        found = reader.read_chunk().data.to_pylist()
        writer.done_writing()
        writer.close()
        wanted = [(number, hit.id) for number, hits in enumerate(expected) for hit in hits]
        assert [(row["query"], row["id"]) for row in found] == wanted
        assert [row["score"] for row in found] == pytest.approx([hit.score for hits in expected for hit in hits])
