"""LangGraph's checkpointer and store: the first beyond its conformance suite, the second against its store in memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
import time
from typing import Any

import pytest
from support import toy_embed

import nuthatch

pytest.importorskip("langgraph.checkpoint", reason="needs LangGraph: pip install 'nuthatch[langgraph]'")

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from nuthatch.integrations.langgraph import NuthatchSaver, NuthatchStore


def config(thread: str, id: str | None = None, namespace: str = "") -> Any:
    named = {"thread_id": thread, "checkpoint_ns": namespace}
    return {"configurable": named if id is None else {**named, "checkpoint_id": id}}


def put(saver: NuthatchSaver, parent: Any, number: int, values: dict[str, Any], metadata: Any = None) -> Any:
    checkpoint = {**empty_checkpoint(), "id": f"{number:04}", "channel_values": values}
    checkpoint["channel_versions"] = {name: f"{number:04}.{name}" for name in values}
    return saver.put(parent, checkpoint, metadata or {"step": number}, checkpoint["channel_versions"])


def test_a_thread_goes_on_after_closing_and_opening(folder):
    with NuthatchSaver.from_path(str(folder)) as saver:
        first = put(saver, config("t"), 1, {"messages": ["hello"]})
        saver.put_writes(first, [("messages", "hi"), ("other", 2)], "task", "path")
    with NuthatchSaver.from_path(str(folder)) as saver:
        found = saver.get_tuple(config("t"))
        assert found.checkpoint["channel_values"] == {"messages": ["hello"]}
        assert found.pending_writes == [("task", "messages", "hi"), ("task", "other", 2)]


def test_what_is_stored_is_laid_out_as_it_is_drawn(db):
    """docs/internals/frameworks.md: folders outlive versions of this package."""
    saver = NuthatchSaver(db)
    at = put(saver, config("t", namespace="n"), 1, {"a": 1})
    saver.put_writes(at, [("a", 2)], "task", "path")
    kv = db.kv("checkpoints")
    end = b"\x00\x01"
    assert list(kv.keys()) == [
        b"b" + end.join([b"t", b"n", b"a", b"0001.a", b""]),
        b"c" + end.join([b"t", b"n", b"0001", b""]),
        b"w" + end.join([b"t", b"n", b"0001", b"task", b"0", b""]),
    ]
    value, checkpoint, write = kv.values()
    assert value == b"\0\0\0\x07msgpack\0\0\0\x01\x01"
    assert checkpoint.startswith(b"\0\0\0\0" + b"\0\0\0\x07msgpack") and b"channel_values" not in checkpoint
    assert write == b"\0\0\0\x04path\0\0\0\x04task\0\0\0\x010\0\0\0\x01a\0\0\0\x07msgpack\0\0\0\x01\x02"

    store = NuthatchStore(db, index={"dims": 16, "embed": toy_embed, "fields": ["text"]})
    store.put(("a", "b"), "k", {"text": "red", "n": 1, "list": [1]}, ttl=5)
    [(key, packed)] = db.kv("store").items()
    item, [record] = json.loads(packed), list(db.collection("store"))
    assert key == b"a\0\1b\0\1\0\0k"
    assert sorted(item) == ["created_at", "revision", "ttl", "updated_at", "value", "vectors"]
    assert (item["value"], item["ttl"], item["vectors"]) == ({"text": "red", "n": 1, "list": [1]}, 5, 1)
    assert json.loads(record.id) == ["a", "b", "k", 0, item["revision"]] and record.payload.pop("expires") > 0
    assert record.payload == {"under": ["a", "a.b"], "value": {"text": "red", "n": 1}}


def test_a_channel_that_did_not_change_is_stored_once(db):
    saver = NuthatchSaver(db)
    at = config("t")
    for number in range(20):
        checkpoint = {**empty_checkpoint(), "id": f"{number:04}", "channel_values": {"long": "x" * 1000, "n": number}}
        checkpoint["channel_versions"] = {"long": "1", "n": str(number)}
        new = {"n": str(number)} if number else {"long": "1", "n": "0"}
        at = saver.put(at, checkpoint, {"step": number}, new)
    assert [t.checkpoint["channel_values"]["n"] for t in saver.list(config("t"))] == list(range(19, -1, -1))
    assert saver.get_tuple(at).checkpoint["channel_values"]["long"] == "x" * 1000
    assert sum(len(value) for value in db.kv("checkpoints").values(prefix=b"b")) < 3000


def test_listing_filters_pages_and_stays_within_its_thread(db):
    saver = NuthatchSaver(db)
    at = {"a": config("a"), "ab": config("ab")}
    for number in range(120):
        for thread in at:
            at[thread] = put(saver, at[thread], number, {"n": number}, {"source": "loop", "even": number % 2 == 0})
    ids = [t.config["configurable"]["checkpoint_id"] for t in saver.list(config("a"))]
    assert ids == [f"{n:04}" for n in reversed(range(120))]
    found = saver.list(config("a"), filter={"even": True}, before=config("a", "0100"), limit=3)
    assert [t.checkpoint["id"] for t in found] == ["0098", "0096", "0094"]
    assert len(list(saver.list(None))) == 240 and list(saver.list(config("a"), limit=0)) == []
    assert [t.checkpoint["id"] for t in saver.list(config("a", "0007"))] == ["0007"]
    saver.delete_thread("a")
    assert saver.get_tuple(config("a")) is None and saver.get_tuple(config("ab")) is not None


def test_pruning_keeps_what_a_channel_of_changes_is_rebuilt_from(db):
    saver = NuthatchSaver(db)
    at = put(saver, config("t"), 0, {"log": ["snapshot"], "plain": 0})
    for number in range(1, 6):
        checkpoint = {**empty_checkpoint(), "id": f"{number:04}", "channel_values": {"plain": number}}
        checkpoint["channel_versions"] = {"log": f"{number:04}.log", "plain": f"{number:04}.plain"}
        saver.put_writes(at, [("log", f"change {number}")], f"task {number}")
        metadata = {"step": number, "counters_since_delta_snapshot": {"log": (number, number)}}
        at = saver.put(at, checkpoint, metadata, checkpoint["channel_versions"])
    before = saver.get_delta_channel_history(config=config("t"), channels=["log"])
    saver.prune(["t"])
    assert saver.get_delta_channel_history(config=config("t"), channels=["log"]) == before
    assert before["log"]["seed"] == ["snapshot"] and len(before["log"]["writes"]) == 5
    put(saver, at, 6, {"log": ["all"], "plain": 6}, {"step": 6, "counters_since_delta_snapshot": {"log": (0, 0)}})
    saver.prune(["t"])
    assert [t.checkpoint["id"] for t in saver.list(config("t"))] == ["0006"]
    assert len(list(db.kv("checkpoints").keys())) == 3
    with pytest.raises(nuthatch.InvalidError):
        saver.prune(["t"], strategy="guess")


def test_pruning_takes_nothing_from_who_writes_meanwhile(db):
    saver = NuthatchSaver(db, durability="os")
    incomplete = []

    def write() -> None:
        at = put(saver, config("t"), 0, {"n": 0})
        for number in range(1, 150):
            at = put(saver, at, number, {"n": number, "more": "x" * 50})
            found = saver.get_tuple(config("t"))
            if found is None or found.checkpoint["channel_values"] != {"n": number, "more": "x" * 50}:
                incomplete.append(number)

    writing = threading.Thread(target=write)
    writing.start()
    while writing.is_alive():
        # Pruning does not wait for an endless writer; it raises an error instead.
        with contextlib.suppress(nuthatch.ConflictError):
            saver.prune(["t"])
    writing.join()
    saver.prune(["t"])
    assert incomplete == []
    assert [t.checkpoint["id"] for t in saver.list(config("t"))] == ["0149"] and len(
        list(db.kv("checkpoints").keys())
    ) == 3


def test_a_graph_runs_on_it(db):
    pytest.importorskip("langgraph.graph")
    from langgraph.graph import END, START, StateGraph

    builder = StateGraph(int)
    builder.add_node("one_more", lambda n: n + 1)
    builder.add_edge(START, "one_more")
    builder.add_edge("one_more", END)
    graph = builder.compile(checkpointer=NuthatchSaver(db))
    assert graph.invoke(1, config("t")) == 2
    assert asyncio.run(graph.ainvoke(5, config("t"))) == 6
    assert graph.get_state(config("t")).values == 6


VALUES = [
    {"n": 1, "text": "red fish"},
    {"n": 2.0, "text": "blue fish", "meta": {"lang": "en", "deep": {"x": 1}}},
    {"n": -3, "text": "it's", "tags": ["a", "b"]},
    {"a.b": 1, "text": "dotted", "": "empty"},
    {"text": "x" * 5000, "n": 1 << 70},
    {"text": "nothing", "n": None},
]
FILTERS: list[Any] = [
    None,
    {"n": 1},
    {"n": {"$eq": 2}},
    {"text": "it's"},
    {"tags": ["a", "b"]},
    {"meta": {"lang": "en"}},
    {"meta": {"deep": {"x": 1}}},
    {"a.b": 1},
    {"": "empty"},
    {"text": "x" * 5000},
    {"nobody": 1},
    {"n": {"$ne": 1}},
    {"n": None},
    {"n": 1 << 70},
]


def of(store: Any) -> Any:
    """The results of a search, without the times."""
    return lambda *a, **k: sorted((i.namespace, i.key, str(i.value)) for i in store.search(*a, limit=100, **k))


@pytest.mark.parametrize("index", [None, {"dims": 16, "embed": toy_embed, "fields": ["text"]}])
def test_it_answers_as_the_store_in_memory(db, index):
    """Puts, deletes, reads, listings and filters at random; with an index, searches by meaning, too."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    dice = random.Random(seed)
    ours, theirs = NuthatchStore(db, index=index, durability="os"), InMemoryStore(index=index)
    namespaces = [("a",), ("a", "b"), ("ab",), ("a", "b", "c"), ("z", "b")]
    for _ in range(150):
        namespace, key = dice.choice(namespaces), dice.choice(["k", "k1", "ä", ""])
        value = dice.choice(VALUES) if dice.random() < 0.8 else None
        for store in (ours, theirs):
            if value is None:
                store.delete(namespace, key)
                # The store in memory keeps the vectors of what it was told before under the same key.
            else:
                store.delete(namespace, key)
                store.put(namespace, key, value)
        prefix, filter = dice.choice([(), ("a",), ("a", "b"), ("q",)]), dice.choice(FILTERS)
        assert of(ours)(prefix, filter=filter) == of(theirs)(prefix, filter=filter)
        found, wanted = ours.get(namespace, key), theirs.get(namespace, key)
        assert (found and found.value) == (wanted and wanted.value)
        if index is not None:
            assert of(ours)(prefix, query="red fish", filter=filter) == of(theirs)(
                prefix, query="red fish", filter=filter
            )
            best = [round(i.score, 4) for i in ours.search(prefix, query="blue fish", filter=filter, limit=3)]
            reference = [round(i.score, 4) for i in theirs.search(prefix, query="blue fish", filter=filter, limit=3)]
            assert best == reference
    empty = {namespace for namespace in namespaces if not theirs.search(namespace, limit=1)}
    for options in ({}, {"prefix": ("a",)}, {"suffix": ("b",)}, {"max_depth": 1}, {"prefix": ("*", "b")}, {"limit": 2}):
        if not empty:
            assert ours.list_namespaces(**options) == theirs.list_namespaces(**options)


