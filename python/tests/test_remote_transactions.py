"""Snapshots and transactions kept by a server: their end, their number, effects that occur once."""

from __future__ import annotations

import gc
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import faces
import pytest
from support import run_python
from test_remote import PROBLEM, Scripted

import nuthatch


@pytest.fixture
def url(server: str) -> Iterator[str]:
    yield server
    faces.empty(server)


def listed(url: str) -> list[dict[str, Any]]:
    """The snapshots that the server keeps."""
    with urllib.request.urlopen(f"{url}/v1/snapshots") as answer:
        found: list[dict[str, Any]] = json.load(answer)["snapshots"]
        return found


def test_snapshots_that_nobody_ended_end_with_the_next_or_with_the_database(url):
    db = nuthatch.connect(url)
    snapshot = db.snapshot()
    (kept,) = listed(url)
    assert kept["key"] is None and kept["ends_in_ms"] > 500_000
    snapshot.close()
    snapshot.close()
    assert listed(url) == []
    db.snapshot(), db.transaction()
    gc.collect()
    with db.snapshot():
        assert len(listed(url)) == 1
    left, begun = db.snapshot(), db.transaction()
    assert len(listed(url)) == 2
    db.close()
    assert listed(url) == []
    for late in (lambda: left.kv("k"), left.close, lambda: begun.kv("k"), begun.commit, db.snapshot):
        with pytest.raises(nuthatch.ClosedError, match="database is closed"):
            late()


def test_everything_that_reads_in_a_transaction_sees_its_own_writes(url):
    with nuthatch.connect(url) as db:
        keys = db.kv("k")
        keys.put_many({f"{n:03}": str(n) for n in range(0, 60, 2)})
        keys[b"\xff"] = b"\xfe"
        with nuthatch.connect(":memory:") as twin:
            twin.kv("k").put_many(dict(keys.items()))
            with db.transaction() as one, twin.transaction() as other:
                for inside in (one.kv("k"), other.kv("k")):
                    inside.put_many({f"{n:03}": "own" for n in range(0, 60, 3)})
                    inside.delete(["002", "004", "nowhere"])
                    inside[b"\xff\x00"] = b"\x80"
                ours, theirs = one.kv("k"), other.kv("k")
                assert list(ours.items()) == list(theirs.items())
                for options in (
                    {"limit": 7},
                    {"limit": 7, "reverse": True},
                    {"prefix": "01", "limit": 4, "keys_only": True},
                    {"start": "005", "stop": "031", "limit": 5},
                    {"start": "004", "stop": "005", "limit": 5},
                    {"start": "100", "limit": 1},
                ):
                    pages = [[], []]
                    for at, space in enumerate((ours, theirs)):
                        page = space.scan(**options)
                        pages[at].append((page.entries, page.cursor))
                        while page.cursor is not None:
                            page = space.scan(**options, cursor=page.cursor)
                            pages[at].append((page.entries, page.cursor))
                    assert pages[0] == pages[1], options
                asked = ["000", "001", "002", "003", b"\xff\x00", "x" * 5000]
                assert ours.get_many(asked) == theirs.get_many(asked)
                assert [key in ours for key in asked] == [key in theirs for key in asked]
                for wrong in ("", "x" * 70_000):
                    with pytest.raises(nuthatch.InvalidError):
                        ours.put(wrong, "1")
                with pytest.raises(nuthatch.InvalidError, match="ttl=0"):
                    ours.put("a", "1", ttl=0)
            assert dict(keys.items()) == dict(twin.kv("k").items())


def test_a_transaction_that_only_reads_needs_no_more_than_that_and_conflicts_with_nobody(url):
    with nuthatch.connect(url) as db:
        with db.transaction() as transaction:
            assert transaction.kv("none").get("a") is None
            db.kv("none")["a"] = "1"
            assert transaction.kv("none").get("a") is None
        with pytest.raises(nuthatch.ConflictError, match='"a" has changed'), db.transaction() as transaction:
            assert transaction.kv("other").get("a") is None
            db.kv("other")["a"] = "1"
            transaction.kv("written")["a"] = "1"
        db.drop_keyspace("none")
        with db.transaction() as transaction:
            transaction.kv("none").get("a")
        assert "none" not in db.keyspaces()


def test_too_many_snapshots_are_refused_with_what_to_do(tmp_path):
    with faces.served(tmp_path / "memory", "--snapshots-max", "2") as url, nuthatch.connect(url) as db:
        with db.snapshot(), db.transaction():
            # Asked without the client, which would try again.
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(f"{url}/v1/snapshots", method="POST"), timeout=60)
            assert refused.value.code == 429 and refused.value.headers["retry-after"]
            problem = json.load(refused.value)
            assert "this tenant has 2 snapshots and transactions open" in problem["detail"]
            assert "GET /v1/snapshots" in problem["remedy"]
        with db.snapshot():
            pass


