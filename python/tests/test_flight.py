"""Arrow Flight: what `nuthatch serve` promises to clients of pyarrow.flight."""

from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from serving import Server, command, serving

import nuthatch

pyarrow = pytest.importorskip("pyarrow")
flight = pytest.importorskip("pyarrow.flight")

DIM = 8


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    with serving(folder) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[flight.FlightClient]:
    with connect(server) as client:
        yield client


def connect(server: Server) -> flight.FlightClient:
    return flight.connect(f"grpc://{server.address}")


def with_key(token: str) -> flight.FlightCallOptions:
    return flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {token}".encode())])


def act(client: flight.FlightClient, name: str, body: object = None, options: object = None) -> dict:
    action = flight.Action(name, b"" if body is None else json.dumps(body).encode())
    [result] = client.do_action(action, options)
    return json.loads(result.body.to_pybytes())


def create(client: flight.FlightClient, name: str = "docs", **options: object) -> None:
    act(client, "create", {"collection": name, "dim": DIM, "embedder": "none", **options})


def path(name: str = "docs") -> flight.FlightDescriptor:
    return flight.FlightDescriptor.for_path(name)


def vectors(count: int, first: int = 0, item: object = None, dim: int = DIM) -> pyarrow.Array:
    """Whole numbers, so that every type holds them."""
    item = item or pyarrow.float32()
    values = (numpy.arange(first * dim, (first + count) * dim) * 31 % 97).astype(item.to_pandas_dtype())
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values, item), dim)


def batch(count: int, first: int = 0, **more: object) -> pyarrow.RecordBatch:
    columns = {
        "id": pyarrow.array(range(first, first + count), pyarrow.int64()),
        "vector": vectors(count, first),
        **more,
    }
    return pyarrow.RecordBatch.from_pydict(columns)


def put(client: flight.FlightClient, batches: list, descriptor: object = None, options: object = None) -> list[dict]:
    """Writes batches one after the other, each acknowledged before the next."""
    acknowledged = []
    writer, reader = client.do_put(descriptor or path(), batches[0].schema, options)
    try:
        for one in batches:
            writer.write_batch(one)
            acknowledged.append(json.loads(reader.read().to_pybytes()))
        writer.done_writing()
        assert reader.read() is None
    finally:
        writer.close()
    return acknowledged


def get(client: flight.FlightClient, options: object = None, **ticket: object) -> pyarrow.Table:
    ticket = {"collection": "docs", **ticket}
    return client.do_get(flight.Ticket(json.dumps(ticket).encode()), options).read_all()


def rows(client: flight.FlightClient, name: str = "docs") -> int:
    return act(client, "stats", {"collection": name})["rows"]


def test_every_batch_is_acknowledged_with_its_number_and_rows(client):
    create(client)
    said = put(client, [batch(3), batch(2, 2), batch(0), batch(1, 9)])
    assert [one["sequence"] for one in said] == [1, 2, 3, 4]
    assert [(one["rows"], one["inserted"], one["replaced"]) for one in said] == [
        (3, 3, 0), (2, 1, 1), (0, 0, 0), (1, 1, 0),
    ]  # fmt: skip
    assert rows(client) == 5


@pytest.mark.parametrize("elements", ["f32", "f16", "int8", "uint8"])
@pytest.mark.parametrize("item", ["float32", "float16", "int8", "uint8"])
def test_vectors_of_every_type_come_back_as_the_collection_stores_them(client, elements, item):
    create(client, elements=elements, metric="l2")
    sent = vectors(5, item=getattr(pyarrow, item)())
    put(client, [pyarrow.RecordBatch.from_pydict({"id": list("abcde"), "vector": sent})])
    found = get(client, columns=["vector"])
    stored = {"f32": "float", "f16": "halffloat", "int8": "int8", "uint8": "uint8"}[elements]
    assert str(found.schema.field("vector").type.value_type) == stored
    assert found["vector"].to_pylist() == sent.to_pylist()


