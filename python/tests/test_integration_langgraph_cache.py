"""LangGraph's cache of nodes: against its cache in memory, and in a graph."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TypedDict

import pytest

import nuthatch

pytest.importorskip("langgraph.cache.base", reason="needs LangGraph: pip install 'nuthatch[langgraph]'")

from langgraph.cache.memory import InMemoryCache

from nuthatch.integrations.langgraph import NuthatchNodeCache

NAMESPACES = [("a",), ("a", "b"), ("ab",), ("a\x00", "b"), ()]


@pytest.fixture
def cache(db):
    return NuthatchNodeCache(db)


def test_it_does_what_the_cache_in_memory_does(cache):
    dice, memory = random.Random(7), InMemoryCache()
    for _ in range(300):
        keys = [(dice.choice(NAMESPACES), dice.choice("xyz")) for _ in range(dice.randrange(4))]
        if dice.random() < 0.5:
            pairs = {key: ({"value": dice.random(), "of": key}, dice.choice([None, 3600])) for key in keys}
            memory.set(pairs)
            cache.set(pairs)
        elif dice.random() < 0.2:
            of = None if dice.random() < 0.2 else [dice.choice(NAMESPACES)]
            memory.clear(of)
            cache.clear(of)
        assert cache.get(keys) == memory.get(keys)
        assert asyncio.run(cache.aget(keys)) == memory.get(keys)


def test_results_expire(cache):
    cache.set({(("n",), "short"): (1, 1), (("n",), "long"): (2, 3600), (("n",), "none"): (3, 0)})
    assert cache.get([(("n",), "none")]) == {}
    until = time.monotonic() + 30
    while (("n",), "short") in cache.get([(("n",), "short")]):
        assert time.monotonic() < until, "it expires after one second"
        time.sleep(0.1)
    assert cache.get([(("n",), "long")]) == {(("n",), "long"): 2}


def test_a_node_runs_once_for_an_input_also_after_a_restart(folder):
    graph = pytest.importorskip("langgraph.graph", reason="needs LangGraph")
    policy = pytest.importorskip("langgraph.types").CachePolicy(ttl=3600)
    ran = []

    class State(TypedDict):
        number: int

    def double(state: State) -> State:
        ran.append(state["number"])
        return {"number": state["number"] * 2}

    for _ in range(2):
        with nuthatch.connect(folder) as db:
            builder = graph.StateGraph(State)
            builder.add_node("double", double, cache_policy=policy)
            builder.add_edge(graph.START, "double")
            compiled = builder.compile(cache=NuthatchNodeCache(db))
            assert [compiled.invoke({"number": 4})["number"] for _ in range(2)] == [8, 8]
            assert asyncio.run(compiled.ainvoke({"number": 4}))["number"] == 8
    assert ran == [4]


def test_a_database_that_is_awaited_is_refused(db):
    with pytest.raises(nuthatch.InvalidError, match="give its `sync`"):
        NuthatchNodeCache(nuthatch.AsyncDatabase(db))
