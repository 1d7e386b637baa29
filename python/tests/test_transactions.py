"""Batches, snapshots and transactions: many writes as one, many reads of one moment, both as if alone."""

from __future__ import annotations

import asyncio
import copy
import inspect
import os
import pickle
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from support import run_python, toy_embed

import nuthatch


class Oops(Exception):
    pass


def state(db):
    """Everything in the keyspace and the collection that the tests write to."""
    return dict(db.kv("keys").items()), {record.id: record.text for record in db.collection("notes")}


def test_a_batch_writes_everything_at_the_end(db, notes):
    notes.upsert([{"id": "old", "text": "old"}])
    db.kv("keys").put_many({"a": "1", "b": "2"})
    with db.batch() as batch:
        keys = batch.kv("keys")
        keys["c"] = "3"
        keys.put("d", "4", ttl=60)
        keys.put_many({"e": "5"}, ttl=timedelta(seconds=60))
        del keys["a"]
        keys.delete(["b", "nowhere"])
        batch.kv("new")["x"] = "y"
        batch.collection("notes").upsert([{"id": "new", "text": "new", "payload": {"n": 1}}])
        batch.collection("notes").upsert(ids=["other"], texts=["other"])
        batch.collection("notes").delete("old")
        batch.collection("notes").delete(["never there"])
        assert state(db) == ({b"a": b"1", b"b": b"2"}, {"old": "old"}), "nothing is written before the end"
    assert state(db) == ({b"c": b"3", b"d": b"4", b"e": b"5"}, {"new": "new", "other": "other"})
    assert db.kv("new")["x"] == b"y"
    assert 50 < db.kv("keys").ttl("d") <= 60
    assert [hit.id for hit in notes.search("new", where="n = 1")] == ["new"]


def test_files_of_a_batch_are_written_with_the_rest_of_it(address, db, notes, tmp_path):
    # A server knows them by names below the folder that was added.
    first = f"{tmp_path.name}/a.md" if address.startswith("http") else tmp_path / "a.md"
    (tmp_path / "a.md").write_text("# First\n\nabout apples\n")
    (tmp_path / "b.md").write_text("# Second\n\nabout pears\n")
    told = []
    with db.batch() as batch:
        report = batch.add_files(tmp_path, notes, on_progress=told.append)
        batch.kv("keys")["files"] = "2"
        assert (report.files_added, notes.count(), len(notes.files())) == (2, 0, 0), "nothing is written before the end"
        with pytest.raises(nuthatch.InvalidError, match="already in this batch"):
            batch.add_files(tmp_path, notes)
    assert told[-1].files_done == 2
    assert (notes.count(), len(notes.files()), db.kv("keys")["files"]) == (2, 2, b"2")
    late = db.batch()
    late.kv("keys")["files"] = "1"
    assert late.remove_files(first, notes) == 1
    notes.remove_files(first)
    with pytest.raises(nuthatch.ConflictError, match="after this batch read it"):
        late.commit()
    assert db.kv("keys")["files"] == b"2"

    async def awaited():
        async with nuthatch.connect_async(":memory:") as db:
            docs = await db.collection("docs", embedder="none")
            async with db.batch() as batch:
                await batch.add_files([tmp_path], docs, prune=True)
            async with db.batch() as batch:
                removed = await batch.remove_files(tmp_path, docs)
            return removed, await docs.count()

    assert asyncio.run(awaited()) == (2, 0)