def test_all_columns_come_back_and_what_was_read_can_be_written(client, server):
    create(client, vectors={"title": {"dim": 4}})
    moment = dt.datetime(2025, 1, 2, 3, 4, 5, 678901, dt.timezone.utc)
    sent = pyarrow.RecordBatch.from_pydict(
        {
            "id": pyarrow.array(["a", "b"], pyarrow.large_string()),
            "text": pyarrow.array(["hello world", None], pyarrow.string_view()),
            "context": ["Greetings", None],
            "vector": vectors(2),
            "title": pyarrow.array([None, [1, 2, 3, 4]], pyarrow.list_(pyarrow.float16(), 4)),
            "payload": [None, '{"mixed": 1}'],
            "mixed": ["text", None],
            "year": [2024, None],
            "score_of": [0.5, None],
            "done": [True, None],
            "at": pyarrow.array([moment, None], pyarrow.timestamp("us", "UTC")),
            "tags": [["x", "y"], None],
            "by": [{"name": "anna"}, None],
        }
    )
    put(client, [sent])
    found = get(client)
    assert found.column_names == ["id", "text", "context", "payload", "datetimes", "vector", "title"]
    assert found["datetimes"].to_pylist() == [["at"], None]
    assert json.loads(found["payload"][0].as_py()) == {
        "mixed": "text", "year": 2024, "score_of": 0.5, "done": True,
        "at": "2025-01-02T03:04:05.678901Z", "tags": ["x", "y"], "by": {"name": "anna"},
    }  # fmt: skip
    assert found["text"].to_pylist() == ["hello world", None]
    assert found["context"].to_pylist() == ["Greetings", None]
    assert found["vector"].to_pylist() == vectors(2).to_pylist()
    assert found["title"].to_pylist() == [None, [1, 2, 3, 4]]
    names = ["id", "year", "score_of", "done", "at", "tags", "mixed"]
    typed = get(client, columns=names)
    assert [str(kind) for kind in typed.schema.types] == [
        "string", "int64", "double", "bool", "timestamp[us, tz=UTC]", "string", "string",
    ]  # fmt: skip
    assert typed.to_pylist()[0] == {
        "id": "a", "year": 2024, "score_of": 0.5, "done": True, "at": moment,
        "tags": '["x","y"]', "mixed": '"text"',
    }  # fmt: skip
    create(client, "copy", vectors={"title": {"dim": 4}})
    put(client, found.to_batches(), path("copy"))
    assert get(client, collection="copy").equals(found)
    with nuthatch.connect(command_folder(server)) as db:
        assert db.collection("docs").get("b").payload == {"mixed": 1}


def kinds_of_values() -> list[dict]:
    """Payloads with a value of each kind in a field of its own, and with all kinds in one field."""
    moment = dt.datetime(2025, 1, 2, 3, 4, 5, 678901, dt.timezone.utc)
    kinds = {
        "bool": True, "int": 2**53 + 1, "float": -0.1, "whole": 3.0, "text": "1", "like_time": "2025-01-02T00:00:00Z",
        "datetime": moment, "bools": [True], "ints": [1, 2**63 - 1], "floats": [1.0], "texts": ["a", "b"],
        "times": [moment, "2025-01-02T00:00:00Z", None], "nothing": [], "map": {"inner": {"at": moment}}, "empty": {},
        "null": None, "score": 9.5, "query": "q", "id": 1, "code": True, "datetimes": ["text"],
    }  # fmt: skip
    return [kinds, {}, *({"mixed": value} for value in kinds.values() if value is not None)]


@pytest.mark.parametrize("by_fields", [False, True], ids=["payload", "fields"])
def test_values_of_every_kind_are_read_and_written_back_as_they_are(client, server, by_fields):
    create(client)
    create(client, "copy")
    with nuthatch.connect(f"http://{server.address}") as db:
        docs, copy = db.collection("docs"), db.collection("copy")
        docs.upsert([{"id": str(at), "text": "x", "payload": value} for at, value in enumerate(kinds_of_values())])
        columns = ["id", "text", "payload", "datetimes"]
        if by_fields:
            fields = [name for name in act(client, "stats", {"collection": "docs"})["fields"] if "." not in name]
            assert len(fields) == 22
            columns = ["id", "text", "datetimes", *(f"payload.{name}" for name in fields)]
        put(client, get(client, columns=columns).combine_chunks().to_batches(), path("copy"))
        ids = [str(at) for at in range(len(kinds_of_values()))]
        for id in ids:
            found = copy.get(id)
            assert found is not None and found.payload == kinds_of_values()[int(id)]
            assert repr(found.payload) == repr(docs.get(id).payload), "1 is not 1.0"
        stats = [act(client, "stats", {"collection": name})["fields"] for name in ("docs", "copy")]
        assert stats[0] == stats[1]
        for condition in [
            "datetime > timestamp '2025-01-01'", "texts contains 'a'", "int = 9007199254740993", "mixed = 1",
            "mixed > 2.5", "mixed contains 'b'", "map.inner.at < timestamp '2026-01-01'", "score = 9.5", "query = 'q'",
            "times contains timestamp '2025-01-02 03:04:05.678901'", '"null" is null', "mixed = '1'",
        ]:  # fmt: skip
            hits = [get(client, collection=name, columns=["id"], where=condition) for name in ("docs", "copy")]
            assert hits[0].num_rows > 0, condition
            assert sorted(hits[0]["id"].to_pylist()) == sorted(hits[1]["id"].to_pylist()), condition