def test_numbers_and_texts_have_an_order(db):
    store = NuthatchStore(db, index={"dims": 16, "embed": toy_embed})
    for number in range(10):
        store.put(("n",), str(number), {"n": number, "day": f"2025-01-{number + 10}"})
    for options in ({}, {"query": "some words"}):
        assert len(store.search(("n",), filter={"n": {"$gte": 3, "$lt": 5}}, limit=50, **options)) == 2
        assert len(store.search(("n",), filter={"day": {"$gt": "2025-01-17"}}, limit=50, **options)) == 2
        assert len(store.search(("n",), filter={"n": {"$gt": "3"}}, limit=50, **options)) == 0
        with pytest.raises(nuthatch.InvalidError, match=r"\$near"):
            store.search(("nobody",), filter={"n": {"$near": 1}}, **options)


def test_pages_of_a_search_by_meaning_do_not_overlap(db):
    store = NuthatchStore(db, index={"dims": 16, "embed": toy_embed, "fields": ["texts[*]"]})
    for number in range(60):
        store.put(("n",), str(number), {"texts": [f"word{number}", "fish", f"other{number}"]})
    pages = [[i.key for i in store.search(("n",), query="fish", limit=7, offset=at)] for at in range(0, 60, 7)]
    assert sorted(key for page in pages for key in page) == sorted(str(n) for n in range(60))