def test_a_batch_that_raises_writes_nothing(db, notes):
    before = state(db)
    with pytest.raises(Oops), db.batch() as batch:
        batch.kv("keys")["a"] = "1"
        batch.collection("notes").upsert([{"id": "a", "text": "x"}])
        raise Oops
    assert state(db) == before
    for spoil, kind, named in (
        (lambda batch: batch.collection("ghost").upsert([{"id": "a"}]), nuthatch.NotFoundError, "ghost"),
        (lambda batch: batch.kv("keys").put("", "x"), nuthatch.InvalidError, "key is empty"),
        (lambda batch: batch.kv("keys").put("a", 5), nuthatch.InvalidError, "value=5"),
        (lambda batch: batch.collection("notes").upsert([{"id": ""}]), nuthatch.InvalidError, "empty id"),
        (
            lambda batch: batch.collection("notes").upsert([{"id": "a", "x": 1}]),
            nuthatch.InvalidError,
            "unknown key 'x'",
        ),
        (lambda batch: batch.collection("notes").delete(5), nuthatch.InvalidError, "ids=5"),
        (lambda batch: batch.collection(5), nuthatch.InvalidError, "name=5"),
        (lambda batch: batch.kv("a/b").put("a", "x"), nuthatch.InvalidError, "a/b"),
    ):
        with pytest.raises(kind, match=named), db.batch() as batch:
            batch.kv("keys")["good"] = "1"
            batch.collection("notes").upsert([{"id": "good", "text": "x"}])
            spoil(batch)
        assert state(db) == before, named


def test_a_batch_is_over_after_its_commit(db):
    batch = db.batch(durability="os")
    batch.kv("keys")["a"] = "1"
    batch.commit()
    assert db.kv("keys")["a"] == b"1"
    for late in (batch.commit, lambda: batch.kv("keys").put("b", "2")):
        with pytest.raises(nuthatch.ClosedError, match="batch has ended"):
            late()
    with db.batch() as batch:
        batch.kv("keys")["b"] = "2"
        batch.rollback()
    assert "b" not in db.kv("keys")
    with db.batch():
        pass
    with pytest.raises(nuthatch.InvalidError, match="durability"):
        db.batch(durability="now").commit()


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_a_batch_embeds_what_it_upserts(db):
    embedder = nuthatch.embedders.function(toy_embed, name="toy", dim=16)
    texts = db.collection("texts", embedder=embedder)
    with db.batch() as batch:
        batch.collection("texts").upsert([{"id": "a", "text": "red fish"}, {"id": "b", "text": "blue sky"}])
    assert texts.search("red fish", mode="vector")[0].id == "a"


def test_a_snapshot_shows_what_was(db, notes, tmp_path):
    (tmp_path / "note.md").write_text("# Keys\n\nUnder the blue pot.\n")
    files = db.collection("files", embedder="none")
    db.add(tmp_path, files)
    keys = db.kv("keys")
    keys.put_many({f"k{n:04}": str(n) for n in range(1500)})
    notes.upsert([{"id": str(n), "text": f"bird number{n}", "vector": [n, 1], "payload": {"n": n}} for n in range(20)])
    with db.snapshot() as snapshot:
        keys.clear()
        keys["later"] = "x"
        notes.delete(where="n >= 10")
        notes.upsert([{"id": "0", "text": "changed"}, {"id": "later", "text": "bird"}])
        files.remove_files(tmp_path)
        kept, then = snapshot.kv("keys"), snapshot.collection("notes")
        assert (kept.name, then.name) == ("keys", "notes")
        assert kept["k0007"] == b"7"
        assert kept.get("later") is None
        assert kept.get("later", 5) == 5
        assert kept.get_many(["k0001", "later"]) == [b"1", None]
        assert "k1499" in kept
        assert "later" not in kept
        assert len(list(kept)) == len(dict(kept.items())) == 1500
        assert kept.scan(prefix="k000", limit=3).keys == [b"k0000", b"k0001", b"k0002"]
        assert next(kept.values(reverse=True)) == b"1499"
        with pytest.raises(nuthatch.MissingKeyError, match="later"):
            kept["later"]
        assert list(snapshot.kv("never-made")) == []
        assert (then.count(), then.count("n >= 10"), notes.count()) == (20, 10, 11)
        assert then.get("0").text == "bird number0"
        assert then.get(["15", "later"], include=["vector"])[0].vector == [15.0, 1.0]
        assert [record.id for record in then] == [str(n) for n in range(20)]
        assert len(then.scan(where="n < 5", limit=3)) == 3
        assert [hit.id for hit in then.search("number15")] == ["15"]
        assert then.search(vector=[15, 1], limit=1, exact=True)[0].id == "15"
        assert [found[0].id for found in then.search_many(["number3", "number17"])] == ["3", "17"]
        assert [file.passages for file in snapshot.collection("files").files()] == [1]
        assert 0 <= snapshot.age < 60
        assert db.stats().snapshots == 1
        with pytest.raises(nuthatch.NotFoundError, match="ghost"):
            snapshot.collection("ghost")
        assert not hasattr(kept, "put")
        assert not hasattr(then, "upsert")
    assert db.stats().snapshots == 0
    assert db.stats().snapshot_age_seconds == 0
    for late in (lambda: kept["k0007"], lambda: then.count(), lambda: snapshot.kv("keys")):
        with pytest.raises(nuthatch.ClosedError, match="snapshot is closed"):
            late()