def test_a_search_answer_is_written_back_without_its_score(client):
    create(client)
    sent = pyarrow.record_batch({"id": ["a"], "text": ["bird"], "score": [9.5], "query": ["q"], "other": [1]})
    put(client, [sent])
    expected = {"score": 9.5, "query": "q", "other": 1}
    assert json.loads(get(client)["payload"][0].as_py()) == expected
    found = get(client, search={"text": "bird"})
    assert found["score"][0].as_py() != 9.5
    put(client, found.to_batches())
    assert json.loads(get(client)["payload"][0].as_py()) == expected
    named = get(client, search={"text": "bird"}, columns=["id", "text", "score", "payload.score", "query", "other"])
    assert named["payload.score"].to_pylist() == [9.5]
    put(client, named.to_batches())
    assert json.loads(get(client)["payload"][0].as_py()) == expected


def test_payloads_read_without_their_datetimes_are_not_written_as_texts(client):
    create(client)
    at = pyarrow.array([dt.datetime(2025, 1, 2)], pyarrow.timestamp("us", "UTC"))
    put(client, [pyarrow.record_batch({"id": ["a"], "at": at})])
    with pytest.raises(pyarrow.ArrowInvalid, match="read without.*datetimes"):
        put(client, get(client, columns=["id", "payload"]).to_batches())
    put(client, get(client, columns=["id", "at"]).to_batches())
    assert act(client, "stats", {"collection": "docs"})["fields"] == {"at": ["datetime"]}


def test_times_that_do_not_fit_are_refused_and_dates_are_taken(client):
    create(client)
    with pytest.raises(pyarrow.ArrowInvalid, match=r'"at": row 0.*timestamp\[us\]'):
        put(client, [pyarrow.record_batch({"id": ["a"], "at": pyarrow.array([1_234_567], pyarrow.timestamp("ns"))})])
    whole = pyarrow.array([1_234_000], pyarrow.timestamp("ns"))
    day = pyarrow.array([dt.date(2025, 1, 1)], pyarrow.date64())
    put(client, [pyarrow.record_batch({"id": ["a"], "at": whole, "day": day})])
    [row] = get(client, columns=["at", "day"]).to_pylist()
    assert row == {
        "at": dt.datetime(1970, 1, 1, 0, 0, 0, 1234, dt.timezone.utc),
        "day": dt.datetime(2025, 1, 1, tzinfo=dt.timezone.utc),
    }


def test_small_batches_that_nobody_waits_for_are_slowed_down_and_all_stored(client):
    create(client)
    schema = pyarrow.schema([("id", pyarrow.string()), ("text", pyarrow.string())])
    command = flight.FlightDescriptor.for_command(json.dumps({"collection": "docs", "durability": "os"}))
    writer, reader = client.do_put(command, schema)
    for id in range(9000):
        writer.write_batch(pyarrow.record_batch([[str(id)], ["t"]], schema=schema))
    writer.done_writing()
    said = 0
    while reader.read() is not None:
        said += 1
    writer.close()
    assert said == rows(client) == 9000


def command_folder(server: Server) -> Path:
    arguments = server.process.args
    return Path(arguments[arguments.index("--data-dir") + 1])


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"id": ["a"], "vector": vectors(1, dim=4)}, "has 4 components"),
        ({"id": ["a"], "vector": pyarrow.array([["x"] * DIM])}, "whole numbers"),
        ({"id": ["a"], "vector": ["x"]}, "lists of numbers"),
        ({"id": ["a"], "text": [1]}, "strings"),
        ({"vector": vectors(1)}, "no column"),
        ({"id": [0.5]}, "strings"),
        ({"id": ["a"], "price": pyarrow.array([1], pyarrow.decimal128(5))}, "float64"),
        ({"id": ["a"], "n": pyarrow.array([5]).dictionary_encode()}, "cast it to its values"),
    ],
)
def test_a_schema_that_does_not_fit_is_refused_before_any_row(client, columns, why):
    create(client)
    with pytest.raises(pyarrow.ArrowInvalid, match=why):
        put(client, [pyarrow.RecordBatch.from_pydict(columns)])
    assert rows(client) == 0


