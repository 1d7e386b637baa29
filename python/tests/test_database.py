"""Opening, closing, sharing, killing."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

import pytest
from support import run_python

import nuthatch


def test_what_was_written_is_there_after_reopening(folder):
    with nuthatch.connect(folder) as db:
        db.collection("notes", dim=2, metric="l2", embedder="none").upsert(
            [{"id": "a", "text": "hello", "vector": [1, 2], "payload": {"n": 1}}]
        )
    with nuthatch.connect(str(folder)) as db:
        notes = db.collection("notes")
        assert notes.get("a", include=("text", "payload", "vector")) == nuthatch.Record(
            "a", "hello", {"n": 1}, None, [1.0, 2.0]
        )
        assert notes.info().metric == "l2"
        assert [hit.id for hit in notes.search("hello")] == ["a"]


def test_a_database_in_memory_is_gone_when_closed():
    db = nuthatch.connect(":memory:")
    path = Path(db.path)
    db.collection("notes", embedder="none").upsert([{"id": "a", "text": "x"}])
    assert path.exists()
    db.close()
    del db
    assert not path.exists()
    assert not Path(":memory:").exists()


def test_two_databases_in_memory_share_nothing():
    with nuthatch.connect(":memory:") as one, nuthatch.connect(":memory:") as other:
        one.collection("notes", embedder="none")
        assert other.collections() == []


def test_a_collection_keeps_its_database_open():
    notes = nuthatch.connect(":memory:").collection("notes", embedder="none")
    notes.upsert([{"id": "a", "text": "hello"}])
    assert notes.search("hello")[0].id == "a"


def test_everything_says_closed_after_close_and_closing_twice_is_fine(folder):
    db = nuthatch.connect(folder)
    notes = db.collection("notes", embedder="none")
    db.close()
    db.close()
    calls = (
        lambda: notes.upsert([{"id": "a", "text": "x"}]),
        lambda: notes.search("x"),
        lambda: notes.get("a"),
        lambda: notes.count(),
        lambda: notes.scan(),
        lambda: notes.delete("a"),
        lambda: notes.files(),
        lambda: notes.info(),
        lambda: notes.wait_until_indexed(1),
        lambda: db.collection("notes"),
        lambda: db.stats(),
        lambda: db.doctor(),
        lambda: db.add("."),
        lambda: db.__enter__(),
    )
    for call in calls:
        with pytest.raises(nuthatch.ClosedError, match="closed"):
            call()
    assert repr(db).endswith(", closed)")
    assert "ClosedError" in repr(notes)
    nuthatch.connect(folder).close()


def test_leaving_the_with_block_closes_even_after_an_error(folder):
    with pytest.raises(RuntimeError), nuthatch.connect(folder) as db:
        raise RuntimeError
    with pytest.raises(nuthatch.ClosedError):
        db.stats()


@pytest.mark.parametrize(
    ("path", "error", "named"),
    [
        ("", nuthatch.InvalidError, "names no folder"),
        (5, nuthatch.InvalidError, "of type int"),
        (b"bytes", nuthatch.InvalidError, "names no folder"),
        ("ftp://example.org", nuthatch.InvalidError, "is not a server address"),
    ],
)
def test_what_is_no_path_is_refused(path, error, named):
    with pytest.raises(error, match=named):
        nuthatch.connect(path)


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(nuthatch.InvalidError, match="do not belong to Nuthatch"):
        nuthatch.connect(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(nuthatch.InvalidError, match="is a file"):
        nuthatch.connect(tmp_path / "letter.txt")


def test_create_false_wants_a_folder_that_is_there(folder):
    with pytest.raises(nuthatch.NotFoundError, match="not a Nuthatch data folder"):
        nuthatch.connect(folder, create=False)
    assert not folder.exists()


@pytest.mark.parametrize("budget", [33 << 20, "64MiB", "0.1 GB", "65536 kib"])
def test_a_memory_budget_is_bytes_or_text(budget):
    with nuthatch.connect(":memory:", memory_budget=budget) as db:
        assert 33 << 20 <= db.stats().memory.budget_bytes <= 100_000_000


@pytest.mark.parametrize("budget", [0, 1 << 20, -1, "64 parsecs", "MiB", "1e999GB", 3.5, True])
def test_a_memory_budget_that_cannot_work_is_refused(budget):
    with pytest.raises(nuthatch.InvalidError, match="budget"):
        nuthatch.connect(":memory:", memory_budget=budget)


@pytest.mark.not_over("http", "a server knows a collection by its name and not by a handle")
def test_collections_are_listed_and_dropped(db):
    db.collection("b", dim=3, embedder="none")
    db.collection("a", embedder="none", language="german")
    assert [(info.name, info.dim, info.language) for info in db.collections()] == [
        ("a", None, "german"),
        ("b", 3, "english"),
    ]
    gone = db.collection("b")
    assert db.drop_collection("b") is True
    assert db.drop_collection("b") is False
    with pytest.raises(nuthatch.NotFoundError, match='"b" was dropped'):
        gone.upsert([{"id": "x", "text": "x"}])
    assert db.collection("b", embedder="none").count() == 0


def test_stats_count_rows_and_bytes_by_part(folder):
    with nuthatch.connect(folder) as db:
        notes = db.collection("notes", embedder="none")
        notes.upsert([{"id": str(n), "text": f"text {n}", "payload": {"n": n}} for n in range(100)])
        stats = db.stats()
        assert stats.collections == [notes.info()]
        assert stats.collections[0].fields == {"n": ["int"]}
        assert stats.disk.total_bytes >= stats.disk.store_bytes > 0
        with pytest.warns(DeprecationWarning, match="use store_bytes"):
            assert stats.disk.truth_bytes == stats.disk.store_bytes
        for part in ("cache", "write_buffer", "table_reader"):
            with pytest.warns(DeprecationWarning, match=f"use store_{part}_bytes"):
                old = getattr(stats.memory, f"truth_{part}_bytes")
            assert old == getattr(stats.memory, f"store_{part}_bytes")
        parts = stats.memory
        assert 0 < parts.engine_bytes <= parts.budget_bytes
        on_disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        assert stats.disk.total_bytes == pytest.approx(on_disk, rel=0.2)


def test_threads_may_share_one_database(db):
    notes = db.collection("notes", embedder="none")

    def write(worker):
        for n in range(20):
            notes.upsert([{"id": f"{worker}-{n}", "text": f"word{worker}", "payload": {"n": n}}])
            assert notes.search(f"word{worker}", limit=1)

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert notes.count() == 80


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_other_threads_run_while_the_engine_works(db):
    """A thread that held the interpreter would keep the embedder's own thread from ever being heard."""
    entered, leave = threading.Event(), threading.Event()

    def slow(texts):
        entered.set()
        assert leave.wait(30)
        return [[1.0, 2.0]] * len(texts)

    slow_one = db.collection("slow", embedder=nuthatch.embedders.function(slow, name="slow", dim=2))
    other = db.collection("other", embedder="none")
    writer = threading.Thread(target=lambda: slow_one.upsert([{"id": "a", "text": "x"}]))
    writer.start()
    assert entered.wait(30)
    other.upsert([{"id": "b", "text": "meanwhile"}])
    assert other.search("meanwhile")[0].id == "b"
    leave.set()
    writer.join(30)
    assert slow_one.count() == 1


