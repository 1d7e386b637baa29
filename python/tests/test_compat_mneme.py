"""mneme's interface on Nuthatch."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import json
import threading
import time

import pytest
from support import toy_embed

import nuthatch
from nuthatch.compat import mneme
from nuthatch.compat.mneme.tools import calibrate


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
    with pytest.raises(ValueError, match="a store of one's own"):
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
