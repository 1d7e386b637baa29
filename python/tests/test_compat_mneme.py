"""mneme's interface on Nuthatch."""

from __future__ import annotations

import asyncio
import dataclasses
import doctest
import importlib
import json
import sys
import threading
import time
from typing import ClassVar

import pytest
from support import toy_embed

import nuthatch
from nuthatch.compat import mneme
from nuthatch.compat.mneme.adapters import events
from nuthatch.compat.mneme.adapters.prometheus import PrometheusMetricsHook
from nuthatch.compat.mneme.tools import calibrate, migrate


class Toy:
    """Texts with the same words have the same vector."""

    dim = 16
    fingerprint = "toy"

    def __init__(self, fails=False):
        self.calls = 0
        self.fails = fails

    def embed(self, text):
        self.calls += 1
        if self.fails:
            raise RuntimeError("no embedder")
        return toy_embed([text])[0]


@pytest.fixture
def embedder():
    return Toy()


@pytest.fixture
def cache(db, embedder):
    with mneme.SemanticCache(database=db, embedder=embedder) as made:
        yield made


@pytest.mark.parametrize("name", ["values", "tools.calibrate"])
def test_examples_of_the_documentation_run(name):
    assert doctest.testmod(importlib.import_module(f"nuthatch.compat.mneme.{name}"), verbose=False)[0] == 0


def test_a_query_is_answered_by_its_text_and_by_its_vector(cache, embedder):
    cache.put("How do I reset my password?", "in the settings", metadata={"model": "m"})
    exact = cache.get("how do i  reset my PASSWORD?")
    assert (exact.layer, exact.similarity, exact.response, exact.metadata) == (
        "exact",
        1.0,
        "in the settings",
        {"model": "m"},
    )
    assert embedder.calls == 1
    near = cache.get("How do I reset the password?")
    assert near.layer == "semantic"
    assert 0.85 <= near.similarity <= near.confidence + 1e-3
    assert (near.namespace, near.age_seconds) == ("default", 0)
    assert cache.get("What is DNS?") is None
    stats = cache.stats()
    assert (stats.entries, stats.hits_exact, stats.hits_semantic, stats.misses) == (1, 1, 1, 1)


def test_the_threshold_decides(cache):
    cache.put("How do I reset my password?", "in the settings")
    cache.set_similarity_threshold(0.99)
    assert cache.get("How do I reset the password?") is None
    with pytest.raises(ValueError, match="similarity_threshold"):
        cache.set_similarity_threshold(float("nan"))


def test_namespaces_are_apart(cache):
    for namespace in ("b", "a", "a b", "ab"):
        cache.put("Who am I?", namespace, namespace=namespace)
    assert [cache.get("who am i?", namespace=namespace).response for namespace in ("a", "b", "a b")] == [
        "a",
        "b",
        "a b",
    ]
    assert cache.get("Who am I?", namespace="c") is None
    assert cache.list_namespaces() == ["a", "a b", "ab", "b"]
    assert cache.delete("Who am I?", namespace="a")
    assert not cache.delete("Who am I?", namespace="a")
    assert cache.clear_namespace("ab") == 1
    assert (cache.stats(namespace="a b").entries, cache.clear(), cache.list_namespaces()) == (1, 2, [])


def test_answers_expire_and_are_vacuumed(db, embedder):
    events = []
    with mneme.SemanticCache(
        database=db, embedder=embedder, default_ttl=3600, metrics_hook=lambda name, told: events.append((name, told))
    ) as cache:
        cache.put("short", "1", ttl=0.05)
        cache.put("other", "2", ttl=0.05)
        cache.put("long", "3")
        time.sleep(0.06)
        assert cache.get("short") is None
        assert [name for name, _ in events] == ["expired", "miss"]
        assert cache.vacuum() == 1
        assert (cache.get("long").response, cache.stats().expirations) == ("3", 2)


def test_what_was_used_longest_ago_makes_room(db, embedder):
    with mneme.SemanticCache(
        database=db, embedder=embedder, max_entries=3, namespace_quotas={"small": 1}, similarity_threshold=1.0
    ) as cache:
        for word in ("one", "two", "three"):
            cache.put(word, word)
            time.sleep(0.002)
        assert cache.get("one").response == "one"
        time.sleep(0.002)
        cache.put("four", "four")
        assert [cache.get(word) is not None for word in ("one", "two", "three", "four")] == [True, False, True, True]
        cache.put("a", "a", namespace="small")
        time.sleep(0.002)
        cache.put("b", "b", namespace="small")
        assert cache.stats(namespace="small").entries == 1
        assert cache.stats(namespace="small").evictions == 1


