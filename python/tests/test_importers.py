"""Folders of other engines, made with their own packages, which need not be installed."""

from __future__ import annotations

from datetime import datetime, timezone

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
    assert sorted(done) == [("bare", 1), ("notes", 25)]
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
    assert done == [("docs", 25)]
    found = db.collection("docs").get("7", include=["text", "payload", "vector"])
    assert (found.text, found.vector) == ("text 7", [8.0, 2.0])
    assert found.payload == {"when": when, "tags": ["a", "b"], "meta": {"n": 7}}
    assert db.collection("docs").info().metric == "l2"
    assert importers.lancedb(tmp_path, db, tables="nameless", vector="embedding", text="title") == [("nameless", 2)]
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
    assert importers.qdrant(tmp_path, db, collections=["notes"], batch=10) == [("notes", 26)]
    found = db.collection("notes").get("7", include=["text", "payload", "vector"])
    assert (found.text, found.payload, found.vector) == ("text 7", {"a": {"b": 7}}, [7.0, 1.0])
    assert db.collection("notes").get(uuid).payload == {}
    with pytest.raises(nuthatch.InvalidError, match="several vectors"):
        importers.qdrant(tmp_path, db, collections=["named"])
    assert importers.qdrant(tmp_path, db, collections=["named"], vector="b") == [("named", 1)]
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
    assert importers.qdrant(folder, db, batch=10) == [("shard", 25)]
    found = db.collection("shard").get("7", include=["text", "payload", "vector"])
    assert (found.text, found.payload, found.vector) == ("text 7", {"n": 7}, [7.0, 1.0])


def test_a_folder_that_is_not_there_or_of_something_else_is_refused(db, tmp_path, monkeypatch):
    for importer in (importers.chroma, importers.lancedb, importers.qdrant):
        with pytest.raises((nuthatch.NotFoundError, nuthatch.UnavailableError)):
            importer(tmp_path / "missing", db)
    with pytest.raises(nuthatch.InvalidError, match=r"meta\.json"):
        importers.qdrant(tmp_path, db)
    monkeypatch.setitem(__import__("sys").modules, "chromadb", None)
    with pytest.raises(nuthatch.UnavailableError, match=r"nuthatch\[chroma\]"):
        importers.chroma(tmp_path, db)