WRITER = """
import sys, nuthatch
db = nuthatch.connect(sys.argv[1])
notes = db.collection("notes", embedder="none")
start = notes.count()
for n in range(start, 1_000_000):
    notes.upsert([{"id": f"{n}-{part}", "text": f"number {n}", "vector": [n, part + 1], "payload": {"n": n}} for part in range(3)])
    print(n)
"""


def test_every_acknowledged_write_survives_kill_9_and_none_is_half_there(folder):
    acknowledged = -1
    for round in range(4):
        writer = run_python(WRITER, str(folder))
        for _ in range(5 + 17 * round):
            line = writer.stdout.readline()
            assert line, writer.stderr.read()
            acknowledged = int(line)
        writer.kill()
        # The numbers still in the pipe were acknowledged as well.
        rest = [int(line) for line in writer.communicate()[0].split("\n")[:-1] if line]
        acknowledged = max([acknowledged, *rest])
        with nuthatch.connect(folder) as db:
            notes = db.collection("notes")
            numbers = sorted({record.payload["n"] for record in notes})
            assert notes.count() == 3 * len(numbers)
            assert all(notes.get(f"{acknowledged}-{part}") for part in range(3))
            assert [
                hit.payload["n"] for hit in notes.search(f"number {acknowledged}", where=f"n = {acknowledged}")
            ] == [acknowledged] * 3
            assert len(numbers) - 1 <= acknowledged * 3
            assert db.doctor().is_well


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.not_over("http", "it is about a database in memory")
@pytest.mark.not_over("socket", "it is about a database in memory")
def test_a_fork_of_a_database_in_memory_gets_a_clear_error_and_does_not_hang(db):
    notes = db.collection("notes", embedder="none")
    notes.upsert([{"id": "a", "text": "x"}])
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def child():
        try:
            notes.search("x")
            answers.put("answered")
        except nuthatch.ClosedError as error:
            answers.put(str(error))

    process = context.Process(target=child)
    process.start()
    process.join(30)
    assert process.exitcode == 0
    assert "its fork" in answers.get()
    assert notes.search("x")[0].id == "a"