def test_a_snapshot_that_is_too_old_says_so(tmp_path):
    with faces.served(tmp_path / "memory", "--snapshot-age", "300ms") as url, nuthatch.connect(url) as db:
        db.kv("k")["a"] = "1"
        snapshot, transaction = db.snapshot(), db.transaction()
        for read in (snapshot.kv("k").get, transaction.kv("k").get):
            with pytest.raises(nuthatch.ConflictError, match="older than 0.3 s"):
                while True:
                    read("a")
        snapshot.close()
        transaction.rollback()


def taking(rest: Any) -> Any:
    """A server that has taken a snapshot, and then answers so."""
    return lambda count, path: (201, {}, b'{"id": "7"}') if path == "/v1/snapshots" else rest(path)


def write(transaction: nuthatch.Transaction) -> None:
    transaction.kv("k")["a"] = "1"


def test_a_commit_that_broke_off_is_not_repeated_nor_begun_anew():
    def rest(path: str) -> tuple[int, dict[str, str], bytes] | None:
        return None if "commit" in path else (200, {}, b'{"values": []}')

    with Scripted(taking(rest)) as server, nuthatch.connect(server.url) as db:
        with pytest.raises(nuthatch.UnavailableError, match="may have been done"):
            db.transact(write)
        assert server.asked == ["POST /v1/snapshots", "POST /v1/keyspaces/k/get", "POST /v1/snapshots/7/commit"]


def test_a_commit_that_was_refused_before_it_began_is_sent_again():
    tries = []

    def rest(path: str) -> tuple[int, dict[str, str], bytes]:
        busy = b'{"status": 429, "title": "", "kind": "exhausted", "detail": "too many", "remedy": "wait"}'
        if path.endswith("/commit"):
            tries.append(path)
            return (204, {}, b"") if len(tries) == 3 else (429, {**PROBLEM, "retry-after": "0"}, busy)
        return 200, {}, b'{"values": []}'

    with Scripted(taking(rest)) as server, nuthatch.connect(server.url) as db:
        db.transact(write)
    assert len(tries) == 3
    assert not any(asked.startswith("DELETE") for asked in server.asked), "the commit has ended it"


def test_conflicts_alone_begin_anew():
    said = [(409, "conflict"), (409, "conflict"), (507, "exhausted")]

    def rest(path: str) -> tuple[int, dict[str, str], bytes]:
        if not path.endswith("/commit"):
            return 200, {}, b'{"values": []}'
        status, kind = said.pop(0)
        problem = {"status": status, "title": "", "kind": kind, "detail": f"it is {kind}", "remedy": "no"}
        return status, PROBLEM, json.dumps(problem).encode()

    with Scripted(taking(rest)) as server, nuthatch.connect(server.url) as db:
        with pytest.raises(nuthatch.ExhaustedError, match="it is exhausted"):
            db.transact(write)
        assert sum(asked.endswith("/commit") for asked in server.asked) == 3


def test_the_end_of_a_block_tells_of_what_happened_in_it_although_the_server_has_gone():
    class Oops(Exception):
        pass

    gone: list[bool] = []

    def rest(path: str) -> tuple[int, dict[str, str], bytes] | None:
        return None if gone else (200, {}, b'{"values": []}')

    with Scripted(taking(rest)) as server, nuthatch.connect(server.url) as db:
        for begin in (db.snapshot, db.transaction):
            gone.clear()
            with pytest.raises(Oops), begin():
                gone.append(True)
                raise Oops
        gone.clear()
        server.asked.clear()
    assert server.asked == ["DELETE /v1/snapshots/7"], "when that was possible again"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_uses_and_leaves_what_its_parent_has_taken(url):
    script = """
import gc, os, sys, nuthatch
db = nuthatch.connect(sys.argv[1])
db.kv("k")["a"] = "1"
snapshot, transaction = db.snapshot(), db.transaction()
kept, mine = snapshot.kv("k"), transaction.kv("k")
mine["a"] = "2"
pid = os.fork()
if pid == 0:
    assert kept["a"] == b"1"
    transaction.rollback()
    del snapshot, transaction, kept, mine
    gc.collect()
    db.snapshot()
    db.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert kept["a"] == b"1"
transaction.commit()
assert db.kv("k")["a"] == b"2"
db.close()
print("ok")
"""
    out, err = run_python(script, url).communicate(timeout=120)
    assert out == "ok\n", err
    assert listed(url) == []