def test_a_snapshot_ends_when_it_is_too_old():
    with nuthatch.connect(":memory:", snapshot_age=1.0) as db:
        snapshot = db.snapshot()
        transaction = db.transaction()
        keys = transaction.kv("keys")
        keys["a"] = "1"
        deadline = time.monotonic() + 30
        while snapshot.age <= 1.0:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        with pytest.raises(nuthatch.ConflictError, match="older than 1 s"):
            snapshot.kv("keys")
        with pytest.raises(nuthatch.ConflictError, match="older than"):
            transaction.commit()
        assert list(db.kv("keys")) == []


def test_an_erasure_ends_snapshots_and_transactions_that_begin_anew(address):
    grace = {"erasure_grace": 0.05} if address == ":memory:" else {}
    with nuthatch.connect(address, **grace) as db:
        notes = db.collection("notes", embedder="none")
        notes.upsert([{"id": "secret", "text": "a secret"}, {"id": "b", "text": "open"}])
        db.kv("keys")["a"] = "1"
        snapshot = db.snapshot()
        kept, keys = snapshot.collection("notes"), snapshot.kv("keys")
        assert kept.count() == 2
        rounds = []

        def add(transaction: nuthatch.Transaction) -> None:
            mine = transaction.kv("keys")
            read = mine["a"]
            if not rounds:
                rounds.append(db.erase("notes", "secret"))
            mine["a"] = str(int(read) + 1)

        db.transact(add)
        (receipt,) = rounds
        assert (receipt.deleted_records, receipt.ended_snapshots) == (1, 2)
        assert db.kv("keys")["a"] == b"2"
        for read in (kept.count, lambda: kept.search("secret"), lambda: keys["a"], lambda: list(keys)):
            with pytest.raises(nuthatch.ConflictError, match="deleted permanently"):
                read()
        snapshot.close()
        with db.snapshot() as snapshot:
            assert snapshot.collection("notes").count() == 1


def test_a_transaction_reads_its_own_writes_and_commits_them_together(db, notes):
    notes.upsert([{"id": "old", "text": "old"}])
    keys = db.kv("keys")
    keys.put_many({"a": "1", "b": "2", "c": "3"})
    with db.transaction() as transaction:
        mine = transaction.kv("keys")
        mine["a"] = "mine"
        mine.put("d", "4", ttl=60)
        mine.put_many({"e": "5"})
        del mine["b"]
        mine.delete(["nowhere"])
        assert (mine["a"], mine.get("b"), mine.get_many(["a", "b"])) == (b"mine", None, [b"mine", None])
        assert "d" in mine
        assert list(mine) == [b"a", b"c", b"d", b"e"]
        assert mine.scan(reverse=True, limit=2).keys == [b"e", b"d"]
        with pytest.raises(nuthatch.MissingKeyError):
            del mine["b"]
        with pytest.raises(nuthatch.MissingKeyError):
            mine["b"]
        records = transaction.collection("notes")
        records.upsert([{"id": "new", "text": "new"}])
        records.upsert(ids=["other"], texts=["other"])
        records.delete("old")
        assert records.get("new").text == "new"
        assert records.get(["old", "other"])[0] is None
        assert state(db) == ({b"a": b"1", b"b": b"2", b"c": b"3"}, {"old": "old"}), "nobody else sees it"
    assert state(db) == ({b"a": b"mine", b"c": b"3", b"d": b"4", b"e": b"5"}, {"new": "new", "other": "other"})
    assert 50 < keys.ttl("d") <= 60


