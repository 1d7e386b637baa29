"""The keys and vectors that Redis clients have are those that Python's calls have."""

from __future__ import annotations

import random
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faces
import pytest
from serving import Server

import nuthatch

redis = pytest.importorskip("redis")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, nuthatch.Database]]:
    """A Redis client and a database of the same folder."""
    place = tmp_path_factory.mktemp("redis") / "memory"
    with faces.listening(place, "--redis", "127.0.0.1:0") as (http, address):
        host, port = address.rsplit(":", 1)
        with redis.Redis(host=host, port=int(port)) as client, nuthatch.connect(http) as db:
            yield client, db


def test_strings_are_the_keys_of_a_keyspace(both: tuple[Any, nuthatch.Database]) -> None:
    client, db = both
    kv = db.kv("redis.0")
    assert client.set("a", b"\x00\xff")
    kv["b"] = "2"
    assert (kv["a"], client.get("b"), client.get("nowhere"), kv.get("nowhere")) == (b"\x00\xff", b"2", None, None)
    assert client.mget(["a", "nowhere", "b"]) == kv.get_many(["a", "nowhere", "b"])
    assert (client.incr("n", 5), kv.increment("n", -2), client.incr("n")) == (5, 3, 4)
    assert (client.append("b", "x"), kv.append("b", "y"), client.strlen("b")) == (2, 3, 3)
    assert client.set("c", "x", px=60_000)
    assert kv.expire("b", 60)
    assert 50 < (kv.ttl("c") or 0) <= 60 and 50 < client.ttl("b") <= 60
    assert client.persist("c") and kv.ttl("c") is None
    assert sorted(client.scan_iter()) == list(kv) == [b"a", b"b", b"c", b"n"]
    assert client.delete("a", "nowhere") == kv.delete(["b", "nowhere"]) == 1
    with client.pipeline() as pipe:
        pipe.set("d", "1").incr("d").delete("c")
        assert pipe.execute() == [True, 2, 1]
    assert dict(kv.items()) == {b"d": b"2", b"n": b"4"}


def test_hashes_answer_as_a_dict_does(both: tuple[Any, nuthatch.Database]) -> None:
    client, _ = both
    model = {b"name": b"anna", b"visits": b"1"}
    assert client.hset("user", mapping={"name": "anna", "visits": "1"}) == len(model)
    assert client.hgetall("user") == model
    assert client.hincrby("user", "visits", 2) == 3
    assert client.hmget("user", "visits", "nothing") == [b"3", None]
    assert client.hdel("user", "name", "nothing") == 1
    assert client.hgetall("user") == {b"visits": b"3"}


def test_a_vector_set_finds_what_its_collection_finds(both: tuple[Any, nuthatch.Database]) -> None:
    client, db = both
    dice = random.Random(4)
    vectors = {f"e{at}": [dice.gauss(0, 1) for _ in range(8)] for at in range(200)}
    for name, vector in vectors.items():
        assert client.vset().vadd("points", vector, name) == 1
    points = db.collection(next(info.name for info in db.collections() if info.rows == 200))
    for _ in range(10):
        asked = [dice.gauss(0, 1) for _ in range(8)]
        scores = client.vset().vsim("points", asked, with_scores=True, count=10)
        hits = points.search(vector=asked, limit=10, include=[])
        assert [name.decode() for name in scores] == [hit.id for hit in hits]
        # Redis' score of a cosine c is (1 + c) / 2.
        assert list(scores.values()) == pytest.approx([(1 + hit.score) / 2 for hit in hits], abs=1e-6)


KILLS = 3
CLIENTS = 4


def write_until_killed(client: Any, number: int, acknowledged: list[tuple[str, str]]) -> None:
    """Adds to large aggregates, and deletes one of its own now and then; notes what was acknowledged."""
    at = 0
    try:
        while True:
            at += 1
            name = f"{number}.{random.getrandbits(40)}"
            with client.pipeline(transaction=False) as pipe:
                pipe.rpush("list", name).hset("hash", name, "x").sadd("set", name).zadd("sorted", {name: at})
                pipe.execute()
            acknowledged += [(kind, name) for kind in ("list", "hash", "set", "sorted")]
            if at % 5 == 0:
                own = f"own{number}"
                client.sadd(own, *range(at, at + 300))
                client.delete(own)
    except redis.ConnectionError:
        pass


def orphans(db: nuthatch.Database) -> set[bytes]:
    """The ids of rows that no key names."""
    rows = {key[1:9] for key in db.kv("redis.0.rows") if key[:1] == b"r"}
    named = {value[4:12] for _, value in db.kv("redis.0").items() if value[:3] == b"\0nh" and value[3:4].isupper()}
    return rows - named


def test_large_aggregates_survive_kill_9_and_leave_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    acknowledged: list[tuple[str, str]] = []
    for kill in range(KILLS + 1):
        server = Server(folder, "--redis", "127.0.0.1:0")
        try:
            found = re.search(r"listening for Redis clients at ([\d.]+):(\d+)", "".join(server.said))
            assert found is not None
            address = {"host": found[1], "port": int(found[2])}
            with redis.Redis(**address) as client:
                client.exists("any")  # The first command finishes what a kill has interrupted.
                there = {
                    "list": {item.decode() for item in client.lrange("list", 0, -1)},
                    "hash": {field.decode() for field in client.hkeys("hash")},
                    "set": {member.decode() for member in client.smembers("set")},
                    "sorted": {member.decode() for member in client.zrange("sorted", 0, -1)},
                }
                assert [lost for lost in acknowledged if lost[1] not in there[lost[0]]] == []
                counts = [client.llen("list"), client.hlen("hash"), client.scard("set"), client.zcard("sorted")]
                assert counts == [len(names) for names in there.values()]
            with nuthatch.connect(f"http://{server.address}") as db:
                assert orphans(db) == set()
            if kill < KILLS:
                clients = [redis.Redis(**address) for _ in range(CLIENTS)]
                threads = [
                    threading.Thread(target=write_until_killed, args=(client, number, acknowledged))
                    for number, client in enumerate(clients)
                ]
                for thread in threads:
                    thread.start()
                enough = len(acknowledged) + 2_000
                while len(acknowledged) < enough and any(thread.is_alive() for thread in threads):
                    threads[0].join(0.01)
                server.process.send_signal(signal.SIGKILL)
                for thread in threads:
                    thread.join()
        finally:
            server.close()
    assert len(acknowledged) >= 2_000 * KILLS