@pytest.mark.parametrize(
    "array",
    [
        lambda rows: pyarrow.array(rows, pyarrow.list_(pyarrow.float64())),
        lambda rows: pyarrow.array(rows, pyarrow.large_list(pyarrow.float32())),
        lambda rows: pyarrow.array(rows, pyarrow.list_(pyarrow.float64(), DIM)),
        lambda rows: pyarrow.array(rows, pyarrow.list_(pyarrow.int64())),
    ],
)
def test_vectors_of_other_types_are_read_as_float32_with_a_note(client, array):
    create(client)
    wanted = vectors(5).to_pylist()
    said = put(client, [pyarrow.RecordBatch.from_pydict({"id": list("abcde"), "vector": array(wanted)})])
    assert get(client, columns=["vector"])["vector"].to_pylist() == wanted
    is_cast = "float" not in str(array(wanted).type.value_type) or "double" in str(array(wanted).type.value_type)
    assert (["float32" in note for note in said[0].get("notes", [])]) == ([True] if is_cast else [])


def test_lists_of_another_length_are_refused_and_nothing_is_stored(client):
    create(client)
    uneven = pyarrow.RecordBatch.from_pydict({"id": ["a", "b"], "vector": [[1.0] * DIM, [1.0] * (DIM - 1)]})
    with pytest.raises(pyarrow.ArrowInvalid, match=f"{DIM - 1} dimensions"):
        put(client, [uneven])
    assert rows(client) == 0


def test_a_table_of_pandas_with_categories_comes_as_it_is(client):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "id": range(200),
            "colour": pandas.Categorical(["red", "blue", None, "red"] * 50),
            "text": ["a bird"] * 200,
            "vector": [numpy.full(DIM, at + 1.0) for at in range(200)],
        }
    )
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    assert pyarrow.types.is_dictionary(table.schema.field("colour").type)
    command = flight.FlightDescriptor.for_command(json.dumps({"collection": "made", "create": True}))
    said = put(client, table.to_batches(max_chunksize=70), command)
    assert [answer["inserted"] for answer in said] == [70, 70, 60]
    found = get(client, collection="made", columns=["id", "colour", "vector"]).to_pydict()
    at = found["id"].index("101")
    assert (found["colour"][at], found["vector"][at]) == ("blue", [102.0] * DIM)
    assert found["colour"].count(None) == 50
    some = get(client, collection="made", columns=["id"], where="colour = 'red'")
    assert some.num_rows == 100


def test_a_stream_that_no_collection_can_hold_creates_none(client):
    command = flight.FlightDescriptor.for_command(json.dumps({"collection": "made", "create": True}))
    with pytest.raises(pyarrow.ArrowInvalid, match="no column"):
        put(client, [pyarrow.RecordBatch.from_pydict({"vector": vectors(1)})], command)
    with pytest.raises(pyarrow.ArrowKeyError):
        get(client, collection="made")


def test_a_bad_batch_is_refused_whole_and_what_was_acknowledged_stays(client):
    create(client)
    nothing = pyarrow.array([None] * 4, pyarrow.string())
    bad = batch(3, 10, payload=['{"n": 1}', "[]", None])
    good = [batch(4, payload=nothing), batch(2, 4, payload=nothing[:2])]
    with pytest.raises(pyarrow.ArrowInvalid, match="batch 3 of the stream.*row 1.*JSON object"):
        put(client, [*good, bad, batch(1, 20, payload=nothing[:1])])
    assert sorted(get(client)["id"].to_pylist()) == [str(id) for id in range(6)]
    with pytest.raises(pyarrow.ArrowInvalid, match="NaN"):
        broken = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array([float("nan")] * DIM, pyarrow.float32()), DIM)
        put(client, [pyarrow.RecordBatch.from_pydict({"id": ["x"], "vector": broken})])
    with pytest.raises(pyarrow.ArrowKeyError, match="no collection"):
        put(client, [batch(1)], path("elsewhere"))
    assert rows(client) == 6


CLIENT = """
import json, sys
import pyarrow, pyarrow.flight as flight
address, first = sys.argv[1], int(sys.argv[2])
client = flight.connect(f"grpc://{address}")
schema = pyarrow.schema([("id", pyarrow.int64()), ("vector", pyarrow.list_(pyarrow.float32(), 8))])
writer, reader = client.do_put(flight.FlightDescriptor.for_path("docs"), schema)
while True:
    ids = list(range(first, first + 50))
    rows = pyarrow.array([[float(id)] * 7 + [1.0] for id in ids], schema.field("vector").type)
    writer.write_batch(pyarrow.record_batch([pyarrow.array(ids), rows], schema=schema))
    said = json.loads(reader.read().to_pybytes())
    assert said["rows"] == 50
    first += 50
    print(first, flush=True)
"""


