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
import nuthatch.tree_entries
from nuthatch import errors


def database(folder: Path) -> None:
    with nuthatch.connect(folder, memory_budget="64MiB", create=False, program="checker") as db:
        assert_type(db, nuthatch.Database)
    db = nuthatch.connect(":memory:", memory_budget=1 << 26)
    nuthatch.connect(folder, mapped=True, build_memory="2GiB", build_threads=4)
    nuthatch.connect(
        "https://example.org", api_key="k", tenant="t", timeout=2.5, ca=folder, client_cert=(folder, folder)
    )
    assert_type(db.path, str)
    assert_type(db.collection("notes", dim=384, metric="cosine", language="english"), nuthatch.Collection)
    assert_type(db.collections(), list[nuthatch.CollectionInfo])
    assert_type(db.drop_collection("notes"), bool)
    assert_type(db.close(), None)
    db.collection("notes", metric="euclid")  # type: ignore[arg-type]
    db.collection("bits", elements="binary", metric="hamming")
    db.collection("halves", elements="f16")
    db.collection("notes", elements="f64")  # type: ignore[arg-type]


def tenants(db: nuthatch.Database) -> None:
    acme = db.create_tenant("acme", nuthatch.TenantLimits(vectors=10, bytes=1 << 20))
    assert_type(acme, nuthatch.Database)
    assert_type(db.tenant("acme"), nuthatch.Database)
    assert_type(acme.tenant_name, str | None)
    assert_type(db.tenant_names(), list[str])
    assert_type(db.tenants(), list[nuthatch.Tenant])
    assert_type(db.tenants()[0].usage.bytes, int)
    assert_type(db.tenants()[0].limits.requests_per_second, int | None)
    assert_type(db.set_tenant_limits("acme", nuthatch.TenantLimits()), None)
    assert_type(acme.limits(), nuthatch.TenantLimits)
    assert_type(acme.usage(), nuthatch.TenantUsage)
    assert_type(db.drop_tenant("acme").tenant, str | None)
    db.create_tenant("acme", {"vectors": 1})  # type: ignore[arg-type]


async def tenants_awaited(db: nuthatch.AsyncDatabase) -> None:
    assert_type(await db.create_tenant("acme"), nuthatch.AsyncDatabase)
    assert_type(await db.tenant("acme"), nuthatch.AsyncDatabase)
    assert_type(await db.tenants(), list[nuthatch.Tenant])
    assert_type(await db.drop_tenant("acme"), nuthatch.Receipt)


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
    assert_type(info.vector_graphs, int)
    assert_type(info.building, nuthatch.BuildProgress | None)
    if info.building is not None:
        assert_type(info.building.done, int)
        assert_type(info.building.rows_per_second, float)
        assert_type(info.building.seconds_left, float | None)


