"""Many processes, one folder: who holds it serves the others, and when it goes another takes over."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import run_python, toy_embed

import nuthatch

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs Unix sockets")

HOLD = """
import sys, nuthatch
db = nuthatch.connect(sys.argv[1], program="the holder")
notes = db.collection("notes", embedder="none")
print("open", flush=True)
for line in sys.stdin:
    if line == "close\\n":
        db.close()
        print("closed", flush=True)
"""


@contextlib.contextmanager
def held(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the folder."""
    process = run_python(HOLD, str(folder))
    try:
        assert process.stdout.readline() == "open\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_second_process_has_the_same_calls(folder):
    with held(folder) as holder, nuthatch.connect(folder) as db:
        assert (db.holder.pid, db.holder.program, db.holder.is_this) == (holder.pid, "the holder", False)
        assert db.path == str(folder)
        notes = db.collection("notes", embedder="none")
        assert notes.upsert([{"id": "a", "text": "how to reset a password", "payload": {"n": 1, "tags": ["x"]}}]) == (
            nuthatch.Upserted(1, 0)
        )
        assert notes.upsert(ids=["b", "c"], vectors=[[1, 0], [0, 1]]).inserted == 2
        assert [hit.id for hit in notes.search("password", where="n = 1")] == ["a"]
        assert notes.search("password", explain=True).explain["mode"] == "text"
        assert [[hit.id for hit in hits] for hits in notes.search_many(vectors=[[1, 0], [0, 1]], limit=1)] == [
            ["b"],
            ["c"],
        ]
        assert notes.search(like="b")[0].id == "c"
        assert notes.get("a").payload == {"n": 1, "tags": ["x"]}
        assert notes.count("n = 1") == 1 and len(list(notes.scan())) == 3
        assert notes.wait_until_indexed() and notes.optimize()
        assert notes.delete("b") == 1 and notes.delete(where="n = 1") == 1
        assert notes.info().rows == 1 == db.stats().collections[0].rows
        assert db.doctor().is_well
        with pytest.raises(nuthatch.InvalidError, match="2 dimensions|dim"):
            notes.upsert([{"id": "x", "vector": [1, 2, 3]}])
        with pytest.raises(nuthatch.NotFoundError, match="there are: notes"):
            db._core.existing_collection("nothing")
        assert db.drop_collection("notes")
        with pytest.raises(nuthatch.NotFoundError, match="was dropped"):
            notes.count()


def test_files_are_added_by_a_served_process_with_its_own_paths(folder, tmp_path, monkeypatch):
    (tmp_path / "papers").mkdir()
    for n in range(5):
        (tmp_path / "papers" / f"{n}.md").write_text(f"# Paper {n}\n\nAbout thing{n}.\n")
    monkeypatch.chdir(tmp_path)
    told = []
    with held(folder), nuthatch.connect(folder) as db:
        documents = db.collection("documents", embedder="none")
        report = db.add("papers", documents, on_progress=told.append)
        assert (report.files_added, report.passages_added) == (5, 5)
        assert told[-1].files_done == 5
        assert documents.search("thing3")[0].payload["name"] == "3.md"
        assert len(documents.files()) == 5


def test_a_handle_that_is_made_later_has_the_embedder_that_this_process_gave(folder):
    toy = nuthatch.embedders.function(toy_embed, name="toy", dim=16)
    with held(folder), nuthatch.connect(folder) as db:
        db.collection("texts", embedder=toy)
        later = db.collection("texts")
        assert later.upsert([{"id": "a", "text": "red fish"}]) == nuthatch.Upserted(1, 0)
        assert later.search("red fish", mode="vector")[0].id == "a"
        db.drop_collection("texts")
        assert db.collection("texts", embedder="none").info().embedder is None, (
            "another of the same name is another one"
        )


def test_when_the_holder_is_killed_another_takes_over(folder):
    with held(folder) as holder, nuthatch.connect(folder) as first, nuthatch.connect(folder) as second:
        mine, yours = first.collection("notes"), second.collection("notes")
        mine.upsert([{"id": "before", "text": "words"}])
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert yours.upsert([{"id": "after", "text": "words"}]) == nuthatch.Upserted(1, 0)
        assert sorted(hit.id for hit in mine.search("words")) == ["after", "before"]
        assert [first.holder.is_this, second.holder.is_this].count(True) == 1
        assert first.holder.pid == os.getpid()


