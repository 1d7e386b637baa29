"""The keys and vectors that Redis clients have are those that Python's calls have."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import faces
import pytest

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