def test_validators_and_confidence_decide_about_answers_by_meaning(db, embedder):
    with mneme.SemanticCache(database=db, embedder=embedder) as cache:
        cache.put("How do I reset my password?", "[ERROR] timeout")
        assert cache.get("How do I reset my password?").response == "[ERROR] timeout"
        assert cache.get("How do I reset the password?") is None
        assert cache.get("How do I reset my password?") is None, "what is not valid is removed"
    with mneme.SemanticCache(database=db, embedder=embedder, confidence_fn=lambda *_: 0.69) as cache:
        cache.put("How do I reset my password?", "in the settings")
        assert cache.get("How do I reset the password?") is None
        assert cache.get("How do I reset my password?").confidence == 0.69


def test_counters_and_answers_outlive_the_cache(folder, embedder):
    with mneme.SemanticCache(folder, embedder) as cache:
        cache.put("What is DNS?", "names")
        cache.get("What is DNS?")
        cache.get("holidays in june")
    with mneme.SemanticCache(store=mneme.SQLiteStore(folder), embedder=embedder) as cache:
        stats, health = cache.stats(), cache.health()
        assert (stats.hits_exact, stats.misses, stats.entries) == (1, 1, 1)
        assert (health.healthy, health.entries, health.namespaces, health.store_backend) == (True, 1, 1, "nuthatch")
    other = Toy()
    other.fingerprint = "other"
    with pytest.raises(mneme.EmbedderMismatchError, match="filled by 'toy'"):
        mneme.SemanticCache(folder, other)
    other.dim = 8
    with pytest.raises(mneme.EmbedderDimensionError, match="dim 16"):
        mneme.SemanticCache(folder, other)
    with pytest.raises(mneme.CacheClosedError):
        cache.get("What is DNS?")


def test_a_checkpoint_moves_a_cache(tmp_path, cache, embedder):
    cache.put("How do I reset my password?", "in the settings ✓", namespace="n", metadata={"a": [1]}, ttl=3600)
    cache.put("never", "mind", embedding=[0.0] * 16)
    cache.dumps(tmp_path / "file")
    with mneme.SemanticCache.loads(tmp_path / "file", tmp_path / "memory", embedder) as loaded:
        assert loaded.get("How do I reset the password?", namespace="n").response == "in the settings ✓"
        assert loaded.get("never").response == "mind"
        assert loaded.stats().entries == 2
    other = Toy()
    other.fingerprint = "other"
    with pytest.raises(mneme.CheckpointError, match="filled by 'toy'"):
        mneme.SemanticCache.loads(tmp_path / "file", tmp_path / "other", other)
    with pytest.raises(mneme.CheckpointError, match="does not exist"):
        mneme.SemanticCache.loads(tmp_path / "missing", tmp_path / "other", embedder)
    (tmp_path / "bad").write_bytes(b"no gzip")
    with pytest.raises(mneme.CheckpointError, match="no checkpoint"):
        mneme.SemanticCache.loads(tmp_path / "bad", tmp_path / "third", embedder)


def test_an_embedder_that_fails_makes_a_miss_and_no_answer(db, caplog):
    with mneme.SemanticCache(database=db, embedder=Toy(fails=True)) as cache:
        assert cache.get("What is DNS?") is None
        assert "Embedder failed" in caplog.text
        with pytest.raises(RuntimeError, match="no embedder"):
            cache.put("What is DNS?", "names")
        assert cache.get("x", embedding=[1.0]) is None
        with pytest.raises(mneme.EmbedderDimensionError, match="dim 1"):
            cache.put("x", "y", embedding=[1.0])
        assert cache.stats().misses == 2


def test_what_no_cache_takes_is_refused(db, embedder, folder):
    for options in ({}, {"path": folder, "store": mneme.MemoryStore()}):
        with pytest.raises(ValueError, match="exactly one"):
            mneme.SemanticCache(embedder=embedder, **options)
    with pytest.raises(ValueError, match="embedder"):
        mneme.SemanticCache(folder)
    with pytest.raises(ValueError, match="is no store: it has no open, close"):
        mneme.SemanticCache(store=object(), embedder=embedder)
    with mneme.SemanticCache(database=db, embedder=embedder, max_query_bytes=3) as cache:
        with pytest.raises(ValueError, match="max_query_bytes"):
            cache.put("four", "x")
        with pytest.raises(mneme.QuantizationError, match="none of"):
            cache.requantize("int4")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_vectors_have_the_elements_that_a_cache_is_made_with(db, embedder, dtype):
    with mneme.SemanticCache(database=db, embedder=embedder, vector_dtype=dtype) as cache:
        cache.put("How do I reset my password?", "in the settings")
        hit = cache.get("How do I reset the password?")
        assert (hit.layer, cache.health().vector_dtype) == ("semantic", dtype)


