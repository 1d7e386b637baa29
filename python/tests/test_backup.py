"""Backups, exports and imports from Python."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timezone

import pytest

import nuthatch


def filled(db, count=50):
    notes = db.collection("notes", embedder="none")
    notes.upsert(
        [
            {
                "id": f"r{at}",
                "text": f"text {at}",
                "vector": [at, 1.5] if at % 3 else None,
                "payload": {
                    "n": at,
                    "when": datetime(2025, 1, 1, tzinfo=timezone.utc),
                    "mixed": at if at % 2 else "x",
                    "list": [at],
                },
                "context": "above" if at % 2 else None,
                "code": at % 5 == 0,
            }
            for at in range(count)
        ]
    )
    return notes


def everything(db):
    notes = db.collection("notes")
    return list(notes.scan(limit=1000, include=["text", "payload", "vector"]))


def test_a_backup_comes_back_beside_the_original(tmp_path):
    told = []
    with nuthatch.connect(tmp_path / "data") as db:
        filled(db)
        first = db.backup(tmp_path / "backups", on_progress=told.append)
        before = everything(db)
        db.collection("notes").delete(["r1"])
        second = db.backup(tmp_path / "backups", indexes=False, rate="1GB")
    assert told[-1].bytes_done == told[-1].bytes_total > 0
    assert second.new_bytes < first.new_bytes
    assert second.backup.left_out
    listed = nuthatch.backups.list(tmp_path / "backups")
    assert [(one.id, one.rows, one.collections) for one in listed] == [
        (first.backup.id, 50, ["notes"]),
        (second.backup.id, 49, ["notes"]),
    ]
    done = nuthatch.restore(tmp_path / "backups", tmp_path / "again", backup=first.backup.id)
    assert (done.rows, done.folder, done.collections) == (50, tmp_path / "again", ["notes"])
    with nuthatch.connect(tmp_path / "again", create=False) as again:
        assert everything(again) == before
        assert again.doctor().is_well
    with pytest.raises(nuthatch.InvalidError, match="not empty"):
        nuthatch.restore(tmp_path / "backups", tmp_path / "again")
    with pytest.raises(nuthatch.NotFoundError, match="there are"):
        nuthatch.restore(tmp_path / "backups", tmp_path / "third", backup="000009-x")


def test_damage_is_named_and_old_backups_go(tmp_path):
    place = tmp_path / "backups"
    with nuthatch.connect(tmp_path / "data") as db:
        filled(db)
        for _ in range(3):
            db.backup(place)
    assert nuthatch.backups.verify(place).is_well
    assert len(nuthatch.backups.delete(place, keep=1).backups) == 2
    check = nuthatch.backups.verify(place)
    assert check.is_well
    assert check.backups == 1
    damaged = next(path for path in (place / "objects").rglob("*") if path.is_file() and path.stat().st_size)
    damaged.write_bytes(b"x" + damaged.read_bytes()[1:])
    check = nuthatch.backups.verify(place)
    assert [found.path for found in check.damage] == [damaged]
    with pytest.raises(nuthatch.CorruptError) as raised:
        nuthatch.restore(place, tmp_path / "again")
    assert raised.value.path == damaged
    assert not (tmp_path / "again").exists()


def test_a_callback_that_fails_ends_the_backup(tmp_path):
    def fail(progress):
        raise RuntimeError("enough")

    with nuthatch.connect(tmp_path / "data") as db:
        filled(db)
        with pytest.raises(RuntimeError, match="enough"):
            db.backup(tmp_path / "backups", on_progress=fail)
        db.backup(tmp_path / "backups")


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_an_import_of_an_export_is_equal(tmp_path, format):
    if format == "parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / "a.md").write_text("# Keys\n\nUnder the blue pot.\n")
    told = []
    with nuthatch.connect(":memory:") as db:
        filled(db)
        db.collection("empty", embedder="none")
        db.add(tmp_path / "a.md", db.collection("files", embedder="none"))
        report = db.export_to(tmp_path / "export", format=format, on_progress=told.append)
        before, infos = everything(db), [(info.name, info.fields, info.metric, info.dim) for info in db.collections()]
        files = db.collection("files").files()
    assert (report.collections, report.records, report.files) == (3, 51, 1)
    assert told
    manifest = json.loads((tmp_path / "export/export.json").read_text())
    assert manifest["format"] == format
    assert not list(tmp_path.glob(".export-*"))
    with nuthatch.connect(":memory:") as other:
        done = other.import_from(tmp_path / "export")
        assert (done.records, done.files) == (51, 1)
        assert everything(other) == before
        assert [(info.name, info.fields, info.metric, info.dim) for info in other.collections()] == infos
        assert other.collection("files").files() == files
        with pytest.raises(nuthatch.InvalidError, match="already exists"):
            other.import_from(tmp_path / "export")
        assert other.import_from(tmp_path / "export", collection="notes", merge=True).records == 50
        # Byte for byte, what no listing shows included.
        second, third = tmp_path / "second", tmp_path / "third"
        other.drop_collection("notes")
        other.import_from(tmp_path / "export", collection="notes")
        other.export_to(second, collection="notes")
    with nuthatch.connect(":memory:") as db:
        filled(db)
        db.export_to(third, collection="notes")
    name = "collections/000-notes/records.jsonl"
    assert (second / name).read_text() == (third / name).read_text()


def test_parquet_has_typed_columns(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    with nuthatch.connect(":memory:") as db:
        notes = filled(db)
        db.export_to(tmp_path / "some", format="parquet", collection="notes")
        notes.delete([f"r{at}" for at in range(0, 50, 3)])
        db.export_to(tmp_path / "export", format="parquet", collection="notes")
    some = parquet.read_table(tmp_path / "some/collections/000-notes/records.parquet")["vector"]
    assert some.null_count == 17
    assert str(some.type).startswith("list<")
    table = parquet.read_table(tmp_path / "export/collections/000-notes/records.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types["vector"].startswith("fixed_size_list<") and types["vector"].endswith("[2]")
    assert (types["payload.n"], types["payload.when"]) == ("int64", "timestamp[us, tz=UTC]")
    assert "payload.mixed" not in types
    row = table.slice(0, 1).to_pylist()[0]
    assert row["vector"] == [1.0, 1.5]
    assert row["payload.when"] == datetime(2025, 1, 1, tzinfo=timezone.utc)
    assert json.loads(row["payload"])["mixed"] == 1


def test_the_same_to_be_awaited(tmp_path):
    async def main():
        async with nuthatch.connect_async(":memory:") as db:
            notes = await db.collection("notes", embedder="none")
            await notes.upsert([{"id": "a", "text": "x"}])
            assert (await db.backup(tmp_path / "backups")).backup.rows == 1
            assert (await db.export_to(tmp_path / "export")).records == 1
        async with nuthatch.connect_async(":memory:") as other:
            return (await other.import_from(tmp_path / "export")).records

    assert asyncio.run(main()) == 1


def test_places_that_are_none_are_refused(tmp_path):
    with nuthatch.connect(tmp_path / "data") as db:
        for place in ("", 5, "s3://bucket/backups"):
            with pytest.raises(nuthatch.InvalidError):
                db.backup(place)
        with pytest.raises(nuthatch.InvalidError, match="inside the data folder"):
            db.backup(tmp_path / "data" / "backups")
        with pytest.raises(nuthatch.InvalidError, match="format"):
            db.export_to(tmp_path / "export", format="csv")
    with pytest.raises(nuthatch.NotFoundError, match="holds no backups"):
        nuthatch.backups.list(tmp_path / "nothing")
    with pytest.raises(nuthatch.InvalidError, match="neither or both"):
        nuthatch.backups.delete(tmp_path)