def test_an_item_made_anew_is_not_found_by_what_it_said(db):
    store = NuthatchStore(db, index={"dims": 16, "embed": toy_embed, "fields": ["texts[*]"]})
    store.put(("n",), "a", {"texts": ["red", "blue", "green"]})
    made = store.get(("n",), "a")
    store.put(("n",), "a", {"texts": ["grey"]})
    assert db.collection("store").count() == 1 and store.get(("n",), "a").created_at == made.created_at
    assert store.search(("n",), query="red")[0].score < 0.5


def test_one_batch_is_one_write(db):
    store = NuthatchStore(db)
    with pytest.raises(nuthatch.InvalidError, match="JSON"):
        store.batch([PutOp(("n",), "a", {"fine": 1}), PutOp(("n",), "b", {"bad": object()})])
    assert store.get(("n",), "a") is None
    results = store.batch(
        [PutOp(("n",), "a", {"n": 1}), GetOp(("n",), "a"), SearchOp(("n",)), PutOp(("n",), "a", {"n": 2})]
    )
    assert results == [None, None, [], None] and store.get(("n",), "a").value == {"n": 2}


def test_what_has_expired_is_gone_with_its_vectors(db):
    store = NuthatchStore(db, index={"dims": 16, "embed": toy_embed}, ttl={"default_ttl": 60, "refresh_on_read": False})
    store.put(("n",), "long", {"text": "red"})
    store.put(("n",), "short", {"text": "red"}, ttl=0.001)
    store.put(("n",), "for ever", {"text": "red"}, ttl=None)
    while store.get(("n",), "short") is not None:
        time.sleep(0.01)
    assert db.collection("store").count() == 3 and len(store.search(("n",), query="red")) == 2
    assert db.collection("store").count() == 2
    store.put(("n",), "short", {"text": "red"}, ttl=0.001)
    while store.get(("n",), "short") is not None:
        time.sleep(0.01)
    assert (store.sweep_ttl(), store.sweep_ttl(), db.collection("store").count()) == (1, 0, 2)