def test_a_flipped_byte_in_the_truth_is_named_by_the_doctor(folder):
    with nuthatch.connect(folder) as db:
        notes = db.collection("notes", embedder="none")
        notes.upsert([{"id": str(n), "text": f"text {n}"} for n in range(200)])
    tables = sorted((folder / "truth").glob("*.sst"), key=lambda path: path.stat().st_size)
    assert tables, "closing writes the truth's tables"
    damaged = tables[-1]
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    try:
        with nuthatch.connect(folder) as db:
            findings = db.doctor().findings
        assert any(finding.path.name == damaged.name and finding.remedy for finding in findings)
    except nuthatch.CorruptError as error:
        assert damaged.name in str(error) or (error.path and error.path.name == damaged.name)


def test_interrupting_a_wait_is_heard(folder):
    assert sys.platform != "win32"
    script = """
import sys, nuthatch
db = nuthatch.connect(sys.argv[1])
notes = db.collection("notes", embedder=nuthatch.embedders.function(lambda t: [[1.0, 2.0]] * len(t), name="f", dim=2))
try:
    print("ready")
    while True:
        notes.upsert([{"id": "a", "text": "x"}])
        notes.wait_until_indexed()
except KeyboardInterrupt:
    print("interrupted", notes.count())
"""
    process = run_python(script, str(folder))
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out.startswith("interrupted"), err


def test_a_missing_index_costs_time_and_not_answers(folder):
    """Deleting ``indexes/`` is allowed: searches are right at once and say that they are degraded, until it is rebuilt."""
    words = ["apple", "birch", "cedar", "daisy", "elder", "ferns"]
    rows = 20_000
    with nuthatch.connect(folder) as db:
        notes = db.collection("notes", dim=4, metric="l2", embedder="none")
        for start in range(0, rows, 5000):
            several = range(start, start + 5000)
            notes.upsert(
                ids=[str(n) for n in several],
                texts=[f"{words[n % 6]} {words[n // 6 % 6]} number{n}" for n in several],
                vectors=[[n, n % 7, n % 11, 0] for n in several],
                payloads=[{"n": n} for n in several],
            )
        assert notes.wait_until_indexed()

        def answers(notes):
            asked = (
                notes.search("number12345"),
                notes.search(vector=[777, 0, 7, 0], limit=5),
                notes.search("apple birch", vector=[500, 3, 5, 0], where="n between 400 and 4000"),
            )
            return [[(hit.id, round(hit.score, 4)) for hit in results] for results in asked], asked[0].degraded

        expected, degraded = answers(notes)
        assert degraded == []
    shutil.rmtree(folder / "indexes")
    with nuthatch.connect(folder) as db:
        notes = db.collection("notes")
        first = notes.search("number12345")
        assert first[0].id == "12345"
        assert first.degraded, "the first search came before the indexes were rebuilt"
        assert answers(notes)[0] == expected
        assert notes.wait_until_indexed()
        assert answers(notes) == (expected, [])
        assert db.doctor().is_well


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_does_not_keep_the_folder_locked(folder):
    db = nuthatch.connect(folder)
    context = multiprocessing.get_context("fork")
    leave = context.Event()
    process = context.Process(target=leave.wait, args=(60,))
    process.start()
    try:
        db.close()
        nuthatch.connect(folder).close()
        assert process.is_alive(), "it waited for the child"
    finally:
        leave.set()
        process.join(30)
    assert process.exitcode == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"memory_budget": "1MiB"}, "32 MiB"),
        ({"build_memory": "much"}, "build_memory='much'.*64MiB"),
        ({"build_memory": -1}, "build_memory=-1"),
        ({"build_threads": 0}, "build_threads=0; give 1 or more"),
        ({"build_threads": "two"}, "build_threads='two'"),
        ({"mapped": 1}, "mapped=1.*True or False"),
    ],
)
def test_options_that_cannot_work_open_nothing(folder, options, named):
    with pytest.raises(nuthatch.InvalidError, match=named):
        nuthatch.connect(folder, **options)
    assert not folder.exists()


def test_a_folder_answers_the_same_mapped_and_read(folder):
    def answers(**options):
        with nuthatch.connect(folder, **options) as db:
            points = db.collection("points", metric="l2", embedder="none")
            return [[(hit.id, hit.score) for hit in points.search(vector=[n, 0], limit=5)] for n in range(0, 500, 50)]

    with nuthatch.connect(folder, build_memory=1 << 30, build_threads=1) as db:
        points = db.collection("points", metric="l2", embedder="none")
        points.upsert(ids=[str(n) for n in range(500)], vectors=[[n, n % 3] for n in range(500)])
        assert points.optimize()
    assert answers(mapped=True) == answers(mapped=False)
