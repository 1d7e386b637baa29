"""Folders of other engines, made with their own packages, which need not be installed."""

from __future__ import annotations

import json
import signal
import sqlite3
import struct
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

import nuthatch
from nuthatch import importers

EXTRAS = "pip install chromadb lancedb qdrant-client qdrant-edge-py"


@pytest.fixture
def db():
    with nuthatch.connect(":memory:") as db:
        yield db


@pytest.mark.filterwarnings("default")
def test_a_folder_of_chroma(db, tmp_path):
    chromadb = pytest.importorskip("chromadb", reason=EXTRAS)
    client = chromadb.PersistentClient(str(tmp_path), settings=chromadb.Settings(anonymized_telemetry=False))
    notes = client.create_collection("notes", embedding_function=None, configuration={"hnsw": {"space": "ip"}})
    ids = [f"r{at}" for at in range(25)]
    vectors = [[at + 1.0, 0.5, -at] for at in range(25)]
    notes.add(
        ids=ids,
        embeddings=vectors,
        documents=[f"text {id}" for id in ids],
        metadatas=[{"n": at, "m.k": at / 2} for at in range(25)],
    )
    client.create_collection("bare", embedding_function=None).add(ids=["only"], embeddings=[[1.0, 2.0]])
    done = importers.chroma(tmp_path, db, batch=10)
    assert sorted(one[:2] for one in done) == [("bare", 1), ("notes", 25)]
    made = db.collection("notes")
    assert made.info().metric == "dot"
    found = made.get("r7", include=["text", "payload", "vector"])
    assert (found.text, found.payload, found.vector) == ("text r7", {"n": 7, "m": {"k": 3.5}}, [8.0, 0.5, -7.0])
    assert made.count("m.k >= 12") == 1
    assert db.collection("bare").info().metric == "l2"
    with pytest.raises(nuthatch.InvalidError, match="not empty"):
        importers.chroma(tmp_path, db, collections="notes")
    with pytest.raises(nuthatch.NotFoundError, match="letters"):
        importers.chroma(tmp_path, db, collections=["letters"])


@pytest.mark.filterwarnings("default")
def test_a_folder_of_lancedb(db, tmp_path):
    lancedb = pytest.importorskip("lancedb", reason=EXTRAS)
    when = datetime(2025, 1, 31, 12, tzinfo=timezone.utc)
    rows = [
        {"id": at, "vector": [at + 1.0, 2.0], "text": f"text {at}", "when": when, "tags": ["a", "b"], "meta": {"n": at}}
        for at in range(25)
    ]
    connection = lancedb.connect(str(tmp_path))
    connection.create_table("docs", rows)
    connection.create_table(
        "nameless", [{"embedding": [1.0, 2.0], "title": "x"}, {"embedding": [3.0, 4.0], "title": "y"}]
    )
    done = importers.lancedb(tmp_path, db, tables=["docs"], metric="l2", batch=10)
    assert done == [("docs", 25, {}, "collection")]
    found = db.collection("docs").get("7", include=["text", "payload", "vector"])
    assert (found.text, found.vector) == ("text 7", [8.0, 2.0])
    assert found.payload == {"when": when, "tags": ["a", "b"], "meta": {"n": 7}}
    assert db.collection("docs").info().metric == "l2"
    assert importers.lancedb(tmp_path, db, tables="nameless", vector="embedding", text="title")[0][:2] == (
        "nameless",
        2,
    )
    assert db.collection("nameless").get("1").text == "y"
    with pytest.raises(nuthatch.InvalidError, match="no column 'nothing'"):
        importers.lancedb(tmp_path, db, tables="nameless", text="nothing")