def writing(server: Server, first: int = 0) -> subprocess.Popen:
    arguments = [sys.executable, "-c", CLIENT, server.address, str(first)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def test_what_a_killed_client_was_told_is_there_and_whole(client, server):
    create(client)
    writer = writing(server)
    told = [int(writer.stdout.readline()) for _ in range(4)]
    writer.kill()
    told += [int(line) for line in writer.communicate()[0].split()]
    # The batch that was under way is there whole, or not at all.
    assert rows(client) in (told[-1], told[-1] + 50)
    put(client, [batch(1, 10_000)])


def test_killing_the_server_loses_nothing_that_was_acknowledged(folder):
    with serving(folder) as server:
        with connect(server) as client:
            create(client)
        writers = [writing(server, first) for first in (0, 1_000_000)]
        for _ in range(5):
            for writer in writers:
                writer.stdout.readline()
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        told = [[int(line) for line in writer.communicate()[0].split()][-1:] for writer in writers]
    with serving(folder) as server, connect(server) as client:
        there = set(map(int, get(client, columns=["id"])["id"].to_pylist()))
        for last, first in zip(told, (0, 1_000_000), strict=True):
            assert there.issuperset(range(first, last[0] if last else first + 250))
        assert len(there) % 50 == 0, "a batch is there in part"
        assert server.stop() == 0


def test_a_message_that_is_too_large_is_refused_and_costs_no_memory(folder):
    with serving(folder, "--body-max", "1MiB") as server, connect(server) as client:
        create(client)
        before = server.resident_bytes()
        for _ in range(3):
            with pytest.raises(pyarrow.ArrowException):
                put(client, [batch(2_000_000)])
        assert server.resident_bytes() - before < 40 << 20
        put(client, [batch(1000)])
        assert rows(client) == 1000


def test_bytes_of_all_streams_together_are_bounded(folder):
    with serving(folder, "--body-max", "8MiB", "--bodies-memory", "1MiB") as server, connect(server) as client:
        create(client)
        with pytest.raises(pyarrow.ArrowException, match="memory"):
            put(client, [batch(100_000)])
        # The refused data has given its memory back.
        for first in range(0, 100_000, 20_000):
            put(client, [batch(20_000, first)])
        assert rows(client) == 100_000


def test_a_client_that_does_not_wait_is_slowed_down_and_told_everything(client, server):
    create(client)
    writer, reader = client.do_put(path(), batch(1).schema)
    said: list[dict] = []

    def read() -> None:
        while (answer := reader.read()) is not None:
            said.append(json.loads(answer.to_pybytes()))

    thread = threading.Thread(target=read)
    thread.start()
    for first in range(0, 30_000, 500):
        writer.write_batch(batch(500, first))
    writer.done_writing()
    thread.join(timeout=120)
    writer.close()
    assert [one["sequence"] for one in said] == list(range(1, 61))
    assert rows(client) == 30_000


def test_a_scan_shows_one_moment_and_only_what_was_asked_for(client):
    create(client)
    put(client, [batch(3000, year=pyarrow.array(range(3000)), m=pyarrow.array([{"a": 1}] * 3000))])
    reader = client.do_get(flight.Ticket(json.dumps({"collection": "docs", "batch_rows": 100}).encode()))
    first = reader.read_chunk().data
    assert 0 < first.num_rows <= 100
    act(client, "delete", {"collection": "docs", "where": "year >= 1000"})
    assert first.num_rows + reader.read_all().num_rows == 3000
    assert rows(client) == 1000
    some = get(client, columns=["year", "id"], where="year >= 990 and year < 2000")
    assert some.column_names == ["year", "id"]
    assert some.to_pylist() == [{"year": year, "id": str(year)} for year in range(990, 1000)]
    assert get(client, limit=7).num_rows == 7
    assert get(client, where="year < 0").num_rows == 0
    for wrong, why in [
        ({"columns": ["nothing"]}, "no column.*there are: id"),
        ({"where": "yeer > 1"}, "yeer"),
        ({"where": "year >"}, "where|condition|expected"),
        ({"batch_rows": 0}, "batch_rows"),
        ({"unknown": 1}, "unknown"),
        ({"columns": ["m.a"]}, 'is inside "m"'),
    ]:
        with pytest.raises(pyarrow.ArrowInvalid, match=why):
            get(client, **wrong)
    with pytest.raises(pyarrow.ArrowKeyError):
        get(client, collection="elsewhere")


def test_searches_answer_as_the_embedded_engine_does(client, server):
    create(client)
    words = ["red apple", "green pear", "red brick", "blue sea"]
    put(client, [batch(400, text=pyarrow.array(words * 100), n=pyarrow.array(range(400)))])
    with nuthatch.connect(command_folder(server)) as db:
        docs = db.collection("docs")
        query = [float(x) for x in range(DIM)]
        for ours, theirs in [
            ({"text": "red"}, {"text": "red"}),
            ({"vector": query, "limit": 20}, {"vector": query, "limit": 20}),
            ({"text": "red", "vector": query, "where": "n < 50"}, {"text": "red", "vector": query, "where": "n < 50"}),
        ]:
            found = get(client, search=ours)
            assert found.column_names == ["id", "score", "text", "payload"]
            asked = dict(theirs)
            expected = docs.search(asked.pop("text", None), **asked)
            assert found["id"].to_pylist() == [hit.id for hit in expected]
            assert found["score"].to_pylist() == pytest.approx([hit.score for hit in expected])
    with_vectors = get(client, search={"text": "pear", "limit": 2}, columns=["id", "vector", "n"])
    assert with_vectors["vector"].to_pylist() == [
        vectors(1, int(id)).to_pylist()[0] for id in with_vectors["id"].to_pylist()
    ]
    with pytest.raises(pyarrow.ArrowInvalid, match="limitt"):
        get(client, search={"text": "red", "limitt": 1})
    with pytest.raises(pyarrow.ArrowInvalid, match="dimension"):
        get(client, search={"vector": [1.0]})
    for part in ({"explain": True}, {"include": ["text"]}, {"vector_format": "base64"}):
        with pytest.raises(pyarrow.ArrowInvalid, match=f"{next(iter(part))}.*no meaning"):
            get(client, search={"text": "red", **part})


def exchange(client: flight.FlightClient, batches: list, command: object = None) -> list[pyarrow.Table]:
    descriptor = flight.FlightDescriptor.for_command(json.dumps(command)) if command else path()
    writer, reader = client.do_exchange(descriptor)
    writer.begin(batches[0].schema)
    answers = []
    for one in batches:
        writer.write_batch(one)
        answers.append(pyarrow.Table.from_batches([reader.read_chunk().data]))
    writer.done_writing()
    writer.close()
    return answers


def test_batches_of_questions_are_answered_by_batches_of_hits(client):
    create(client, metric="l2")
    put(client, [batch(97, year=pyarrow.array(range(97)))])
    asked = [pyarrow.RecordBatch.from_pydict({"vector": vectors(5, first)}) for first in (0, 20)]
    first, second = exchange(client, asked)
    assert first.column_names == ["query", "id", "score"]
    assert first["query"].to_pylist() == [query for query in range(5) for _ in range(10)]
    assert second["query"][0].as_py() == 5
    best = [row["id"] for row in second.to_pylist() if row["score"] == 0.0]
    assert best == ["20", "21", "22", "23", "24"]
    [some] = exchange(
        client,
        [pyarrow.RecordBatch.from_pydict({"vector": vectors(3, item=pyarrow.float16())})],
        {"collection": "docs", "columns": ["id", "year"], "search": {"limit": 2, "where": "year > 50"}},
    )
    assert some.column_names == ["query", "id", "year"]
    assert some.num_rows == 6 and min(some["year"].to_pylist()) > 50
    with pytest.raises(pyarrow.ArrowInvalid, match="dimension"):
        exchange(client, [pyarrow.RecordBatch.from_pydict({"vector": vectors(1, dim=4)})])
    for part in ({"vector": [1.0] * DIM}, {"text": "red"}, {"explain": True}):
        with pytest.raises(pyarrow.ArrowInvalid, match=f"{next(iter(part))}.*no meaning"):
            exchange(client, asked, {"collection": "docs", "search": part})
    with pytest.raises(pyarrow.ArrowInvalid, match="1000 at a time"):
        exchange(client, [pyarrow.RecordBatch.from_pydict({"vector": vectors(1001)})])


def test_collections_are_listed_with_their_schemas(client):
    create(client, "one")
    create(client, "two")
    put(client, [batch(3)], path("two"))
    assert [info.descriptor.path for info in client.list_flights()] == [[b"one"], [b"two"]]
    assert [info.total_records for info in client.list_flights(b'{"rows_min": 1}')] == [3]
    assert [info.descriptor.path for info in client.list_flights(b'{"name": "on"}')] == [[b"one"]]
    info = client.get_flight_info(path("two"))
    assert (info.total_records, info.schema) == (3, client.get_schema(path("two")).schema)
    assert client.do_get(info.endpoints[0].ticket).read_all().schema.equals(info.schema)
    ticket = {"collection": "two", "search": {"vector": [1.0] * DIM, "limit": 2}, "columns": ["id"]}
    of_search = client.get_flight_info(flight.FlightDescriptor.for_command(json.dumps(ticket)))
    assert client.do_get(of_search.endpoints[0].ticket).read_all().num_rows == 2
    act(client, "snapshot", {"name": "three"})
    act(client, "delete", {"collection": "two", "ids": ["1"]})
    for ticket, count in [({}, 2), ({"snapshot": "three"}, 3), ({"snapshot": "three", "limit": 1}, 1)]:
        command = flight.FlightDescriptor.for_command(json.dumps({"collection": "two", **ticket}))
        assert (
            client.get_flight_info(command).total_records == get(client, collection="two", **ticket).num_rows == count
        )
    put(client, [batch(1, 7, n=pyarrow.array([1]))], path("two"))
    known = flight.FlightDescriptor.for_command(b'{"collection": "two", "where": "n = 1"}')
    assert client.get_flight_info(known).total_records == 1
    for wrong in (
        flight.FlightDescriptor.for_path("one", "two"),
        flight.FlightDescriptor.for_command(b"{}"),
        flight.FlightDescriptor.for_command(b'{"collection": "two", "where": "m = 1"}'),
        flight.FlightDescriptor.for_command(b'{"collection": "two", "search": {"text": "x", "where": "m = 1"}}'),
    ):
        with pytest.raises(pyarrow.ArrowInvalid):
            client.get_flight_info(wrong)
    with pytest.raises(pyarrow.ArrowKeyError, match="no collection"):
        client.get_flight_info(path("three"))


def test_actions_do_what_they_say(client):
    known = [action.type for action in client.list_actions()]
    assert known == [
        "create",
        "drop",
        "delete",
        "add_edges",
        "traverse",
        "stats",
        "snapshot",
        "release",
        "readiness",
        "count",
        "facets",
        "duplicates",
    ]
    create(client)
    put(client, [batch(10, year=pyarrow.array(range(10)))])
    assert act(client, "delete", {"collection": "docs", "ids": ["0", "1", "none"]}) == {"deleted": 2}
    assert act(client, "delete", {"collection": "docs", "where": "year = 2"}) == {"deleted": 1}
    assert act(client, "delete", {"collection": "docs", "prefix": "3"}) == {"deleted": 1}
    assert act(client, "stats")["collections"][0]["rows"] == 6
    assert act(client, "readiness") == {"ready": True}
    assert act(client, "readiness", {"collection": "docs"})["fresh_rows"] >= 0
    assert act(client, "snapshot", {"name": "before"})["name"] == "before"
    assert act(client, "drop", {"collection": "docs"}) == {"dropped": True}
    for name, body in [("delete", {"collection": "docs"}), ("create", {"collection": "x", "dimm": 1}), ("drop", {})]:
        with pytest.raises(pyarrow.ArrowException):
            act(client, name, body)
    with pytest.raises(pyarrow.ArrowNotImplementedError, match="there are: create"):
        act(client, "explode")


def test_edges_are_added_whole_and_traversed(client):
    edges = [
        {"source": "a", "type": "links", "target": "b", "weight": 2.5},
        {"source": "b", "type": "x", "target": "c"},
    ]
    nodes = [{"id": "a", "type": "page", "properties": {"n": 1}}]
    assert act(client, "add_edges", {"graph": "web", "edges": edges, "nodes": nodes}) == {"nodes": 1, "edges": 2}
    for wrong in [{"id": "z", "type": "page"}, {"source": "z", "type": "", "target": "a"}, {"source": "z"}]:
        with pytest.raises(pyarrow.ArrowInvalid, match=r"edges\[1\]"):
            act(client, "add_edges", {"graph": "web", "edges": [{"source": "z", "type": "x", "target": "a"}, wrong]})
    via = {"source": "a", "type": "links", "target": "b", "weight": 2.5}
    found = act(client, "traverse", {"graph": "web", "start": ["a"], "max_depth": 1})
    assert found == {
        "nodes": [{"id": "a", "depth": 0, "via": None}, {"id": "b", "depth": 1, "via": via}],
        "truncated": False,
    }
    found = act(client, "traverse", {"graph": "web", "start": ["c"], "direction": "in", "types": ["x"], "limit": 2})
    assert [node["id"] for node in found["nodes"]] == ["c", "b"]
    found = act(client, "traverse", {"graph": "web", "start": ["a"], "direction": "in"})
    assert [node["id"] for node in found["nodes"]] == ["a"], "nothing of what was refused is there"
    with pytest.raises(pyarrow.ArrowKeyError, match="no graph"):
        act(client, "traverse", {"graph": "none", "start": ["a"]})


def test_reads_of_one_snapshot_show_one_moment(client):
    create(client)
    put(client, [batch(10)])
    act(client, "snapshot", {"name": "ten"})
    put(client, [batch(10, 10)])
    act(client, "delete", {"collection": "docs", "ids": ["3"]})
    assert get(client, snapshot="ten").num_rows == 10
    assert get(client, snapshot="ten", search={"vector": [1.0] * DIM, "limit": 50}).num_rows == 10
    assert get(client).num_rows == 19
    with pytest.raises(pyarrow.ArrowException, match="already"):
        act(client, "snapshot", {"name": "ten"})
    assert act(client, "release", {"name": "ten"}) == {"released": True}
    with pytest.raises(pyarrow.ArrowKeyError, match="ten"):
        get(client, snapshot="ten")


def test_keys_open_their_tenant_and_allow_their_scopes(folder):
    command(folder, "tenant", "create", "amber")
    token = {
        name: command(folder, "key", "create", name, "--tenant", tenant, *scopes)
        for name, tenant, scopes in [
            ("admin", "default", ["--scope", "admin"]),
            ("reader", "default", ["--scope", "read"]),
            ("writer", "default", ["--scope", "write"]),
            ("amber", "amber", ["--scope", "admin"]),
        ]
    }
    with serving(folder) as server, connect(server) as client:
        admin, reader, writer, amber = (with_key(token[name]) for name in token)
        act(client, "create", {"collection": "docs", "dim": DIM, "embedder": "none"}, admin)
        put(client, [batch(3)], options=writer)
        for call in (
            lambda: list(client.list_flights()),
            lambda: get(client),
            lambda: put(client, [batch(1)]),
            lambda: act(client, "stats"),
            lambda: list(client.list_actions()),
            lambda: get(client, with_key("nht_wrong")),
        ):
            with pytest.raises(flight.FlightUnauthenticatedError):
                call()
        for call in (
            lambda: put(client, [batch(1)], options=reader),
            lambda: get(client, writer),
            lambda: act(client, "drop", {"collection": "docs"}, reader),
            lambda: act(client, "stats", None, reader),
            lambda: act(client, "stats", None, amber),
        ):
            with pytest.raises(flight.FlightUnauthorizedError):
                call()
        assert get(client, reader).num_rows == 3
        act(client, "snapshot", {"name": "theirs"}, admin)
        # Another tenant's data is not there, whatever it is called by.
        assert list(client.list_flights(b"", amber)) == []
        for ticket in ({}, {"snapshot": "theirs"}):
            with pytest.raises(pyarrow.ArrowKeyError):
                get(client, amber, **ticket)
        with pytest.raises(pyarrow.ArrowKeyError):
            put(client, [batch(1)], options=amber)
        act(client, "create", {"collection": "docs", "dim": DIM, "embedder": "none"}, amber)
        put(client, [batch(1, 77)], options=amber)
        assert get(client, amber)["id"].to_pylist() == ["77"]
        assert get(client, reader).num_rows == 3
        act(client, "drop", {"collection": "docs"}, admin)
        audit = urllib.request.Request(
            f"http://{server.address}/v1/audit", headers={"authorization": f"Bearer {token['admin']}"}
        )
        with urllib.request.urlopen(audit, timeout=60) as answer:
            drops = [entry for entry in json.load(answer)["entries"] if entry["action"] == "collection.drop"]
        told = {(entry["face"], entry["target"], entry["who"]["name"], entry["outcome"]) for entry in drops}
        assert told == {("grpc", "docs", "reader", "refused"), ("grpc", "docs", "admin", "done")}
        server.stop()
        command(folder, "tenant", "limits", "amber", "--requests-per-second", "1")
    too_many = pytest.raises(pyarrow.ArrowException, match="requests a second")
    with serving(folder) as server, connect(server) as client, too_many:
        for _ in range(50):
            get(client, with_key(token["amber"]))


def test_sixteen_writers_and_searchers_at_a_time_all_get_their_answers(client, server):
    create(client)
    put(client, [batch(200)])
    failed: list[str] = []

    def write(number: int) -> None:
        with connect(server) as own:
            said = put(own, [batch(50, 1000 * number + 50 * turn) for turn in range(10)])
            assert sum(one["inserted"] for one in said) == 500

    def search(number: int) -> None:
        with connect(server) as own:
            for turn in range(10):
                hits = get(own, search={"vector": [1.0 + number, *[float(turn)] * (DIM - 1)], "limit": 5})
                assert hits.num_rows == 5

    def guarded(work, number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failed.append(f"{work.__name__} {number}: {error}")

    threads = [
        threading.Thread(target=guarded, args=(work, number)) for number in range(1, 17) for work in (write, search)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert failed == []
    assert rows(client) == 200 + 16 * 500


def test_stopping_ends_streams_that_wait_for_their_client(folder):
    with serving(folder) as server, connect(server) as client:
        create(client)
        writer, reader = client.do_put(path(), batch(1).schema)
        writer.write_batch(batch(5))
        assert json.loads(reader.read().to_pybytes())["rows"] == 5
        assert server.stop() == 0
        with pytest.raises(pyarrow.ArrowException):
            reader.read()
            writer.write_batch(batch(5))
            writer.close()
