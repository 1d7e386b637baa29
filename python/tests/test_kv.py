"""Keys and values: a dict on the disk, with expiry, counters, scans, and durability by write."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from support import run_python

import nuthatch


@pytest.fixture
def kv(db):
    return db.kv("test")


def test_it_reads_and_writes_like_a_dict(kv):
    kv["a"] = b"1"
    kv[b"b"] = "zwei ä"
    kv[bytearray(b"c")] = memoryview(b"\x00\xff")
    assert (kv["a"], kv["b"], kv[b"c"]) == (b"1", "zwei ä".encode(), b"\x00\xff")
    assert "a" in kv
    assert b"x" not in kv
    assert kv.get("x") is None
    assert kv.get("x", 5) == 5
    assert list(kv) == [b"a", b"b", b"c"]
    assert dict(kv.items()) == {b"a": b"1", b"b": "zwei ä".encode(), b"c": b"\x00\xff"}
    assert list(kv.values()) == [b"1", "zwei ä".encode(), b"\x00\xff"]
    del kv["a"]
    assert list(kv.keys(reverse=True)) == [b"c", b"b"]
    assert kv, "an empty keyspace, or a full one, is still a keyspace"
    with pytest.raises(TypeError, match="len"):
        len(kv)


def test_a_missing_key_is_a_key_error_that_names_it(kv):
    for ask in (lambda: kv["ghost"], lambda: kv.__delitem__("ghost"), lambda: kv.ttl("ghost")):
        with pytest.raises(KeyError, match="no key 'ghost' in keyspace 'test'") as raised:
            ask()
        assert isinstance(raised.value, nuthatch.NotFoundError)
        assert isinstance(raised.value, nuthatch.MissingKeyError)
        assert str(raised.value) == "no key 'ghost' in keyspace 'test'"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_several_at_once(kv):
    kv.put_many({"a": "1", b"b": b"2"})
    kv.put_many((str(n), str(n)) for n in range(3))
    kv.put_many([("a", "old"), ("a", "new")])
    assert kv.get_many(["b", "nowhere", b"a"]) == [b"2", None, b"new"]
    assert kv.delete(["0", "1", "nowhere"]) == 2
    assert kv.delete("2") == 1
    assert kv.delete("2") == 0
    assert kv.delete([]) == 0
    assert list(kv) == [b"a", b"b"]


def test_a_batch_with_a_bad_entry_changes_nothing(kv):
    with pytest.raises(nuthatch.InvalidError, match="key is empty"):
        kv.put_many([("good", "1"), ("", "2")])
    with pytest.raises(nuthatch.InvalidError, match=r"the value of key 'bad'=5"):
        kv.put_many({"good": "1", "bad": 5})
    assert list(kv) == []


def test_keys_expire(kv):
    kv.put("soon", "x", ttl=0.05)
    kv.put("later", "x", ttl=timedelta(hours=1))
    kv.put_many({"many": "x"}, ttl=60)
    kv.put("never", "x")
    # However long the machine takes between two calls, the one has minutes and the other at most one.
    assert 60 < kv.ttl("later") <= 3600
    assert 0 < kv.ttl("many") <= 60
    assert kv.ttl("never") is None
    deadline = time.monotonic() + 30
    while "soon" in kv:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert kv.get("soon") is None
    assert list(kv) == [b"later", b"many", b"never"]
    assert kv.expire("later", None)
    assert kv.ttl("later") is None
    assert kv.expire("later", 5)
    assert 0 < kv.ttl("later") <= 5
    assert not kv.expire("ghost", 5)
    assert kv.compare_and_set("later", "x", "y", ttl=100)
    assert 90 < kv.ttl("later") <= 100


def test_counters_appends_and_compare_and_set(kv):
    assert [kv.increment("n"), kv.increment("n", 10), kv.increment("n", -12)] == [1, 11, -1]
    assert kv["n"] == b"-1"
    kv["n"] = str(2**63 - 1)
    with pytest.raises(nuthatch.InvalidError, match="64 bits"):
        kv.increment("n")
    kv["text"] = "seven"
    with pytest.raises(nuthatch.InvalidError, match="text.*not a 64-bit integer"):
        kv.increment("text")
    assert kv.append("text", " birds") == 11
    assert kv.append("new", b"") == 0
    assert kv["text"] == b"seven birds"
    assert kv.compare_and_set("lock", None, "me")
    assert not kv.compare_and_set("lock", None, "you")
    assert not kv.compare_and_set("lock", "you", "me")
    assert kv.compare_and_set("lock", "me", None)
    assert "lock" not in kv


def test_scans_have_pages_ranges_and_both_directions(kv):
    kv.put_many({f"a{n:02}": str(n) for n in range(25)})
    kv.put_many({"b": "x", b"\xff\xff": "y"})
    page = kv.scan(prefix="a", limit=10)
    assert isinstance(page, nuthatch.KeyPage)
    assert (len(page), page[0], page.keys[-1]) == (10, (b"a00", b"0"), b"a09")
    assert page.entries == list(page)
    page = kv.scan(prefix="a", limit=10, cursor=page.cursor)
    page = kv.scan(prefix="a", limit=10, cursor=page.cursor)
    assert (page.keys[-1], page.cursor) == (b"a24", None)
    assert kv.scan(start="a20", stop="a22").entries == [(b"a20", b"20"), (b"a21", b"21")]
    assert kv.scan(start="a24", reverse=True).keys == [b"\xff\xff", b"b", b"a24"]
    assert kv.scan(prefix="a0", keys_only=True)[0] == (b"a00", b"")
    assert list(kv.keys(prefix="a2", reverse=True)) == [b"a24", b"a23", b"a22", b"a21", b"a20"]
    assert "KeyPage(5 keys" in repr(kv.scan(prefix="a2"))


def test_iteration_goes_through_all_pages(kv):
    kv.put_many({f"{n:05}": b"" for n in range(2500)}, durability="os")
    assert [int(key) for key in kv] == list(range(2500))
    assert len(list(kv.items(start="01000", stop="02000"))) == 1000
    assert kv.count_estimate() == 2500
    assert kv.count_estimate("000") == 100
    assert kv.delete_prefix("00") == 1000
    assert kv.clear() == 1500
    assert list(kv) == []


def test_values_may_be_large(kv):
    value = bytes(range(256)) * 4096 * 8
    kv["large"] = value
    assert kv["large"] == value
    with pytest.raises(nuthatch.ExhaustedError, match="64 MiB"):
        kv["larger"] = bytes((64 << 20) + 1)
    assert "larger" not in kv


@pytest.mark.not_over("http", "a server knows a keyspace by its name and not by a handle")
def test_keyspaces_are_apart_and_can_be_dropped(db):
    one, other = db.kv("one"), db.kv("other")
    one["a"] = "1"
    other["a"] = "2"
    assert db.kv("one")["a"] == b"1"
    assert db.keyspaces() == ["one", "other"]
    assert [info.name for info in db.collections()] == []
    assert db.drop_keyspace("one")
    assert not db.drop_keyspace("one")
    with pytest.raises(nuthatch.NotFoundError, match='"one" was dropped'):
        one.get("a")
    with pytest.raises(nuthatch.NotFoundError, match='no keyspace "one".*other'):
        db.kv("one", create=False)
    assert db.keyspaces() == ["other"]
    assert list(db.kv("one")) == []


def test_everything_is_there_after_connecting_again(folder):
    with nuthatch.connect(folder, sync_interval_ms=5, snapshot_age=30) as db:
        kv = db.kv("kept", durability="interval")
        kv["a"] = "1"
        kv.put("b", "2", ttl=3600, durability="os")
        cursor = kv.scan(limit=1).cursor
        notes = db.collection("notes", embedder="none")
        assert notes.upsert(ids=["n"], texts=["x"], durability="os") == (1, 0)
        assert notes.upsert(ids=["m"], texts=["x"], durability="interval") == (1, 0)
        assert notes.delete("m", durability="os") == 1
    with nuthatch.connect(folder) as db:
        kv = db.kv("kept", create=False)
        assert dict(kv.items()) == {b"a": b"1", b"b": b"2"}
        assert 3500 < kv.ttl("b") <= 3600
        assert kv.scan(cursor=cursor).keys == [b"b"]
        assert db.collection("notes").get("n").text == "x"


@pytest.mark.parametrize("durability", ["commit", "interval", "os"])
def test_what_was_written_is_there_after_a_kill_whatever_the_durability(folder, durability):
    script = """