def test_vectors_get_other_elements(db, embedder):
    with mneme.SemanticCache(database=db, embedder=embedder) as cache:
        cache.put("How do I reset my password?", "in the settings")
        for dtype in ("int8", "float16", "float32", "int8"):
            cache.requantize(dtype)
            assert cache.get("How do I reset the password?").layer == "semantic"
            cache.put("What is DNS?", dtype)
            assert (cache.health().vector_dtype, cache.stats().entries) == (dtype, 2)
    with mneme.SemanticCache(database=db, embedder=embedder) as cache:
        assert cache.health().vector_dtype == "int8"
        assert cache.get("What is DNS?").response == "int8"
        assert cache.get("How do I reset the password?").layer == "semantic"
    assert len(db.collections()) == 1


def test_threads_share_a_cache(cache):
    def work(number):
        for at in range(20):
            cache.put(f"word{number} word{at}", str(at), namespace=str(number))
            assert cache.get(f"word{number} word{at}", namespace=str(number)).response == str(at)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (cache.stats().entries, cache.stats().hits_exact) == (80, 80)


def test_the_awaited_cache_has_the_same_calls(db, tmp_path):
    public = {name for name in vars(mneme.SemanticCache) if not name.startswith("_")}
    assert public == {name for name in vars(mneme.AsyncSemanticCache) if not name.startswith("_")}

    async def use():
        embedder = mneme.to_async_embedder(Toy())
        async with mneme.AsyncSemanticCache(database=db, embedder=embedder) as cache:
            await cache.put("How do I reset my password?", "in the settings")
            assert (await cache.get("How do I reset my password?")).layer == "exact"
            assert (await cache.get("How do I reset the password?")).layer == "semantic"
            assert await cache.get("How do I reset the password?", bypass=True) is None
            await cache.dumps(tmp_path / "file")
            assert (cache.stats().entries, await cache.vacuum(), await cache.compact()) == (1, 0, 0)
            assert await cache.delete("How do I reset my password?")
        loaded = await mneme.AsyncSemanticCache.loads(tmp_path / "file", tmp_path / "memory", embedder)
        assert (await loaded.get("How do I reset my password?")).response == "in the settings"
        await loaded.close()

    asyncio.run(use())


def test_embedders_are_turned_into_each_other():
    turned = mneme.to_sync_embedder(mneme.to_async_embedder(Toy()))

    async def inside():
        with pytest.raises(RuntimeError, match="running event loop"):
            turned.embed("a word")
        return await asyncio.to_thread(turned.embed, "a word")

    assert turned.embed("a word") == asyncio.run(inside()) == toy_embed(["a word"])[0]


SAME = [("reset my password", "reset the password"), ("what is dns", "dns what is")]
DIFFERENT = [("reset my password", "holidays in june"), ("what is dns", "what is bgp")]


def test_a_threshold_is_found_from_pairs():
    found = calibrate.find_threshold(SAME, DIFFERENT, Toy())
    assert (found.precision, found.recall, found.f1) == (1.0, 1.0, 1.0)
    # The pair that is nearest without being the same has two words of three in common.
    assert 0.66 < found.threshold < 1.0
    assert found.pr_curve[0][:1] == (0.5,)
    with pytest.raises(ValueError, match="no threshold"):
        calibrate.find_threshold(DIFFERENT, SAME, Toy(), min_precision=0.9, grid=[0.5])
    with pytest.raises(ValueError, match="no paraphrase"):
        calibrate.find_threshold([], SAME, Toy())