def test_a_transaction_that_raises_writes_nothing(db, notes):
    db.kv("keys")["a"] = "1"
    before = state(db)
    with pytest.raises(Oops), db.transaction() as transaction:
        transaction.kv("keys")["a"] = "2"
        transaction.collection("notes").upsert([{"id": "a", "text": "x"}])
        raise Oops
    assert state(db) == before
    with db.transaction() as transaction:
        keys = transaction.kv("keys")
        keys["a"] = "2"
        transaction.rollback()
    assert state(db) == before
    for late in (lambda: keys["a"], lambda: keys.put("a", "3"), transaction.commit):
        with pytest.raises(nuthatch.ClosedError, match="transaction has ended"):
            late()
    with pytest.raises(nuthatch.NotFoundError, match="ghost"), db.transaction() as transaction:
        transaction.collection("ghost")
    with pytest.raises(nuthatch.InvalidError, match="value=5"), db.transaction() as transaction:
        transaction.kv("keys")["a"] = 5
    assert state(db) == before
    with db.transaction() as transaction:
        keys = transaction.kv("keys")
        for wrong in (lambda: keys.put_many([("b", "1"), ("", "2")]), lambda: keys.delete(["a", ""])):
            with pytest.raises(nuthatch.InvalidError, match="key is empty"):
                wrong()
    assert state(db) == before, "a call that raised did nothing, although the transaction went on"


@pytest.mark.parametrize(
    ("read", "change"),
    [
        (lambda t: t.kv("keys")["a"], lambda db, _: db.kv("keys").put("a", "2")),
        (lambda t: t.kv("keys").get("missing"), lambda db, _: db.kv("keys").put("missing", "2")),
        (lambda t: list(t.kv("keys").keys(prefix="r/")), lambda db, _: db.kv("keys").put("r/1", "2")),
        (lambda t: t.kv("keys").put("a", "3"), lambda db, _: db.kv("keys").put("a", "2")),
        (lambda t: t.collection("notes").get("a"), lambda _, notes: notes.upsert([{"id": "a", "text": "changed"}])),
        (lambda t: t.collection("notes").delete("a"), lambda _, notes: notes.upsert([{"id": "a", "text": "changed"}])),
        (lambda t: t.collection("notes").count(), lambda _, notes: notes.upsert([{"id": "z", "text": "x"}])),
        (lambda t: t.collection("notes").search("one"), lambda _, notes: notes.upsert([{"id": "z", "text": "x"}])),
    ],
)
def test_a_transaction_conflicts_with_what_changed_meanwhile(db, notes, read, change):
    db.kv("keys")["a"] = "1"
    notes.upsert([{"id": "a", "text": "one"}])
    with pytest.raises(nuthatch.ConflictError), db.transaction() as transaction:
        read(transaction)
        transaction.kv("written")["x"] = "y"
        change(db, notes)
    assert "x" not in db.kv("written")
    with db.transaction() as transaction:
        transaction.kv("keys").get("a")
        change(db, notes)
    with db.transaction() as transaction:
        read(transaction)
        transaction.kv("written")["x"] = "y"
        db.kv("keys")["elsewhere"] = "z"
    assert db.kv("written")["x"] == b"y"


def test_transact_tries_again_as_often_as_it_is_told(db):
    keys = db.kv("keys")
    tries = []

    def meddle(transaction):
        mine = transaction.kv("keys")
        number = int(mine.get("n", b"0")) + 1
        tries.append(number)
        if len(tries) < 4:
            keys.increment("n")
        mine["n"] = str(number)
        return number

    assert db.transact(meddle, retries=3) == 4
    assert tries == [1, 2, 3, 4]
    assert keys["n"] == b"4"
    tries.clear()
    with pytest.raises(nuthatch.ConflictError):
        db.transact(meddle, retries=2)
    assert len(tries) == 3

    def fail(transaction):
        tries.append(0)
        transaction.kv("keys")["n"] = "lost"
        raise Oops

    tries.clear()
    with pytest.raises(Oops):
        db.transact(fail)
    assert len(tries) == 1
    assert keys["n"] == b"7"
    with pytest.raises(nuthatch.InvalidError, match="retries=-1"):
        db.transact(fail, retries=-1)


