"""Every public call with the types that a caller would write down. Checked by the type checker, never run."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pandas
import pyarrow
from typing_extensions import assert_type

import nuthatch
from nuthatch import errors


def database(folder: Path) -> None:
    with nuthatch.connect(folder, memory_budget="64MiB", create=False, program="checker") as db:
        assert_type(db, nuthatch.Database)
    db = nuthatch.connect(":memory:", memory_budget=1 << 26)
    nuthatch.connect(folder, mapped=True, build_memory="2GiB", build_threads=4)
    assert_type(db.path, str)
    assert_type(db.collection("notes", dim=384, metric="cosine", language="english"), nuthatch.Collection)
    assert_type(db.collections(), list[nuthatch.CollectionInfo])
    assert_type(db.drop_collection("notes"), bool)
    assert_type(db.close(), None)
    db.collection("notes", metric="euclid")  # type: ignore[arg-type]
    db.collection("bits", elements="binary", metric="hamming")
    db.collection("halves", elements="f16")
    db.collection("notes", elements="f64")  # type: ignore[arg-type]


def adding(db: nuthatch.Database, notes: nuthatch.Collection) -> None:
    def tell(progress: nuthatch.Progress) -> None:
        assert_type(progress.remaining_seconds, float | None)
        assert_type(progress.current, Path | None)

    report = db.add(["a", Path("b")], notes, prune=True, on_progress=tell, max_file_bytes="1MiB", passage_chars=500)
    assert_type(report, nuthatch.AddReport)
    assert_type(report.skipped, list[nuthatch.Skipped])
    assert_type(report.skipped[0].path, Path)
    db.add("a", "documents", hidden=True, follow_links=True, respect_ignore=False, overlap_chars=10)


def reports(db: nuthatch.Database) -> None:
    stats = db.stats()
    assert_type(stats, nuthatch.Stats)
    assert_type(stats.disk, nuthatch.DiskStats)
    assert_type(stats.memory, nuthatch.MemoryStats)
    assert_type(stats.memory.engine_bytes, int)
    assert_type(stats.collections[0].fields, dict[str, list[str]])
    doctor = db.doctor()
    assert_type(doctor, nuthatch.Doctor)
    assert_type(doctor.is_well, bool)
    assert_type(doctor.findings, list[nuthatch.Finding])


def writing(notes: nuthatch.Collection, frame: pandas.DataFrame, table: pyarrow.Table) -> None:
    upserted = notes.upsert([{"id": "a1", "text": "x", "vector": [1.0, 2.0], "payload": {"year": 2025}}])
    assert_type(upserted, nuthatch.Upserted)
    assert_type(upserted.inserted, int)
    notes.upsert([nuthatch.Record("a", "text", {"when": datetime.date(2025, 1, 1)})])
    notes.upsert({"id": str(n)} for n in range(3))
    notes.upsert(frame)
    notes.upsert(table)
    matrix = numpy.zeros((2, 384), dtype=numpy.float32)
    notes.upsert(ids=["a", "b"], texts=["x", None], vectors=matrix, payloads=[{"n": 1}, None])
    notes.upsert(ids=["a"], vectors=[[1, 2]])
    notes.upsert(ids=["a", "b"], vectors=[[1.0, 2.0], None])
    notes.upsert(ids=["a"], vectors=[matrix[0]])
    assert_type(notes.delete("a"), int)
    assert_type(notes.delete(["a"]), int)
    assert_type(notes.delete(where="n = 1"), int)
    notes.upsert(ids=[1, 2])  # type: ignore[list-item]


def reading(notes: nuthatch.Collection) -> Iterator[str]:
    assert_type(notes.name, str)
    assert_type(notes.get("a"), nuthatch.Record | None)
    assert_type(notes.get(["a"], include=["vector"]), list[nuthatch.Record | None])
    assert_type(notes.count("n = 1"), int)
    assert_type(len(notes), int)
    page = notes.scan(where="n = 1", limit=10, cursor=None, include=("text",))
    assert_type(page, nuthatch.Page)
    assert_type(page.cursor, str | None)
    for record in notes:
        assert_type(record, nuthatch.Record)
        assert_type(record.payload, dict[str, Any])
        assert_type(record.vector, list[float] | None)
        yield record.id
    file = notes.files("/docs")[0]
    assert_type(file, nuthatch.FileInfo)
    assert_type(file.mtime, datetime.datetime)
    assert_type(notes.remove_files(Path("/docs")), int)
    assert_type(notes.wait_until_indexed(timeout=5), bool)
    assert_type(notes.info(), nuthatch.CollectionInfo)
    assert_type(notes.optimize(), bool)
    assert_type(notes.optimize(timeout=0.5), bool)
    info = notes.info()
    assert_type(info.dim, int | None)
    assert_type(info.elements, str)
    assert_type(info.graphs, int)
    assert_type(info.building, nuthatch.BuildProgress | None)
    if info.building is not None:
        assert_type(info.building.done, int)
        assert_type(info.building.rows_per_second, float)
        assert_type(info.building.seconds_left, float | None)


def searching(notes: nuthatch.Collection) -> None:
    results = notes.search(
        "reset a password",
        vector=numpy.zeros(384),
        limit=5,
        offset=0,
        cursor=None,
        where="year >= 2024",
        mode="hybrid",
        fusion="normalised",
        weights={"text": 1.0, "vector": 0.5},
        include=("text", "payload", "vector"),
        explain=True,
    )
    assert_type(results, nuthatch.Results)
    assert_type(results[0], nuthatch.Hit)
    assert_type(results[:2], list[nuthatch.Hit])
    for hit in results:
        assert_type(hit.score, float)
        assert_type(hit.text, str | None)
        assert_type(hit.legs, nuthatch.Legs)
        assert_type(hit.legs.vector, nuthatch.Leg | None)
    assert_type(results.cursor, str | None)
    assert_type(results.degraded, list[str])
    assert_type(results.to_dicts(), list[dict[str, Any]])
    frame: pandas.DataFrame = results.to_pandas()
    table: pyarrow.Table = results.to_arrow()
    notes.search(vector=[1, 2, 3], weights=(1, 0.5))
    notes.search("x", mode="fuzzy")  # type: ignore[arg-type]
    notes.search(like="a1", recall=0.95, timeout=2)
    notes.search(vector=numpy.ones(8, dtype=bool), effort=64)
    notes.search(vector=[True, False], exact=True)
    notes.search(like=7)  # type: ignore[arg-type]
    notes.search("x", recall="high")  # type: ignore[arg-type]
    many = notes.search_many(vectors=numpy.zeros((3, 384)), limit=5, where="n = 1", exact=True)
    assert_type(many, list[nuthatch.Results])
    notes.search_many(["x", "y"], vectors=[[1.0, 2.0], None], mode="hybrid", weights=(1, 2), explain=True, timeout=5)
    notes.search_many(text for text in ("x", "y"))
    notes.search_many(vectors=[1.0, 2.0])  # type: ignore[list-item]
    notes.search_many([1, 2])  # type: ignore[list-item]
    del frame, table


class Named:
    """A callable that may be given as it stands."""

    name = "named"
    dim = 2

    def __call__(self, texts: list[str], /) -> list[list[float]]:
        return [[1.0, 2.0] for _ in texts]


def embedding(db: nuthatch.Database) -> None:
    remote = nuthatch.embedders.openai(
        "http://localhost:11434/v1",
        "m",
        "key",
        384,
        timeout=5,
        batch=8,
        retries=1,
        passage_prefix="p: ",
        query_prefix="q: ",
    )
    assert_type(remote, nuthatch.embedders.Embedder)
    assert_type(remote.dim, int)
    assert_type(remote.fingerprint, str)
    assert_type(remote.embed(["x"]), list[list[float]])
    assert_type(remote.embed_query("x"), list[float])
    mine = nuthatch.embedders.function(lambda texts: [[1.0] for _ in texts], name="mine", dim=1)
    for embedder in (remote, mine, Named(), "default", "none", None):
        db.collection("notes", embedder=embedder)


async def awaiting() -> None:
    async with nuthatch.connect_async(":memory:") as db:
        assert_type(db, nuthatch.AsyncDatabase)
        notes = await db.collection("notes", embedder="none")
        assert_type(notes, nuthatch.AsyncCollection)
        assert_type(await notes.upsert([{"id": "a"}]), nuthatch.Upserted)
        assert_type(await notes.get("a"), nuthatch.Record | None)
        assert_type(await notes.get(["a"]), list[nuthatch.Record | None])
        assert_type(await notes.search("x"), nuthatch.Results)
        assert_type(await notes.search(like="a", recall=0.9, timeout=1), nuthatch.Results)
        assert_type(await notes.search_many(vectors=numpy.zeros((2, 2)), effort=5), list[nuthatch.Results])
        assert_type(await notes.optimize(timeout=1), bool)
        await db.collection("bits", elements="binary")
        async for record in notes:
            assert_type(record, nuthatch.Record)
        assert_type(await db.add("a", notes), nuthatch.AddReport)
    db = await nuthatch.connect_async(":memory:")
    assert_type(await db.stats(), nuthatch.Stats)


def backing_up(db: nuthatch.Database) -> None:
    report = db.backup("place", indexes=False, rate="50MB", on_progress=lambda progress: print(progress.bytes_done))
    assert_type(report, nuthatch.BackupReport)
    assert_type(report.backup, nuthatch.Backup)
    assert_type(nuthatch.backups.list("place"), list[nuthatch.Backup])
    assert_type(nuthatch.backups.verify("place").is_well, bool)
    assert_type(nuthatch.backups.delete("place", keep=3), nuthatch.BackupsDeleted)
    assert_type(nuthatch.restore("place", Path("again"), collection="notes").rows, int)
    assert_type(db.export_to("folder", format="parquet"), nuthatch.ExportReport)
    assert_type(db.import_from("folder", merge=True), nuthatch.ImportReport)
    assert_type(nuthatch.importers.chroma("folder", db), list[nuthatch.importers.Imported])
    assert_type(nuthatch.importers.lancedb("folder", db, tables=["a"], metric="l2"), list[nuthatch.importers.Imported])
    assert_type(nuthatch.importers.qdrant("folder", db, vector="a"), list[nuthatch.importers.Imported])


def failing(db: nuthatch.Database) -> None:
    try:
        db.collection("x")
    except (nuthatch.ConflictError, nuthatch.UnavailableError, nuthatch.ClosedError) as error:
        print(error)
    except errors.CorruptError as error:
        assert_type(error.path, Path | None)
    except (nuthatch.InvalidError, ValueError, nuthatch.NotFoundError, LookupError):
        pass
    except (nuthatch.ExhaustedError, nuthatch.InternalError, nuthatch.NuthatchError):
        pass