def keys_and_values(db: nuthatch.Database, notes: nuthatch.Collection) -> Iterator[bytes]:
    nuthatch.connect(":memory:", sync_interval_ms=50, snapshot_age=datetime.timedelta(minutes=5), erasure_grace=5)
    kv = db.kv("sessions", create=True, durability="interval")
    assert_type(kv, nuthatch.Keyspace)
    assert_type(db.keyspaces(), list[str])
    cache = assert_type(db.cache("answers", budget=0.01, ttl=60, scope=["user"]), nuthatch.Cache)
    assert_type(db.caches(), list[str])
    assert_type(db.drop_cache("none"), bool)
    user = {"user": "anna"}
    assert_type(cache.store("a", {"b": 1}, scope=user, vector=[1.0, 0.0], tags=["t"]), nuthatch.StoredAnswer)
    assert_type(cache.check("a", scope=user), nuthatch.CacheHit | None)
    assert_type(cache.last_miss, nuthatch.Miss | None)
    assert_type(cache.get_or_compute("a", lambda: 1, scope=user), int)
    assert_type(cache.explain("a", scope=user).candidates, list[nuthatch.CacheCandidate])
    assert_type(cache.audits(), list[nuthatch.CacheAudit])
    assert_type(cache.invalidate(tag="t"), int)
    assert_type(cache.stats().ledger.bound, float)
    assert_type(cache.warm([("a", 1), {"prompt": "b", "response": 2}], scope=user), int)
    found = assert_type(cache.calibrate([("a", "b", True)], embed=lambda text: [1.0, 0.0]), nuthatch.Calibration)
    assert_type(found.curve, list[nuthatch.CurvePoint])
    assert_type(cache.report_html(audits=5), str)
    assert_type(nuthatch.wrap(Path(), cache, scope=user, ttl=60), Path)
    graph = assert_type(db.graph("web", create=True, durability="os"), nuthatch.Graph)
    assert_type(db.graphs(), list[str])
    assert_type(db.drop_graph("none"), bool)
    graph.put_nodes([nuthatch.Node("a", "page"), {"id": "b", "type": "page"}], durability="os")
    graph.put_edges([nuthatch.Edge("a", "links", "b"), {"source": "b", "type": "links", "target": "a"}])
    assert_type(graph.get("a"), nuthatch.Node | None)
    assert_type(graph.edge("a", "links", "b"), nuthatch.Edge | None)
    assert_type(graph.neighbors("a", direction="both", types=["links"])[0].edge.weight, float)
    assert_type(graph.list_nodes(type="page").cursor, str | None)
    assert_type(graph.traverse("a").truncated, bool)
    assert_type(graph.counts().exact, bool)
    assert_type(graph.delete_edges([("a", "links", "b")]), int)
    assert_type(graph.delete_nodes(["a"]).edges, int)
    assert_type(db.drop_keyspace("sessions"), bool)
    assert_type(kv["a"], bytes)
    kv["a"] = "text"
    kv[b"a"] = bytearray(b"x")
    kv["a"] = memoryview(b"x")
    del kv["a"]
    assert_type("a" in kv, bool)
    assert_type(kv.get("a"), bytes | None)
    assert_type(kv.get("a", b""), bytes)
    assert_type(kv.get("a", 5), bytes | int)
    assert_type(kv.get_many(["a", b"b"]), list[bytes | None])
    kv.put("a", b"1", ttl=1.5, durability="commit")
    kv.put("a", b"1", ttl=datetime.timedelta(days=1))
    kv.put_many({"a": "1", "b": "2"}, ttl=5)
    kv.put_many([("a", b"1"), (b"b", "2")])
    assert_type(kv.delete("a"), int)
    assert_type(kv.delete(["a", b"b"], durability="os"), int)
    assert_type(kv.delete_prefix("a/"), int)
    assert_type(kv.clear(), int)
    assert_type(kv.compare_and_set("a", None, "me", ttl=5), bool)
    assert_type(kv.increment("n", by=-1), int)
    assert_type(kv.append("a", b"more"), int)
    assert_type(kv.expire("a", None), bool)
    assert_type(kv.ttl("a"), float | None)
    page = kv.scan(prefix="a", start="b", stop="c", reverse=True, limit=5, cursor=None, keys_only=False)
    assert_type(page, nuthatch.KeyPage)
    assert_type(page.entries, list[tuple[bytes, bytes]])
    assert_type(page.keys, list[bytes])
    assert_type(page.cursor, str | None)
    assert_type(kv.count_estimate("a"), int)
    assert_type(dict(kv.items(prefix="a")), dict[bytes, bytes])
    assert_type(list(kv.values()), list[bytes])
    notes.upsert(ids=["a"], texts=["x"], durability="os")
    notes.delete("a", durability="interval")
    db.add("a", notes, durability="os")
    kv.put("a", 5)  # type: ignore[arg-type]
    kv.put("a", "x", durability="fsync")  # type: ignore[arg-type]
    len(kv)  # type: ignore[arg-type]
    yield from kv.keys(reverse=True)