def test_threads_move_money_and_none_is_lost(db, notes):
    db.kv("accounts").put_many({str(n): "100" for n in range(5)})

    def move(worker):
        for n in range(25):

            def transfer(transaction, n=n):
                accounts = transaction.kv("accounts")
                source, target = str((worker + n) % 5), str((worker + 2 * n + 1) % 5)
                accounts[source] = str(int(accounts[source]) - 1)
                accounts[target] = str(int(accounts[target]) + 1)
                transaction.collection("notes").upsert([{"id": f"{worker}-{n}", "text": f"{source} to {target}"}])

            db.transact(transfer, retries=1000, durability="os")
            with db.snapshot() as snapshot:
                assert sum(map(int, snapshot.kv("accounts").values())) == 500

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(move, range(4)))
    assert sum(map(int, db.kv("accounts").values())) == 500
    assert notes.count() == 100


def test_a_kill_leaves_a_batch_or_transaction_whole_or_not_at_all(folder):
    script = """
import sys, nuthatch
db = nuthatch.connect(sys.argv[1])
notes = db.collection("notes", embedder="none")
print("begun", flush=True)
for n in range(1_000_000):
    with db.batch(durability="os") as batch:
        batch.kv("one")[str(n)] = "x"
        batch.kv("two")[str(n)] = "x"
        batch.collection("notes").upsert([{"id": str(n), "text": "x"}])
    with db.transaction(durability="os") as transaction:
        transaction.kv("sum")["n"] = str(n)
        transaction.kv("sum")["twice"] = str(2 * n)
"""
    process = run_python(script, str(folder))
    assert process.stdout.readline() == "begun\n", process.stderr.read()
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with nuthatch.connect(folder) as db:
        one = set(db.kv("one"))
        assert one == set(db.kv("two")) == {record.id.encode() for record in db.collection("notes")}
        assert int(db.kv("sum").get("twice", b"0")) == 2 * int(db.kv("sum").get("n", b"0"))


def test_handles_cannot_be_pickled_or_copied(db, notes):
    snapshot, transaction, batch = db.snapshot(), db.transaction(), db.batch()
    handles = [snapshot, transaction, batch]
    handles += [snapshot.kv("k"), snapshot.collection("notes"), transaction.kv("k"), transaction.collection("notes")]
    for handle in handles:
        for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                refuse(handle)
    assert repr(snapshot.kv("k")) == "SnapshotKeyspace('k')"
    assert repr(snapshot.collection("notes")) == "SnapshotCollection('notes')"
    assert repr(transaction.kv("k")) == "TransactionKeyspace('k')"
    assert repr(transaction.collection("notes")) == "TransactionCollection('notes')"
    assert repr(snapshot).startswith("Snapshot(0.")


def test_closing_the_database_ends_them_all(notes):
    db = nuthatch.connect(":memory:")
    snapshot, transaction, batch = db.snapshot(), db.transaction(), db.batch()
    batch.kv("k")["a"] = "1"
    db.close()
    for late in (lambda: snapshot.kv("k"), lambda: transaction.kv("k"), batch.commit, db.snapshot, db.transaction):
        with pytest.raises(nuthatch.ClosedError):
            late()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_can_let_go_of_them(folder):
    script = """
import os, sys, nuthatch
db = nuthatch.connect(sys.argv[1])
db.kv("k")["a"] = "1"
snapshot, transaction = db.snapshot(), db.transaction()
kept, mine = snapshot.kv("k"), transaction.kv("k")
mine["a"] = "2"
pid = os.fork()
if pid == 0:
    del snapshot, transaction, kept, mine
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert kept["a"] == b"1"
transaction.commit()
assert db.kv("k")["a"] == b"2"
print("ok")
"""
    out, err = run_python(script, str(folder)).communicate(timeout=60)
    assert out == "ok\n", err


def public(cls):
    return {name for name in dir(cls) if not name.startswith("_")}