@pytest.mark.filterwarnings("default")
def test_a_folder_of_the_qdrant_client(db, tmp_path):
    package = pytest.importorskip("qdrant_client", reason=EXTRAS)
    models = package.models
    client = package.QdrantClient(path=str(tmp_path))
    client.create_collection("notes", vectors_config=models.VectorParams(size=2, distance=models.Distance.EUCLID))
    points = [
        models.PointStruct(id=at, vector=[at, 1.0], payload={"document": f"text {at}", "a": {"b": at}})
        for at in range(25)
    ]
    uuid = "5c56c793-69f3-4fbf-87e6-c4bf54c28c26"
    client.upsert("notes", [*points, models.PointStruct(id=uuid, vector=[-1.0, 1.0], payload=None)])
    both = {name: models.VectorParams(size=2, distance=models.Distance.DOT) for name in ("a", "b")}
    client.create_collection("named", vectors_config=both)
    client.upsert("named", [models.PointStruct(id=1, vector={"a": [1, 2], "b": [3, 4]}, payload={"text": "x"})])
    client.close()
    assert importers.qdrant(tmp_path, db, collections=["notes"], batch=10)[0][:2] == ("notes", 26)
    found = db.collection("notes").get("7", include=["text", "payload", "vector"])
    assert (found.text, found.payload, found.vector) == ("text 7", {"a": {"b": 7}}, [7.0, 1.0])
    assert db.collection("notes").get(uuid).payload == {}
    with pytest.raises(nuthatch.InvalidError, match="several vectors"):
        importers.qdrant(tmp_path, db, collections=["named"])
    assert importers.qdrant(tmp_path, db, collections=["named"], vector="b")[0][:2] == ("named", 1)
    assert db.collection("named").get("1", include=["text", "vector"]).vector == [3.0, 4.0]


@pytest.mark.filterwarnings("default")
def test_a_shard_of_qdrant_edge(db, tmp_path):
    edge = pytest.importorskip("qdrant_edge", reason=EXTRAS)
    folder = tmp_path / "shard"
    folder.mkdir()
    config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=2, distance=edge.Distance.Euclid))
    shard = edge.EdgeShard.create(str(folder), config)
    points = [edge.Point(at, [at, 1.0], {"text": f"text {at}", "n": at}) for at in range(25)]
    shard.update(edge.UpdateOperation.upsert_points(points))
    shard.flush()
    shard.close()
    assert importers.qdrant(folder, db, batch=10)[0][:2] == ("shard", 25)
    found = db.collection("shard").get("7", include=["text", "payload", "vector"])
    assert (found.text, found.payload, found.vector) == ("text 7", {"n": 7}, [7.0, 1.0])


def test_a_folder_that_is_not_there_or_of_something_else_is_refused(db, tmp_path, monkeypatch):
    for name in importers.__all__:
        if name != "Imported":
            with pytest.raises((nuthatch.NotFoundError, nuthatch.UnavailableError)):
                getattr(importers, name)(tmp_path / "missing", db)
    (tmp_path / "text").write_text("no database, no dump")
    for importer in (importers.sqlite_vec, importers.mneme, importers.gptcache):
        with pytest.raises(nuthatch.CorruptError, match="not a database"):
            importer(tmp_path / "text", db)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("create table t(x)")
    other.close()
    for importer in (importers.sqlite_vec, importers.mneme, importers.gptcache):
        with pytest.raises(nuthatch.InvalidError, match="no tables? of|no cache|no store"):
            importer(tmp_path / "other.db", db)
    with pytest.raises(nuthatch.InvalidError, match="has no tables"):
        importers.pgvector(tmp_path / "text", db)
    with pytest.raises((nuthatch.InvalidError, nuthatch.UnavailableError), match="neither a dump|needs redis-server"):
        importers.redis(tmp_path / "text", db)
    assert (db.collections(), db.caches(), db.keyspaces()) == ([], [], [])
    with pytest.raises(nuthatch.InvalidError, match=r"meta\.json"):
        importers.qdrant(tmp_path, db)
    monkeypatch.setitem(__import__("sys").modules, "chromadb", None)
    with pytest.raises(nuthatch.UnavailableError, match=r"nuthatch\[chroma\]"):
        importers.chroma(tmp_path, db)