import os, sys, nuthatch
db = nuthatch.connect(sys.argv[1])
kv = db.kv("kept", durability=sys.argv[2])
notes = db.collection("notes", embedder="none")
for n in range(300):
    kv[f"{n:03}"] = str(n)
    kv.increment("sum", n)
notes.upsert([{"id": "a", "text": "x"}], durability=sys.argv[2])
print("written", flush=True)
sys.stdin.read()
"""
    process = run_python(script, str(folder), durability)
    assert process.stdout.readline() == "written\n", process.stderr.read()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with nuthatch.connect(folder) as db:
        kv = db.kv("kept")
        assert [int(value) for value in kv.values(stop="sum")] == list(range(300))
        assert kv["sum"] == str(sum(range(300))).encode()
        assert db.collection("notes").count() == 1


def test_threads_share_a_keyspace_without_losing_anything(kv):
    def work(worker):
        for n in range(100):
            kv.increment("sum")
            kv.append("log", str(worker))
            kv.put(f"{worker}/{n}", str(n), durability="os")
            while True:
                old = kv.get("swapped")
                if kv.compare_and_set("swapped", old, str(int(old or 0) + 1), durability="os"):
                    break

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert (kv["sum"], kv["swapped"], len(kv["log"])) == (b"800", b"800", 800)
    assert len(list(kv.keys(prefix="7/"))) == 100


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda kv: kv.get(5), "key=5 is of type int"),
        (lambda kv: kv.get(None), "key=None"),
        (lambda kv: kv.get("\udc80"), "surrogates"),
        (lambda kv: kv.put("", "x"), "key is empty"),
        (lambda kv: kv.put("a" * 65_536, "x"), "65536 bytes; the limit is 65535"),
        (lambda kv: kv.put("a", 5), "value=5"),
        (lambda kv: kv.put("a", None), "value=None"),
        (lambda kv: kv.put("a", ["x"]), "value="),
        (lambda kv: kv.put("a", "x", ttl=0), "ttl=0"),
        (lambda kv: kv.put("a", "x", ttl=-1.5), "ttl=-1.5"),
        (lambda kv: kv.put("a", "x", ttl=float("nan")), "ttl=nan"),
        (lambda kv: kv.put("a", "x", ttl="10m"), "ttl='10m'"),
        (lambda kv: kv.put("a", "x", ttl=timedelta(0)), "ttl=0"),
        (lambda kv: kv.put("a", "x", durability="fsync"), 'durability "fsync"; choose "commit"'),
        (lambda kv: kv.put("a", "x", durability=5), "durability=5"),
        (lambda kv: kv.put_many("ab"), "entries is of type str"),
        (lambda kv: kv.put_many(5), "entries is of type int"),
        (lambda kv: kv.put_many(["ab"]), r"entries\[0\]='ab'; give a pair"),
        (lambda kv: kv.put_many([("a", "b", "c")]), r"entries\[0\]"),
        (lambda kv: kv.put_many({5: "x"}), r"the key of entries\[0\]=5"),
        (lambda kv: kv.get_many("abc"), "keys='abc'"),
        (lambda kv: kv.get_many(["a", 5]), r"keys\[1\]=5"),
        (lambda kv: kv.delete(5), "keys=5"),
        (lambda kv: kv.delete(None), "keys=None"),
        (lambda kv: kv.delete(["a", 5]), r"keys\[1\]=5"),
        (lambda kv: kv.delete_prefix(""), "empty prefix.*clear"),
        (lambda kv: kv.increment("kept", 1.5), "by=1.5"),
        (lambda kv: kv.increment("kept", 2**63), "64 bits"),
        (lambda kv: kv.increment("kept", True), "by=True"),
        (lambda kv: kv.append("kept", 5), "more=5"),
        (lambda kv: kv.compare_and_set("kept", 5, None), "expected=5"),
        (lambda kv: kv.compare_and_set("kept", "1", 5), "new=5"),
        (lambda kv: kv.expire("kept", 0), "ttl=0"),
        (lambda kv: kv.scan(limit=0), "a page cannot have 0"),
        (lambda kv: kv.scan(limit=10_001), "10,000"),
        (lambda kv: kv.scan(limit=-1), "limit=-1"),
        (lambda kv: kv.scan(cursor="§"), "not a cursor"),
        (lambda kv: kv.scan(cursor=5), "cursor=5"),
        (lambda kv: kv.scan(prefix=5), "prefix=5"),
        (lambda kv: kv.scan(reverse="yes"), "reverse='yes'"),
        (lambda kv: kv.keys(start=5), "start=5"),
        (lambda kv: kv.items(stop=5), "stop=5"),
        (lambda kv: 5 in kv, "key=5"),
        (lambda kv: kv.__setitem__("a", 5), "value=5"),
    ],
)
def test_a_bad_call_is_refused_and_changes_nothing(kv, call, named):
    kv["kept"] = "1"
    with pytest.raises(nuthatch.InvalidError, match=named):
        call(kv)
    assert list(kv.items()) == [(b"kept", b"1")]


def test_a_bad_keyspace_is_refused_and_not_made(db):
    for name in ("", "a/b", "x" * 201, 5):
        with pytest.raises(nuthatch.InvalidError):
            db.kv(name)
    for options in ({"durability": "never"}, {"durability": 5}, {"create": "yes"}):
        with pytest.raises(nuthatch.InvalidError):
            db.kv("new", **options)
    assert db.keyspaces() == []
    for options in (
        {"sync_interval_ms": -1},
        {"sync_interval_ms": 2.5},
        {"snapshot_age": 0},
        {"snapshot_age": "1h"},
        {"erasure_grace": 61},
    ):
        with pytest.raises(nuthatch.InvalidError):
            nuthatch.connect(":memory:", **options)


def test_a_durability_that_is_none_is_refused_by_collections(db, notes, tmp_path):
    for call in (
        lambda: notes.upsert(ids=["a"], texts=["x"], durability="now"),
        lambda: notes.delete("a", durability="now"),
        lambda: notes.delete(where="n = 1", durability=5),
        lambda: db.add(tmp_path, notes, durability="now"),
    ):
        with pytest.raises(nuthatch.InvalidError, match="durability"):
            call()


def test_a_handle_belongs_to_its_process_and_says_when_the_database_is_closed():
    db = nuthatch.connect(":memory:")
    kv = db.kv("test")
    for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied.*connect there"):
            refuse(kv)
    assert repr(kv) == "Keyspace('test', about 0 keys)"
    db.close()
    assert repr(kv) == "Keyspace('test', ClosedError)"
    for call in (lambda: kv["a"], lambda: kv.put("a", "x"), lambda: list(kv), lambda: db.kv("b"), db.keyspaces):
        with pytest.raises(nuthatch.ClosedError):
            call()


def test_a_keyspace_keeps_its_database_open():
    kv = nuthatch.connect(":memory:").kv("test")
    kv["a"] = "1"
    assert kv["a"] == b"1"


def public(cls):
    return {name for name in dir(cls) if not name.startswith("_")}


def test_every_public_method_can_be_awaited_with_the_same_arguments():
    assert public(nuthatch.AsyncKeyspace) - {"sync"} == public(nuthatch.Keyspace)
    for name in public(nuthatch.Keyspace):
        one, other = getattr(nuthatch.Keyspace, name), getattr(nuthatch.AsyncKeyspace, name)
        if isinstance(one, property):
            assert isinstance(other, property), name
            continue
        mine, theirs = inspect.signature(one).parameters, inspect.signature(other).parameters
        assert [(p.name, p.kind, p.default) for p in mine.values()] == [
            (p.name, p.kind, p.default) for p in theirs.values()
        ], name
        is_listing = name in ("items", "keys", "values")
        assert inspect.isasyncgenfunction(other) if is_listing else inspect.iscoroutinefunction(other), name


def test_every_awaited_call_answers_as_its_counterpart(address):
    options = {"sync_interval_ms": 5, "snapshot_age": 60} if address == ":memory:" else {}

    async def main():
        async with nuthatch.connect_async(address, **options) as db:
            kv = await db.kv("test", durability="os")
            assert kv.name == "test"
            await kv.put("a", "1", ttl=60)
            await kv.put_many({"b": "2", "c": "3"}, durability="interval")
            assert await kv.get("a") == b"1"
            assert await kv.get("x", 7) == 7
            assert await kv.get_many(["a", "x"]) == [b"1", None]
            assert 50 < await kv.ttl("a") <= 60
            assert await kv.expire("a", None)
            assert await kv.ttl("a") is None
            assert await kv.increment("n", 5) == 5
            assert await kv.append("b", "2") == 2
            assert await kv.compare_and_set("c", "3", "4")
            assert (await kv.scan(prefix="a")).entries == kv.sync.scan(prefix="a").entries
            assert [key async for key in kv] == list(kv.sync)
            assert [entry async for entry in kv.items(start="b")] == list(kv.sync.items(start="b"))
            assert [value async for value in kv.values()] == list(kv.sync.values())
            assert [key async for key in kv.keys(reverse=True)] == list(kv.sync.keys(reverse=True))
            assert await kv.count_estimate() == 4
            await kv.put_many({f"many/{n:04}": "" for n in range(1500)})
            assert len([key async for key in kv.keys(prefix="many/")]) == 1500
            assert await kv.delete_prefix("many/") == 1500
            assert await kv.delete(["a", "x"]) == 1
            assert await kv.clear() == 3
            with pytest.raises(nuthatch.MissingKeyError):
                await kv.ttl("a")
            assert repr(kv) == "AsyncKeyspace('test', about 0 keys)"
            with pytest.raises(TypeError, match="cannot be pickled"):
                pickle.dumps(kv)
            assert await db.keyspaces() == ["test"]
            with pytest.raises(nuthatch.NotFoundError):
                await db.kv("other", create=False)
            assert await db.drop_keyspace("test")
            notes = await db.collection("notes", embedder="none")
            assert await notes.upsert(ids=["a"], texts=["x"], durability="os") == (1, 0)
            assert await notes.delete("a", durability="interval") == 1

    asyncio.run(main())
