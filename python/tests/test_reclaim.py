"""Deleting by prefix, reclaiming and erasing, and what the memory is."""

from __future__ import annotations

import asyncio
import random
import struct
import sys
from pathlib import Path

import pytest

import nuthatch


def holds(folder: Path, needle: bytes) -> list[str]:
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return [str(path) for path in files if needle in path.read_bytes()]


def filled(db: nuthatch.Database) -> tuple[nuthatch.Collection, list[float]]:
    dice = random.Random(1)
    vector = [dice.random() for _ in range(8)]
    notes = db.collection("notes", metric="l2", embedder="none")
    notes.upsert([{"id": f"o{n}", "text": f"other {n}", "vector": [float(n)] * 8} for n in range(50)])
    secret = {"id": "s/1", "text": "a zymurgical secret", "vector": vector, "payload": {"by": "qwxzjv"}}
    notes.upsert([secret])
    notes.wait_until_indexed()
    return notes, vector


def test_a_reclaim_leaves_nothing_of_what_was_deleted(folder):
    with nuthatch.connect(folder) as db:
        notes, vector = filled(db)
        needles = [b"zymurgical", b"qwxzjv", struct.pack("<4f", *vector[:4])]
        assert all(holds(folder, needle) for needle in needles)
        assert notes.delete(prefix="s/") == 1
        receipt = db.reclaim()
        assert not any(holds(folder, needle) for needle in needles)
        assert db.receipts() == [receipt]
        assert receipt.collection is None
        assert receipt.deleted_records is None
        assert receipt.bytes_after > 0
        assert len(notes) == 50


def test_erase_deletes_in_every_way(folder):
    with nuthatch.connect(folder) as db:
        notes, _ = filled(db)
        assert db.erase("notes", "o1").deleted_records == 1
        assert db.erase("notes", ["o2", "o3", "nothing"]).deleted_records == 2
        assert db.erase("notes", where="by = 'qwxzjv'").deleted_records == 1
        assert db.erase("notes", prefix="o4").deleted_records == 11
        assert not holds(folder, b"zymurgical")
        assert len(notes) == 36
        path = folder.parent / "page.md"
        path.write_text("# A page\n\nAbout psephology.\n")
        db.add(path, notes)
        notes.wait_until_indexed()
        assert holds(folder, b"psephology")
        assert db.erase("notes", files=path).deleted_records == 1
        assert not holds(folder, b"psephology")


def test_erase_and_delete_want_one_way():
    with nuthatch.connect(":memory:") as db:
        notes = db.collection("notes", embedder="none")
        for call in (
            lambda: db.erase("notes"),
            lambda: db.erase("notes", "a", prefix="b"),
            lambda: notes.delete("a", prefix="b"),
            lambda: notes.delete(prefix=""),
        ):
            with pytest.raises(nuthatch.InvalidError):
                call()
        with pytest.raises(nuthatch.NotFoundError):
            db.reclaim("nothing")


def test_the_async_twins_do_the_same():
    async def main() -> tuple[int | None, int, int]:
        async with nuthatch.connect_async(":memory:") as db:
            notes = await db.collection("notes", embedder="none")
            await notes.upsert([{"id": f"n{n}", "text": "x"} for n in range(5)])
            assert await notes.delete(prefix="n1") == 1
            erased = await db.erase("notes", prefix="n2")
            await db.reclaim()
            return erased.deleted_records, len(await db.receipts()), await notes.count()

    assert asyncio.run(main()) == (1, 2, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells where the memory is")
def test_the_parts_of_memory_sum_to_what_the_system_says():
    with nuthatch.connect(":memory:") as db:
        filled(db)
        memory = db.stats().memory
        system = memory.process_anonymous_bytes + memory.process_file_bytes
        assert abs(memory.accounted_bytes - system) <= system * 0.05