def dump(file: Path, rows: list[str], more: str = "") -> Path:
    """As ``pg_dump`` writes it."""
    lines = [
        "CREATE TABLE public.docs (",
        "    id integer NOT NULL,",
        "    body text DEFAULT 'a, b'::text,",
        '    "Odd ""name" jsonb,',
        "    v public.vector(2)",
        ");",
        'COPY public.docs (id, body, "Odd ""name", v) FROM stdin;',
        *rows,
        "\\.",
        "ALTER TABLE ONLY public.docs",
        "    ADD CONSTRAINT docs_pkey PRIMARY KEY (id);",
        "CREATE INDEX i ON public.docs USING hnsw (v public.vector_ip_ops);",
        more,
    ]
    file.write_text("\n".join(lines) + "\n")
    return file


def test_a_dump_is_read_with_its_escapes_names_key_and_metric(db, tmp_path):
    rows = ['7\ta\\tb\\\\c\\n\t{"x": "\\\\"y"}\t[1,2.5]', "8\t\\N\t\\N\t[-1,0]", "9\ttext\t\\N\t\\N"]
    rows[0] = rows[0].replace('"\\\\"y"', '"y"')
    assert importers.pgvector(dump(tmp_path / "dump.sql", rows), db) == [("docs", 3, {}, "collection")]
    found = db.collection("docs").get("7", include=["text", "payload", "vector"])
    assert (found.text, found.payload, found.vector) == ("a\tb\\c\n", {'Odd "name': {"x": "y"}}, [1.0, 2.5])
    assert db.collection("docs").info().metric == "dot"
    assert db.collection("docs").get("9").text == "text"