def test_reading_starts_the_time_to_live_anew(db):
    store = NuthatchStore(db)
    store.put(("n",), "a", {"n": 1}, ttl=1)
    key = next(db.kv("store").keys())
    for read in (lambda: store.get(("n",), "a"), lambda: store.search(("n",))):
        db.kv("store").expire(key, 30)
        read()
        assert db.kv("store").ttl(key) > 30
    db.kv("store").expire(key, 30)
    store.get(("n",), "a", refresh_ttl=False)
    assert db.kv("store").ttl(key) <= 30


def test_it_can_be_awaited(db):
    async def use():
        store = NuthatchStore(db, index={"dims": 16, "embed": toy_embed})
        await store.aput(("n",), "a", {"text": "red fish"})
        found = await store.asearch(("n",), query="red")
        return [item.key for item in found], await store.alist_namespaces(), await store.aget(("n",), "b")

    assert asyncio.run(use()) == (["a"], [("n",)], None)


def test_an_awaited_database_is_refused_when_it_is_given(db):
    for kind in (NuthatchSaver, NuthatchStore):
        with pytest.raises(nuthatch.InvalidError, match="database is an AsyncDatabase; give its `sync`"):
            kind(nuthatch.AsyncDatabase(db))
        kind(nuthatch.AsyncDatabase(db).sync)