def test_calls_under_way_outlive_a_holder_that_is_killed(folder):
    """Threads write without a pause while one holder after the other is killed; every write is answered, once."""
    stop = threading.Event()
    failures: list[BaseException] = []
    written = [0] * 4

    def write(worker: int, notes: nuthatch.Collection) -> None:
        try:
            while not stop.is_set():
                record = {"id": f"{worker}-{written[worker]}", "text": f"words of {worker}"}
                assert notes.upsert([record]) == nuthatch.Upserted(1, 0), "done twice"
                written[worker] += 1
        except BaseException as error:
            failures.append(error)

    with held(folder) as holder, nuthatch.connect(folder) as db:
        notes = db.collection("notes")
        with held(folder) as next_holder:
            threads = [threading.Thread(target=write, args=(worker, notes)) for worker in range(4)]
            for thread in threads:
                thread.start()
            while sum(written) < 50:
                assert not failures
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            at_kill = sum(written)
            while sum(written) < at_kill + 50:
                assert not failures
            next_holder.send_signal(signal.SIGKILL)  # it took over, or is served by this process
            next_holder.wait()
            at_kill = sum(written)
            while sum(written) < at_kill + 50:
                assert not failures
            stop.set()
            for thread in threads:
                thread.join()
        assert not failures
        assert notes.count() == sum(written)


def test_when_the_holder_closes_another_takes_over(folder):
    with held(folder) as holder, nuthatch.connect(folder) as db:
        notes = db.collection("notes")
        holder.stdin.write("close\n")
        holder.stdin.flush()
        for n in range(50):
            assert notes.upsert([{"id": str(n), "text": "words"}]).inserted == 1
        assert holder.stdout.readline() == "closed\n"
        assert notes.upsert([{"id": "last", "text": "words"}]).inserted == 1
        assert db.holder.is_this and notes.count() == 51


def test_a_python_embedder_is_called_where_it_lives(folder):
    with held(folder), nuthatch.connect(folder) as db:
        threads = set()

        def embed(texts):
            threads.add(threading.get_ident())
            if "bad" in texts:
                raise RuntimeError("no vector for this")
            return toy_embed(texts)

        embedder = nuthatch.embedders.function(embed, name="toy", dim=16)
        notes = db.collection("embedded", embedder=embedder)
        notes.upsert([{"id": "a", "text": "red apples"}, {"id": "b", "text": "blue sky"}])
        assert notes.search("apples red", mode="vector")[0].id == "a"
        assert [hits[0].id for hits in notes.search_many(["red apples", "blue sky"], mode="vector")] == ["a", "b"]
        with pytest.raises(nuthatch.UnavailableError, match="no vector for this") as caught:
            notes.upsert([{"id": "c", "text": "bad"}])
        assert isinstance(caught.value.__cause__, RuntimeError)
        assert threads and notes.count() == 2


def test_a_snapshot_in_another_process_is_of_one_moment_and_goes_with_it(folder):
    with held(folder) as holder, nuthatch.connect(folder) as db:
        notes, settings = db.collection("notes"), db.kv("settings")
        notes.upsert([{"id": "a", "text": "words"}])
        settings["k"] = "then"
        with db.snapshot() as snapshot:
            settings["k"] = "now"
            notes.delete("a")
            assert snapshot.kv("settings")["k"] == b"then"
            assert dict(snapshot.kv("settings").items()) == {b"k": b"then"}
            kept = snapshot.collection("notes")
            assert [hit.id for hit in kept.search("words")] == ["a"] and len(list(kept.scan())) == 1
            assert kept.get("a").text == "words" and kept.count() == 1
            assert 0 <= snapshot.age < 60
            assert db.stats().snapshots == 1
        with pytest.raises(nuthatch.ClosedError):
            snapshot.kv("settings")
        snapshot = db.snapshot()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with pytest.raises(nuthatch.ConflictError, match="begin another one"):
            snapshot.kv("settings")
        assert db.snapshot().kv("settings")["k"] == b"now"