def test_the_command_finds_a_threshold(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("support.mneme_toy", Toy(), raising=False)
    for name, pairs in (("same", SAME), ("different", DIFFERENT)):
        (tmp_path / name).write_text("# pairs\n" + "".join(json.dumps(pair) + "\n" for pair in pairs))
    files = ["--paraphrases", str(tmp_path / "same"), "--distractors", str(tmp_path / "different")]
    ours = [*files, "--embedder", "support:mneme_toy"]
    assert calibrate.main([*ours, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["f1"] == 1.0
    assert calibrate.main([*ours, "--format", "csv", "--grid", "0.5,0.8", "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text().splitlines()[0] == "threshold,precision,recall,f1"
    (tmp_path / "bad").write_text("no pair\n")
    for arguments, status in (
        ([], 1),
        (["--paraphrases", "missing", "--distractors", "missing", "--embedder", "x:y"], 2),
        ([*files, "--embedder", "nowhere:x"], 3),
        ([*ours, "--min-precision", "1.1"], 4),
        (["--paraphrases", str(tmp_path / "bad"), *ours[2:]], 5),
    ):
        assert calibrate.main(arguments) == status


def test_what_a_database_of_a_server_holds_is_a_cache_too(db, cache, embedder):
    cache.put("What is DNS?", "names")
    assert sorted(info.name for info in db.collections()) == ["mneme"]
    with mneme.SemanticCache(database=db, embedder=embedder, name="other") as other:
        assert other.get("What is DNS?") is None
    assert isinstance(db, nuthatch.Database)


class OwnStore:
    """A store as somebody else writes one."""

    def __init__(self):
        self.entries = {}
        self.meta = {}
        self.opened = []

    def open(self, embedder_fingerprint, embedder_dim):
        self.opened.append((embedder_fingerprint, embedder_dim))

    def close(self):
        self.opened.append("closed")

    def get_by_hash(self, namespace, query_hash):
        found = [one for one in self.entries.values() if (one.namespace, one.query_hash) == (namespace, query_hash)]
        return found[0] if found else None

    def count(self, namespace=None):
        return sum(namespace in (None, one.namespace) for one in self.entries.values())

    def list_namespaces(self):
        return list({one.namespace for one in self.entries.values()})

    def iter_all(self):
        return iter(self.entries.values())

    def insert(self, entry):
        before = self.get_by_hash(entry.namespace, entry.query_hash)
        id = before.id if before else max(self.entries, default=0) + 1
        self.entries[id] = dataclasses.replace(entry, id=id)
        return id

    def update_access(self, id, now):
        used = self.entries[id].access_count + 1
        self.entries[id] = dataclasses.replace(self.entries[id], last_accessed_at=now, access_count=used)

    def delete_by_id(self, id):
        return self.entries.pop(id, None) is not None

    def read_meta(self, key):
        return self.meta.get(key)

    def write_meta(self, key, value):
        self.meta[key] = value

    def integrity_check(self):
        return bool(self.opened)


def test_a_store_of_ones_own_keeps_the_answers(embedder):
    store = OwnStore()
    with mneme.SemanticCache(store=store, embedder=embedder, max_entries=3, similarity_threshold=0.95) as cache:
        for name in ("first", "second", "third"):
            cache.put(f"where is the {name} door", name, namespace="doors", metadata={"name": name})
        cache.put("where is the second door", "2", namespace="doors")
        assert cache.get("Where is the  second door", namespace="doors").response == "2"
        assert cache.get("door second the where is", namespace="doors").layer == "semantic"
        assert cache.get("door second the where is") is None
        assert cache.delete("where is the first door", namespace="doors")
        assert cache.get("door the first where is", namespace="doors") is None
        cache.put("brief", "gone soon", ttl=0)
        assert cache.vacuum() == 1
        cache.requantize("int8")
        assert (cache.health().store_backend, cache.health().healthy, cache.stats().entries) == ("own", True, 2)
    assert store.opened == [("toy", 16), "closed"]
    with mneme.SemanticCache(store=store, embedder=embedder, max_entries=3, similarity_threshold=0.95) as cache:
        assert cache.get("door third where is the", namespace="doors").metadata == {"name": "third"}
        assert (cache.stats().hits_exact, cache.stats().hits_semantic, cache.stats().misses) == (1, 2, 2)
        cache.put("a", "1")
        cache.put("b", "2")
        assert cache.stats().entries == 3
        assert cache.clear() == 3
    assert not store.entries


def test_a_store_of_ones_own_is_called_by_one_thread_at_a_time(embedder):
    class Fragile(OwnStore):
        inside = 0

        def insert(self, entry):
            self.inside += 1
            time.sleep(0.002)
            assert self.inside == 1
            self.inside -= 1
            return super().insert(entry)

    with mneme.SemanticCache(store=Fragile(), embedder=embedder) as cache:

        def put(number):
            for at in range(5):
                cache.put(f"word{number} {at}", "r")

        threads = [threading.Thread(target=put, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert cache.stats().entries == 20


def test_compact_tells_what_was_removed_since_the_last_time(db, embedder):
    with mneme.SemanticCache(database=db, embedder=embedder) as cache:
        for at in range(6):
            cache.put(f"word{at}", "r", ttl=0 if at < 2 else None)
        assert cache.delete("word5")
        assert cache.vacuum(compact=False) == 2
        assert cache.stats().index_tombstone_count == 3
        assert (cache.compact(), cache.compact(), cache.stats().index_tombstone_count) == (3, 0, 0)
        assert cache.get("word3").response == "r"
        assert cache.delete("word3")
        assert (cache.vacuum(), cache.stats().index_tombstone_count) == (0, 0)
        assert cache.health().index_backend == "nuthatch"
    with mneme.SemanticCache(database=db, embedder=embedder, index_backend="numpy") as cache:
        assert cache.health().index_backend == "numpy"


def test_texts_are_embedded_without_case_and_extra_spaces(db):
    class Listening(Toy):
        heard: ClassVar[list[str]] = []

        def embed(self, text):
            self.heard.append(text)
            return super().embed(text)

    with mneme.SemanticCache(database=db, embedder=Listening()) as cache:
        cache.put("  Where IS it ", "there")
        cache.get("What  is IT")
    with mneme.SemanticCache(database=db, embedder=Listening(), normalize=False, name="plain") as cache:
        cache.put("  Where IS it ", "there")
    assert Listening.heard == ["where is it", "what is it", "  Where IS it "]


class Wider(Toy):
    """Another embedder: of other vectors, and of another name."""

    dim = 17
    fingerprint = "wider"

    def embed(self, text):
        return [*super().embed(text), 0.0]


def test_a_cache_gets_another_embedder(tmp_path, embedder):
    source, target = tmp_path / "source", tmp_path / "target"
    with mneme.SemanticCache(source, embedder) as cache:
        for at in range(5):
            cache.put(f"word{at} of the list", str(at), namespace=f"n{at % 2}", metadata={"at": at}, ttl=3600)
        made = cache._entries.get("n0", cache._hash("word0 of the list"))
    with mneme.SemanticCache(target, embedder) as cache:
        cache.put("junk", "from before")
        cache.requantize("int8")
    with pytest.raises(RuntimeError, match="no embedder"):
        migrate.reembed(source, target, FailsAfter(3), batch_size=2)
    assert migrate.reembed(source, target, Wider(), batch_size=2) == 5
    with mneme.SemanticCache(target, Wider()) as cache:
        assert cache.list_namespaces() == ["n0", "n1"]
        assert cache.get("the list of word3", namespace="n1").metadata == {"at": 3}
        assert cache.get("junk") is None
        assert cache._entries.get("n0", cache._hash("word0 of the list")) == made
    with mneme.SemanticCache(source, embedder) as cache:
        assert cache.stats().entries == 5
    awaited = mneme.to_async_embedder(Wider())
    assert asyncio.run(migrate.areembed(source, target, awaited, batch_size=2, namespaces=["n1"], concurrency=2)) == 2
    with pytest.raises(ValueError, match="no cache named"):
        migrate.reembed(source, target, Wider(), name="other")
    with pytest.raises(ValueError, match="differ"):
        migrate.reembed(source, source, Wider())
    with pytest.raises(FileNotFoundError):
        migrate.reembed(tmp_path / "nowhere", target, Wider())


class FailsAfter(Wider):
    """An embedder that goes away."""

    def __init__(self, texts):
        super().__init__()
        self.texts = texts

    def embed(self, text):
        self.fails = self.calls == self.texts
        return super().embed(text)


def test_hooks_count_the_events_of_a_cache(db, embedder, monkeypatch):
    class Counting:
        def __init__(self):
            self.seen = []

        def add(self, event, by, labels):
            self.seen.append((event, by, labels))

        def observe(self, what, value, labels):
            self.seen.append((what, value, labels))

        def set(self, field, value, labels):
            self.seen.append((field, value, labels))

    counting = Counting()
    hook = events.Hook(counting)
    with mneme.SemanticCache(database=db, embedder=embedder, metrics_hook=hook) as cache:
        cache.put("a", "1", namespace="n")
        cache.get("a", namespace="n")
        cache.get("b", namespace="n")
        hook("something new", {"namespace": "n"})
        hook("eviction", {"namespace": "n", "count": 0})
        hook.update_gauges(cache.stats())
    of = {"namespace": "n"}
    assert counting.seen == [
        ("hit", 1, {"layer": "exact", **of}),
        ("similarity", 1.0, of),
        ("age_seconds", 0.0, of),
        ("miss", 1, {"reason": "below_threshold", **of}),
        ("entries", 1.0, {"namespace": "_total"}),
        ("memory_bytes_estimate", 64.0, {"namespace": "_total"}),
    ]
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(mneme.MnemeError, match="pip install prometheus-client"):
        PrometheusMetricsHook()