def test_an_import_that_fails_leaves_what_there_was(db, tmp_path):
    rows = [f"{at}\ttext\t\\N\t[{at},1]" for at in range(50)]
    for wrong, error in [
        ("50\ttext\t\\N\t[1,2,3]", nuthatch.InvalidError),
        ("50\ttext\t{\t[1,2]", nuthatch.InvalidError),
        ("50\ttext\t\\N", nuthatch.CorruptError),
        ("49\ttext\t\\N\t[1,2]", nuthatch.InvalidError),
    ]:
        with pytest.raises(error):
            importers.pgvector(dump(tmp_path / "dump.sql", [*rows, wrong]), db, batch=10)
        assert (db.collections(), db.keyspaces()) == ([], [])

    def interrupted(progress: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        importers.pgvector(dump(tmp_path / "dump.sql", rows), db, batch=10, on_progress=interrupted)
    assert (db.collections(), db.keyspaces()) == ([], [])
    # An empty collection that was there stays, with its options.
    db.collection("docs", metric="l2", embedder="none", dim=2)
    with pytest.raises(nuthatch.InvalidError):
        importers.pgvector(dump(tmp_path / "dump.sql", [*rows, "49\ttext\t\\N\t[1,2]"]), db, batch=10, metric="l2")
    assert (db.collection("docs").info().metric, len(db.collection("docs")), db.keyspaces()) == ("l2", 0, [])
    db.collection("docs").upsert([{"id": "mine", "vector": [1, 2]}])
    with pytest.raises(nuthatch.InvalidError, match="not empty"):
        importers.pgvector(dump(tmp_path / "dump.sql", rows), db, metric="l2")
    assert [record.id for record in db.collection("docs")] == ["mine"]


def test_an_import_that_was_killed_is_begun_anew_by_the_next(tmp_path):
    """kill -9 after some batches: the next import removes them and ends with every record, once."""
    rows = [f"{at}\ttext {at}\t\\N\t[{at},1]" for at in range(3_000)]
    file, folder = dump(tmp_path / "dump.sql", rows), tmp_path / "memory"
    script = """
import os, signal, sys
import nuthatch
from nuthatch import importers
def killed(progress):
    if progress.done >= 1_000:
        os.kill(os.getpid(), signal.SIGKILL)
with nuthatch.connect(sys.argv[2]) as db:
    importers.pgvector(sys.argv[1], db, batch=100, on_progress=killed)
"""
    done = subprocess.run([sys.executable, "-c", script, str(file), str(folder)], timeout=300)
    assert done.returncode == -signal.SIGKILL
    with nuthatch.connect(folder) as db:
        assert len(db.collection("docs")) == 1_000, "the kill came too early or too late to prove anything"
        assert importers.pgvector(file, db)[0].records == 3_000
        assert (len(db.collection("docs")), db.keyspaces()) == (3_000, [])


def test_an_import_under_way_elsewhere_is_not_removed(tmp_path):
    rows = [f"{at}\ttext\t\\N\t[{at},1]" for at in range(100)]
    file = dump(tmp_path / "dump.sql", rows)
    with nuthatch.connect(tmp_path / "memory") as db:
        tried = []

        def meanwhile(progress: object) -> None:
            if not tried:
                script = "import sys, nuthatch; nuthatch.importers.pgvector(sys.argv[1], nuthatch.connect(sys.argv[2]))"
                arguments = [sys.executable, "-c", script, str(file), str(tmp_path / "memory")]
                tried.append(subprocess.run(arguments, capture_output=True, text=True, timeout=300))

        assert importers.pgvector(file, db, batch=10, on_progress=meanwhile)[0].records == 100
        assert "ConflictError" in tried[0].stderr and "is importing" in tried[0].stderr
        assert len(db.collection("docs")) == 100


def test_a_vec0_table_is_known_by_its_statement(db, tmp_path):
    """As sqlite-vec lays it out: two chunks, a deleted row, a long text apart."""
    with sqlite3.connect(tmp_path / "vec.db") as made:
        made.execute("pragma writable_schema = on")
        sql = 'CREATE VIRTUAL TABLE docs USING vec0("e" FLOAT[2] distance_metric=L2, chunk_size=8, title TEXT)'
        made.execute("insert into sqlite_master values ('table', 'docs', 'docs', 0, ?)", (sql,))
        made.execute("create table docs_rowids(rowid integer primary key, id, chunk_id integer, chunk_offset integer)")
        made.execute("create table docs_vector_chunks00(rowid primary key, vectors blob)")
        made.execute("create table docs_metadatachunks00(rowid primary key, data blob)")
        made.execute("create table docs_metadatatext00(rowid primary key, data text)")
        long = "a title of more than twelve bytes"
        for chunk in (1, 2):
            made.execute(
                "insert into docs_vector_chunks00 values (?, ?)",
                (chunk, struct.pack("<16f", *range(chunk, chunk + 16))),
            )
            texts = struct.pack("<i12s", 5, b"short") + struct.pack("<i12s", len(long), long[:12].encode())
            made.execute("insert into docs_metadatachunks00 values (?, ?)", (chunk, texts.ljust(128, b"\0")))
        made.executemany("insert into docs_rowids values (?, null, ?, ?)", [(1, 1, 0), (9, 2, 1)])
        made.execute("insert into docs_metadatatext00 values (9, ?)", (long,))
    made.close()
    assert importers.sqlite_vec(tmp_path / "vec.db", db) == [("docs", 2, {}, "collection")]
    found = db.collection("docs").get(["1", "9"], include=["payload", "vector"])
    assert [(one.payload, one.vector) for one in found] == [({"title": "short"}, [1, 2]), ({"title": long}, [4, 5])]
    with sqlite3.connect(tmp_path / "vec.db") as made:
        made.execute("update docs_vector_chunks00 set vectors = x'00' where rowid = 2")
    made.close()
    db.drop_collection("docs")
    with pytest.raises(nuthatch.CorruptError, match="row 9 of table 'docs' is not whole"):
        importers.sqlite_vec(tmp_path / "vec.db", db)
    assert db.collections() == []


def test_the_command_of_the_package_tells_what_it_did_and_how_it_ended(tmp_path):
    file = dump(tmp_path / "dump.sql", ["1\ttext\t\\N\t[1,1]"], "CREATE TABLE public.people (\n    name text\n);")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "nuthatch.importers", *arguments, "--data-dir", str(tmp_path / "memory")]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    done = run("pgvector", str(file), "--set", "metric=l2", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["imported"] == [
        {"name": "docs", "records": 1, "left_out": {}, "target": "collection"}
    ]
    again = run("pgvector", str(file))
    assert again.returncode == 2 and again.stderr.startswith("error: ")
    assert run("pgvector", str(tmp_path / "missing.sql")).returncode == 3
    assert run("pgvector", str(file), "--set", "nothing").returncode == 2
    assert run("mneme", str(file), "--collection", "a", "--collection", "b").returncode == 2


def skeg_record(key: bytes, value: bytes, when: int, kind: int = 0) -> bytes:
    """As skeg writes one into its log."""
    from nuthatch.importers._skeg import _crc32c

    rest = struct.pack("<QIIB", when, len(key), len(value), kind) + key + value
    record = struct.pack("<I", _crc32c(rest)) + rest
    return record.ljust(-(-len(record) // 128) * 128, b"\0")


def test_a_log_of_skeg_ends_where_it_is_torn_and_a_torn_batch_counts_for_nothing(db, tmp_path):
    shard = tmp_path / "skeg" / "shard-0"
    (shard / "vindex-docs").mkdir(parents=True)
    graph = struct.pack("<7I", 0x4E4D5647, 1, 2, 2, 0, 64, 64).ljust(64, b"\0") + struct.pack("<2Q", 5, 6)
    (shard / "vindex-docs" / "graph.vmn").write_bytes(graph)
    vectors = struct.pack("<4I", 0x4E494256, 1, 2, 2).ljust(64, b"\0") + struct.pack("<4f", 1, 0, 0, 1)
    (shard / "vindex-docs" / "vectors.bin").write_bytes(vectors)
    log = b"\0" + struct.pack("<Q2f", 7, 1, 1) + b"\1" + struct.pack("<Q", 5) + b"\0" + b"torn"
    (shard / "vindex-docs" / "delta.log").write_bytes(log)
    mark = bytes(16) + b"\0vpdocs"
    records = [
        skeg_record(b"k", b"new", 9),
        skeg_record(b"k", b"old", 3),
        skeg_record(mark + struct.pack("<Q", 7), b"team=core", 4),
        skeg_record(b"", struct.pack("<I", 2), 5, kind=5),
        skeg_record(b"a", b"1", 6),
        skeg_record(b"b", b"2", 7),
        skeg_record(b"k2", b"x", 8),
        skeg_record(b"k2", b"", 10, kind=1),
        skeg_record(b"", struct.pack("<I", 2), 11, kind=5),
        skeg_record(b"half", b"1", 12),
    ]
    damaged = bytearray(skeg_record(b"damaged", b"1", 13))
    damaged[22] ^= 1
    (shard / "0000000001.seg").write_bytes(b"".join(records) + damaged)
    done = importers.skeg(tmp_path / "skeg", db)
    assert done == [("docs", 2, {}, "collection"), ("skeg", 3, {}, "keyspace")]
    assert dict(db.kv("skeg").items()) == {b"a": b"1", b"b": b"2", b"k": b"new"}
    found = db.collection("docs").get(["5", "6", "7"], include=["payload", "vector"])
    assert [one and (one.payload, one.vector) for one in found] == [None, ({}, [0, 1]), ({"team": "core"}, [1, 1])]
    (shard / "vindex-docs" / "vectors.bin").write_bytes(vectors[:-4])
    db.drop_collection("docs")
    db.drop_keyspace("skeg")
    with pytest.raises(nuthatch.CorruptError, match=r"vectors\.bin is not whole"):
        importers.skeg(tmp_path / "skeg", db)
    assert (db.collections(), db.keyspaces()) == ([], [])