def test_transactions_of_a_served_process_conflict_and_are_run_again(folder):
    with held(folder), nuthatch.connect(folder) as db, nuthatch.connect(folder) as other:
        db.kv("accounts").put_many({"anna": "10", "ben": "0"})
        with db.transaction() as transaction:
            accounts = transaction.kv("accounts")
            accounts["anna"] = str(int(accounts["anna"]) - 4)
            accounts["ben"] = str(int(accounts["ben"]) + 4)
            assert accounts["ben"] == b"4"
            transaction.collection("notes").upsert([{"id": "paid", "text": "four to ben"}])
        assert dict(other.kv("accounts").items()) == {b"anna": b"6", b"ben": b"4"}
        assert other.collection("notes").get("paid").text == "four to ben"
        with pytest.raises(nuthatch.ConflictError, match="anna"), db.transaction() as transaction:
            accounts = transaction.kv("accounts")
            accounts["ben"] = accounts["anna"]
            other.kv("accounts")["anna"] = "7"
        assert db.kv("accounts")["ben"] == b"4"

        def count(transaction):
            numbers = transaction.kv("numbers")
            numbers["n"] = str(int(numbers.get("n", b"0")) + 1)

        threads = [
            threading.Thread(target=lambda handle=handle: [handle.transact(count, retries=1000) for _ in range(20)])
            for handle in (db, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert db.kv("numbers")["n"] == b"40"


def test_snapshots_and_transactions_of_a_served_process_can_be_awaited(folder):
    async def main() -> None:
        async with nuthatch.connect_async(folder) as db:
            settings = await db.kv("settings")
            await settings.put("k", "1")

            async def twice(transaction):
                inside = await transaction.kv("settings")
                value = int(await inside.get("k"))
                await inside.put("k", str(value * 2))
                return value

            assert await db.transact(twice) == 1
            async with db.snapshot() as snapshot:
                assert await (await snapshot.kv("settings")).get("k") == b"2"

    with held(folder):
        asyncio.run(main())


def test_a_transaction_goes_on_with_the_next_holder(folder):
    with held(folder) as holder, nuthatch.connect(folder) as db:
        runs = []

        def move(transaction):
            runs.append(1)
            if len(runs) == 1:
                holder.send_signal(signal.SIGKILL)
                holder.wait()
            numbers = transaction.kv("numbers")
            numbers["n"] = str(int(numbers.get("n", b"0")) + 1)

        db.transact(move)
        assert len(runs) == 2 and db.kv("numbers")["n"] == b"1"


def test_backups_exports_and_imports_of_a_served_process(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = []
    with held(folder), nuthatch.connect(folder) as db:
        db.collection("notes").upsert([{"id": str(n), "text": f"word{n}"} for n in range(50)])
        db.kv("settings")["k"] = "v"
        report = db.backup("backups", on_progress=told.append)
        assert report.backup.rows == 50 and told[-1].bytes_done == told[-1].bytes_total > 0
        assert [backup.id for backup in nuthatch.backups.list("backups")] == [report.backup.id]
        assert nuthatch.backups.verify("backups").is_well
        nuthatch.restore("backups", "restored")
        with pytest.raises(nuthatch.InvalidError, match="inside the data folder"):
            db.backup(folder / "inside")
        report = db.export_to("exported")
        assert (report.records, report.keys) == (50, 1)
        assert len((tmp_path / "exported/collections/000-notes/records.jsonl").read_text().splitlines()) == 50
    with nuthatch.connect(tmp_path / "restored") as restored:
        assert restored.collection("notes").count() == 50 and restored.kv("settings")["k"] == b"v"
    other = tmp_path / "other"
    with held(other), nuthatch.connect(other) as db:
        db.drop_collection("notes")
        assert db.import_from("exported").records == 50
        assert db.collection("notes").search("word7")[0].id == "7" and db.kv("settings")["k"] == b"v"


def test_an_exclusive_folder_is_refused_with_pid_program_since_and_remedy(folder):
    alone = "import sys, nuthatch; db = nuthatch.connect(sys.argv[1], exclusive=True, program='alone')"
    holder = run_python(f"{alone}; print('open'); sys.stdin.read()", str(folder))
    try:
        assert holder.stdout.readline() == "open\n"
        named = rf"pid {holder.pid} \(alone\) since 20\d\d-.*opened as exclusive; close it there"
        with pytest.raises(nuthatch.ConflictError, match=named):
            nuthatch.connect(folder)
    finally:
        holder.communicate()
    with held(folder) as sharing, pytest.raises(nuthatch.ConflictError, match=rf"pid {sharing.pid} \(the holder\)"):
        nuthatch.connect(folder, exclusive=True)
    nuthatch.connect(folder, exclusive=True).close()


def test_a_second_handle_in_this_process_is_served_by_the_first(folder):
    with nuthatch.connect(folder) as first, nuthatch.connect(folder) as second:
        notes = second.collection("notes", embedder="none")
        notes.upsert([{"id": "a", "text": "words"}])
        assert first.holder.is_this and not second.holder.is_this
        first.close()
        assert notes.search("words")[0].id == "a"
        assert second.holder.is_this


def test_async_calls_are_served_too(folder):
    async def main():
        async with nuthatch.connect_async(folder) as db:
            notes = await db.collection("notes")
            await asyncio.gather(*(notes.upsert([{"id": str(n), "text": f"word{n}"}]) for n in range(20)))
            found = await asyncio.gather(*(notes.search(f"word{n}") for n in range(20)))
            assert [hits[0].id for hits in found] == [str(n) for n in range(20)]
            assert not (await db.holder()).is_this

    with held(folder):
        asyncio.run(main())


def fork(body) -> tuple[multiprocessing.Process, multiprocessing.SimpleQueue]:
    """A fork of this process, and where it puts what ``body`` returns."""
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def run():
        try:
            answers.put(body())
        except nuthatch.NuthatchError as error:
            answers.put(f"{type(error).__name__}: {error}")

    process = context.Process(target=run)
    process.start()
    return process, answers


def join(process: multiprocessing.Process) -> None:
    process.join(60)
    hangs = process.is_alive()
    process.kill()
    assert not hangs and process.exitcode == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_goes_on_with_what_its_parent_opened(folder):
    with nuthatch.connect(folder) as db:
        notes = db.collection("notes", embedder="none")
        notes.upsert([{"id": "parent", "text": "words"}])

        def child():
            notes.upsert([{"id": "child", "text": "words"}])
            return db.holder.pid, db.holder.is_this, sorted(hit.id for hit in notes.search("words"))

        process, answers = fork(child)
        join(process)
        assert answers.get() == (os.getpid(), False, ["child", "parent"])
        assert notes.upsert([{"id": "later", "text": "words"}]).inserted == 1
        assert notes.count() == 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_of_a_served_process_may_hold_the_folder_itself(folder):
    """The interpreter of these tests has held folders, so the one that forks here is another."""
    script = """
import os, signal, sys, nuthatch
db = nuthatch.connect(sys.argv[1])
notes = db.collection("notes")
print("open", flush=True)
sys.stdin.readline()
child = os.fork()
if child == 0:
    os.close(0)
    import time
    while notes.upsert([{"id": "child", "text": "words"}]) and not db.holder.is_this:
        time.sleep(0.01)
    print("child holds", notes.count(), flush=True)
    os._exit(0)
print("forked", flush=True)
os.waitpid(child, 0)
print("parent reads", notes.count(), flush=True)
"""
    with held(folder) as holder:
        served = run_python(script, str(folder))
        try:
            assert served.stdout.readline() == "open\n"
            served.stdin.write("go\n")
            served.stdin.flush()
            assert served.stdout.readline() == "forked\n"
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            assert served.stdout.readline() == "child holds 1\n"
            assert served.stdout.readline() == "parent reads 1\n"
        finally:
            served.kill()
            served.communicate()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_that_cannot_hold_the_folder_says_so(folder):
    db = nuthatch.connect(folder)
    notes = db.collection("notes", embedder="none")
    go = multiprocessing.get_context("fork").Event()

    def child():
        go.wait(60)
        return notes.count()

    process, answers = fork(child)
    db.close()
    go.set()
    join(process)
    answer = answers.get()
    assert answer.startswith("UnavailableError: no other process holds"), answer
    assert f"forked from process {os.getpid()}" in answer and "spawn" in answer


FORKS_AFTER_CLOSING = """
import multiprocessing, os, sys, nuthatch

def write(folder, id):
    with nuthatch.connect(folder) as db:
        notes = db.collection("notes", embedder="none")
        notes.upsert([{"id": id, "text": "words", "vector": [1.0, 2.0]}])
        notes.wait_until_indexed()
        assert db.holder.pid == os.getpid() and db.holder.is_this
        return sorted(hit.id for hit in notes.search("words"))

write(sys.argv[1], "parent")
child = os.fork()
if child == 0:
    write(sys.argv[1], "forked")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
with multiprocessing.get_context("fork").Pool(1) as pool:
    pool.apply(write, (sys.argv[1], "pool"))
process = multiprocessing.get_context("fork").Process(target=write, args=(sys.argv[1], "process"))
process.start()
process.join()
assert process.exitcode == 0
print(write(sys.argv[1], "last"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody tells when the store's threads have ended")
def test_a_fork_of_a_process_that_has_closed_what_it_opened_can_open_folders(folder):
    """As gunicorn, Celery and multiprocessing do. The interpreter of these tests may have others open."""
    process = run_python(FORKS_AFTER_CLOSING, str(folder))
    try:
        answer, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert answer == "['forked', 'last', 'parent', 'pool', 'process']\n", errors


def test_a_killed_holder_whose_fork_lives_on_is_replaced(folder):
    """The fork has the lock's descriptor, the socket's, and every connection's; nothing of it may be waited for."""
    script = """
import os, sys, nuthatch
db = nuthatch.connect(sys.argv[1], program="forking")
notes = db.collection("notes", embedder="none")
child = os.fork()
if child == 0:
    sys.stdin.read()
    os._exit(0)
print(child, flush=True)
sys.stdin.read()
"""
    holder = run_python(script, str(folder))
    try:
        child = int(holder.stdout.readline())
        with nuthatch.connect(folder) as db:
            notes = db.collection("notes", embedder="none")
            notes.upsert([{"id": "a", "text": "words"}])
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            os.kill(child, 0)
            assert notes.upsert([{"id": "b", "text": "words"}]).inserted == 1
            assert db.holder.is_this
            code = "import sys, nuthatch; db = nuthatch.connect(sys.argv[1])\n"
            code += "print(db.collection('notes').count(), db.holder.is_this)"
            out = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=60)
            assert out.stdout == "2 False\n", out.stderr
    finally:
        holder.communicate()