def together(db: nuthatch.Database) -> None:
    with db.batch(durability="os") as batch:
        assert_type(batch, nuthatch.Batch)
        keys = batch.kv("keys")
        assert_type(keys, nuthatch.BatchKeyspace)
        keys["a"] = "1"
        del keys["a"]
        keys.put("a", b"1", ttl=5)
        keys.put_many({"a": "1"}, ttl=datetime.timedelta(hours=1))
        keys.delete(["a", b"b"])
        records = batch.collection("notes")
        assert_type(records, nuthatch.BatchCollection)
        records.upsert([{"id": "a"}])
        records.upsert(ids=["a"], texts=["x"])
        records.delete("a")
        keys["a"]  # type: ignore[index]
    with db.snapshot() as snapshot:
        assert_type(snapshot, nuthatch.Snapshot)
        assert_type(snapshot.age, float)
        assert_type(snapshot.kv("keys"), nuthatch.SnapshotKeyspace)
        assert_type(snapshot.kv("keys")["a"], bytes)
        assert_type(snapshot.kv("keys").get("a"), bytes | None)
        assert_type(dict(snapshot.kv("keys").items()), dict[bytes, bytes])
        kept = snapshot.collection("notes")
        assert_type(kept, nuthatch.SnapshotCollection)
        assert_type(kept.get("a"), nuthatch.Record | None)
        assert_type(kept.search("x"), nuthatch.Results)
        assert_type(kept.files(), list[nuthatch.FileInfo])
        assert_type([record.id for record in kept], list[str])
        snapshot.kv("keys")["a"] = "1"  # type: ignore[index]
    with db.transaction(durability="interval") as transaction:
        assert_type(transaction, nuthatch.Transaction)
        mine = transaction.kv("keys")
        assert_type(mine, nuthatch.TransactionKeyspace)
        assert_type(mine["a"], bytes)
        mine["a"] = "2"
        assert_type(mine.scan(limit=5), nuthatch.KeyPage)
        found = transaction.collection("notes")
        assert_type(found, nuthatch.TransactionCollection)
        found.upsert([{"id": "a"}])
        assert_type(found.get(["a"]), list[nuthatch.Record | None])
        assert_type(transaction.commit(), None)

    def number(transaction: nuthatch.Transaction) -> int:
        return int(transaction.kv("numbers").get("n", b"0"))

    assert_type(db.transact(number, retries=5, durability="os"), int)
    assert_type(db.stats().snapshots, int)
    assert_type(db.stats().snapshot_age_seconds, float)


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
    notes.search(vector=numpy.ones(8, dtype=bool), ef=64)
    notes.search(vector=[True, False], exact=True)
    notes.search(like=7)  # type: ignore[arg-type]
    notes.search("x", recall="high")  # type: ignore[arg-type]
    many = notes.search_many(vectors=numpy.zeros((3, 384)), limit=5, where="n = 1", exact=True)
    assert_type(many, list[nuthatch.Results])
    notes.search_many(["x", "y"], vectors=[[1.0, 2.0], None], mode="hybrid", weights=(1, 2), explain=True, timeout=5)
    notes.search_many(text for text in ("x", "y"))
    notes.search_many(vectors=[1.0, 2.0])  # type: ignore[list-item]
    notes.search_many([1, 2])  # type: ignore[list-item]
    assert_type(notes.search_ids([[1.0, 2.0]], limit=5), tuple[list[list[str]], list[list[float]]])
    some_ids, some_scores = notes.search_ids(numpy.zeros((3, 384)), using="title", where="n = 1", ef=30, timeout=5)
    print(some_ids[0, 0], some_scores.shape)
    notes.search_ids(["x"])  # type: ignore[list-item]
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
        assert_type(await notes.search_many(vectors=numpy.zeros((2, 2)), ef=5), list[nuthatch.Results])
        assert_type(await notes.search_ids([[1.0, 2.0]]), tuple[list[list[str]], list[list[float]]])
        assert_type(await notes.optimize(timeout=1), bool)
        await db.collection("bits", elements="binary")
        async for record in notes:
            assert_type(record, nuthatch.Record)
        assert_type(await db.add("a", notes), nuthatch.AddReport)
        kv = await db.kv("sessions", durability="os")
        assert_type(kv, nuthatch.AsyncKeyspace)
        assert_type(await kv.get("a"), bytes | None)
        assert_type(await kv.get("a", b""), bytes)
        assert_type(await kv.increment("n"), int)
        assert_type(await kv.scan(), nuthatch.KeyPage)
        async for key in kv:
            assert_type(key, bytes)
        async for entry in kv.items(prefix="a"):
            assert_type(entry, tuple[bytes, bytes])
        async with db.batch() as batch:
            assert_type(batch, nuthatch.AsyncBatch)
            batch.kv("keys")["a"] = "1"
        async with db.snapshot() as snapshot:
            assert_type(snapshot, nuthatch.AsyncSnapshot)
            assert_type(await (await snapshot.kv("keys")).get("a"), bytes | None)
            assert_type(await (await snapshot.collection("notes")).search("x"), nuthatch.Results)
        async with db.transaction(durability="os") as transaction:
            assert_type(transaction, nuthatch.AsyncTransaction)
            await (await transaction.kv("keys")).put("a", "1")
            await (await transaction.collection("notes")).delete("a")

        async def number(transaction: nuthatch.AsyncTransaction) -> int:
            return int(await (await transaction.kv("numbers")).get("n", b"0"))

        assert_type(await db.transact(number), int)
        assert_type(await db.snapshot(), nuthatch.AsyncSnapshot)
    db = await nuthatch.connect_async(":memory:")
    assert_type(await db.stats(), nuthatch.Stats)