@pytest.mark.parametrize(
    "name",
    [
        "Batch",
        "Snapshot",
        "SnapshotKeyspace",
        "SnapshotCollection",
        "Transaction",
        "TransactionKeyspace",
        "TransactionCollection",
    ],
)
def test_each_of_them_can_be_awaited(name):
    sync, awaited = getattr(nuthatch, name), getattr(nuthatch, f"Async{name}")
    assert public(awaited) - {"sync"} == public(sync)
    for method in public(sync):
        one, other = getattr(sync, method), getattr(awaited, method)
        if isinstance(one, property):
            assert isinstance(other, property), method
            continue
        mine, theirs = inspect.signature(one).parameters, inspect.signature(other).parameters
        assert [(p.name, p.kind, p.default) for p in mine.values()] == [
            (p.name, p.kind, p.default) for p in theirs.values()
        ], method
        is_at_once = name == "Batch" and method in ("kv", "collection", "facts", "graph")
        is_listing = method in ("items", "keys", "values")
        expected = inspect.isasyncgenfunction if is_listing else inspect.iscoroutinefunction
        assert is_at_once or expected(other), method


def test_awaited_batches_snapshots_and_transactions():
    async def main():
        async with nuthatch.connect_async(":memory:") as db:
            notes = await db.collection("notes", embedder="none")
            keys = await db.kv("keys")
            async with db.batch() as batch:
                batch.kv("keys")["a"] = "1"
                batch.collection("notes").upsert([{"id": "a", "text": "red fish"}])
            with pytest.raises(Oops):
                async with db.batch() as batch:
                    batch.kv("keys")["b"] = "1"
                    raise Oops
            assert [key async for key in keys] == [b"a"]
            async with db.snapshot() as snapshot:
                await keys.put("a", "2")
                await notes.delete("a")
                kept, then = await snapshot.kv("keys"), await snapshot.collection("notes")
                assert await kept.get("a") == b"1"
                assert await kept.get_many(["a", "x"]) == [b"1", None]
                assert [entry async for entry in kept.items()] == [(b"a", b"1")]
                assert (await then.get("a")).text == "red fish"
                assert [hit.id for hit in await then.search("fish")] == ["a"]
                assert [record.id async for record in then] == ["a"]
                assert await then.files() == []
                assert snapshot.age >= 0
                assert repr(snapshot).startswith("AsyncSnapshot(")
                assert repr(kept) == "AsyncSnapshotKeyspace('keys')"
            with pytest.raises(nuthatch.ClosedError):
                await kept.get("a")
            snapshot = await db.snapshot()
            await snapshot.close()
            async with db.transaction(durability="os") as transaction:
                mine, records = await transaction.kv("keys"), await transaction.collection("notes")
                await mine.put("b", "3")
                await mine.put_many({"c": "4"})
                await mine.delete("a")
                await records.upsert([{"id": "b", "text": "new"}])
                await records.delete("a")
                assert await mine.get("b") == b"3"
                assert [key async for key in mine] == [b"b", b"c"]
                assert (await records.get("b")).text == "new"
            assert [key async for key in keys] == [b"b", b"c"]
            with pytest.raises(nuthatch.ConflictError):
                async with db.transaction() as transaction:
                    mine = await transaction.kv("keys")
                    await mine.put("b", "lost")
                    await keys.put("b", "first")
            with pytest.raises(Oops):
                async with db.transaction() as transaction:
                    await (await transaction.kv("keys")).put("b", "lost")
                    raise Oops
            transaction = await db.transaction()
            await transaction.rollback()
            with pytest.raises(nuthatch.ClosedError):
                await transaction.commit()
            assert await keys.get("b") == b"first"

            async def count(transaction):
                numbers = await transaction.kv("numbers")
                number = int(await numbers.get("n", b"0")) + 1
                await numbers.put("n", str(number))
                return number

            counted = await asyncio.gather(*(db.transact(count, retries=100) for _ in range(10)))
            assert sorted(counted) == list(range(1, 11))
            batch = db.batch()
            batch.kv("keys")["z"] = "1"
            await batch.rollback()
            with pytest.raises(nuthatch.ClosedError):
                await batch.commit()
            for handle in (batch, transaction, snapshot, mine, kept):
                with pytest.raises(TypeError, match="cannot be pickled"):
                    pickle.dumps(handle)

    asyncio.run(main())