def trees(db: nuthatch.Database) -> None:
    tree = db.tree("t", create=False, durability="os")
    assert_type(tree, nuthatch.Tree)
    assert_type(
        tree.put("a", b"x", mode=0o755, modified=datetime.datetime.now(datetime.timezone.utc)), nuthatch.PutReport
    )
    tree.put_many({"a": "x"}, remove=["b"])
    tree.put_many([nuthatch.PutFile("a", "x"), {"path": "b", "data": b"x"}])
    assert_type(tree.add("notes", below="x", hidden=True, ignore=False, keep_missing=True), nuthatch.AddedFolder)
    assert_type(tree.restore("out", as_of="v1", globs="*.md", dry_run=True).skipped, tuple[nuthatch.SkippedPath, ...])
    assert_type(tree.get("a", as_of=5, start=1, end=2), bytes)
    assert_type(tree.open("a", as_of="v1").read(), bytes)
    assert_type(tree.entry("a"), nuthatch.TreeEntry | None)
    assert_type([entry.kind for entry in tree.list("a")], list[nuthatch.tree_entries.EntryKind])
    assert_type([entry.modified for entry in tree], list[datetime.datetime])
    assert_type(tree.versions("a"), list[nuthatch.TreeEntry])
    assert_type(tree.snapshot("v1"), nuthatch.TreeSnapshot)
    assert_type(tree.snapshots(), list[nuthatch.TreeSnapshot])
    assert_type(tree.drop_snapshot("v1"), bool)
    assert_type(tree.diff("v1", below="a")[0].before, nuthatch.TreeEntry | None)
    assert_type(tree.erase("a"), nuthatch.TreeErased)
    assert_type(tree.update("a", where="n = 1", set={"n": 2}, add={"tags": "x"}), int)
    assert_type(tree.facets("tags", where="n = 1", as_of="v1"), dict[str, nuthatch.Facet])
    assert_type(tree.root(as_of="v1", below="a"), nuthatch.TreeRoot)
    assert_type(tree.verify(as_of="v1").damaged, tuple[nuthatch.DamagedFile, ...])
    assert_type(tree.info().retention, nuthatch.TreeRetention)
    tree.set_retention(versions=5, days=None)
    found = tree.grep("x", globs="*.py", before_context=1)
    assert_type(found.cut, list[nuthatch.GrepCut])
    assert_type([match.spans for match in found], list[tuple[tuple[int, int], ...]])
    callers = tree.code.callers("f", as_of="v1", below="src", limit=5)
    assert_type(callers, nuthatch.CodeAnswer)
    assert_type(callers.sites[0].targets, tuple[nuthatch.CodeTarget, ...])
    assert_type(tree.code.impact("f", depth=2).reached, tuple[nuthatch.CodeReached, ...])
    assert_type(tree.code.map(tokens=10).definitions, tuple[nuthatch.CodeDefinition, ...])
    assert_type(db.trees(), list[str])
    assert_type(db.drop_tree("t"), bool)
    with db.snapshot() as snapshot:
        assert_type(snapshot.tree("t"), nuthatch.SnapshotTree)


async def trees_awaited(db: nuthatch.AsyncDatabase) -> None:
    tree = await db.tree("t")
    assert_type(tree, nuthatch.AsyncTree)
    assert_type(await tree.put("a", "x"), nuthatch.PutReport)
    assert_type((await tree.verify()).root, nuthatch.TreeRoot | None)
    assert_type(await tree.add("notes"), nuthatch.AddedFolder)
    assert_type(await tree.restore("out", overwrite=True), nuthatch.RestoredFiles)
    assert_type([entry async for entry in tree.list()], list[nuthatch.TreeEntry])
    assert_type([match.line async for match in await tree.grep("x")], list[str])
    assert_type(await tree.code.outline("a.py", as_of=3), nuthatch.CodeAnswer)
    assert_type(await (await (await db.snapshot()).tree("t")).get("a"), bytes)


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
    assert_type(
        nuthatch.importers.faiss("a.index", db, records="a.jsonl", metric="cosine"), list[nuthatch.importers.Imported]
    )
    assert_type(nuthatch.importers.gptcache("folder", db, budget=0.01), list[nuthatch.importers.Imported])
    assert_type(nuthatch.importers.mneme("cache.db", db, on_progress=print)[0].left_out, dict[str, int])
    assert_type(nuthatch.importers.pgvector("dump.sql", db, tables=["a"], text="b"), list[nuthatch.importers.Imported])
    assert_type(nuthatch.importers.redis("dump.rdb", db, program="redis-server")[0].records, int)
    assert_type(nuthatch.importers.sqlite_vec("a.db", db, join="b"), list[nuthatch.importers.Imported])


def failing(db: nuthatch.Database) -> None:
    try:
        db.collection("x")
    except (nuthatch.ConflictError, nuthatch.UnavailableError, nuthatch.ClosedError) as error:
        print(error)
    except errors.CorruptError as error:
        assert_type(error.path, Path | None)
    except (nuthatch.MissingKeyError, KeyError):
        pass
    except (nuthatch.InvalidError, ValueError, nuthatch.NotFoundError, LookupError):
        pass
    except (nuthatch.ExhaustedError, nuthatch.InternalError, nuthatch.NuthatchError):
        pass
