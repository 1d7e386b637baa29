"""Graphs: typed nodes and edges, neighbours, traversal, and one batch with everything else."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from datetime import datetime, timezone

import pytest

import nuthatch
from nuthatch import Edge, GraphCounts, Neighbor, Node, NodesDeleted, Visited


@pytest.fixture
def graph(db):
    return db.graph("test")


def ids(page):
    return [found.id for found in page]


def test_nodes_and_edges_come_back_as_they_were_put(graph):
    properties = {"born": 1980, "at": datetime(2025, 6, 1, 10, tzinfo=timezone.utc), "tags": ["a", None], "share": 0.1}
    graph.put_node("anna", "person", properties)
    graph.put_nodes([Node("ben", "person"), {"id": "ü/§ b", "type": "ß", "properties": {"deep": {"er": True}}}])
    graph.put_edge("anna", "knows", "ben", weight=-0.25, properties=properties)
    graph.put_edges([Edge("anna", "links", "ben"), {"source": "x", "type": "knows", "target": "anna", "weight": 2}])
    assert graph.get("anna") == Node("anna", "person", properties)
    assert graph.get_many(["ü/§ b", "x"]) == [Node("ü/§ b", "ß", {"deep": {"er": True}}), None]
    assert graph.edge("anna", "knows", "ben") == Edge("anna", "knows", "ben", -0.25, properties)
    assert graph.edge("ben", "knows", "anna") is None
    assert "anna" in graph
    assert "x" not in graph, "an edge alone puts no node"
    assert graph.counts() == GraphCounts(3, 3, True)
    graph.put_node("anna", "robot")
    assert graph.get("anna") == Node("anna", "robot")
    assert ids(graph.neighbors("anna", direction="both")) == ["ben", "ben", "x"]


def test_neighbours_come_in_pages_by_direction_and_type(graph):
    graph.put_edges(Edge("hub", "ab"[at % 2], f"n{at:02}") for at in range(20))
    graph.put_edges(Edge(f"n{at:02}", "back", "hub") for at in range(5))
    everything = list(graph.edges("hub", direction="both"))
    assert len(everything) == 25
    assert everything[0] == Neighbor("n00", Edge("hub", "a", "n00"))
    found, cursor = [], None
    while True:
        page = graph.neighbors("hub", direction="both", limit=7, cursor=cursor)
        found += page
        cursor = page.cursor
        if cursor is None:
            break
    assert found == everything
    assert ids(graph.neighbors("hub", direction="in")) == [f"n{at:02}" for at in range(5)]
    assert ids(graph.neighbors("hub", types="b")) == [f"n{at:02}" for at in range(1, 20, 2)]
    assert len(graph.neighbors("hub", types=["b", "back"], direction="both")) == 15
    assert repr(graph.neighbors("hub", limit=2)).startswith("NeighborPage(2 edges, cursor='")
    assert graph.neighbors("nobody").cursor is None


def test_nodes_are_listed_by_id_and_by_type(graph):
    graph.put_nodes(Node(f"n{at:02}", "ab"[at % 2]) for at in range(30))
    assert ids(graph.nodes()) == [f"n{at:02}" for at in range(30)]
    assert ids(graph.nodes(type="b", prefix="n1")) == [f"n{at}" for at in range(11, 20, 2)]
    page = graph.list_nodes(limit=4)
    assert ids(page) == ["n00", "n01", "n02", "n03"]
    assert ids(graph.list_nodes(limit=2, cursor=page.cursor)) == ["n04", "n05"]


def test_a_traversal_has_each_node_once_with_the_edge_that_led_there(graph):
    ends = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("c", "d"), ("d", "e")]
    graph.put_edges(Edge(source, "links", target, 2.0) for source, target in ends)
    found = graph.traverse("a")
    assert [(one.id, one.depth) for one in found] == [("a", 0), ("b", 1), ("c", 1), ("d", 2)]
    assert found.ids == ["a", "b", "c", "d"]
    assert found[0] == Visited("a", 0, None)
    assert found[3] == Visited("d", 2, Edge("c", "links", "d", 2.0))
    assert not found.truncated
    assert graph.traverse(["a"], limit=2).truncated
    assert graph.traverse("a", max_depth=1).ids == ["a", "b", "c"]
    assert graph.traverse("c", direction="in").ids == ["c", "a", "b"]
    assert graph.traverse(["a"], types="calls").ids == ["a"]


def test_deleting_a_node_takes_its_edges_along(graph):
    graph.put_nodes([Node("a", "t"), Node("b", "t")])
    graph.put_edges([Edge("a", "x", "b"), Edge("b", "y", "a"), Edge("a", "x", "a"), Edge("b", "x", "c")])
    assert graph.delete_edges([("a", "x", "a"), Edge("no", "such", "edge")]) == 1
    assert graph.delete_nodes(["a", "nobody"]) == NodesDeleted(1, 2)
    assert ids(graph.neighbors("b", direction="both")) == ["c"]
    assert graph.counts() == GraphCounts(1, 1, True)


def test_graphs_and_keyspaces_are_told_apart(db):
    db.graph("links")
    db.kv("settings")
    assert db.graphs() == ["links"]
    assert db.keyspaces() == ["settings"]
    for ask in (
        lambda: db.kv("links"),
        lambda: db.graph("settings"),
        lambda: db.drop_keyspace("links"),
        lambda: db.drop_graph("settings"),
    ):
        with pytest.raises(nuthatch.InvalidError, match="is a (graph|keyspace), not a"):
            ask()
    with pytest.raises(nuthatch.NotFoundError, match="no graph 'other'|no graph \"other\""):
        db.graph("other", create=False)
    assert db.drop_graph("links")
    assert not db.drop_graph("links")
    assert db.graphs() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: graph.put_nodes([Node("fine", "t"), Node("", "t")]),
        lambda graph: graph.put_nodes([Node("fine", "t"), Node("a\0b", "t")]),
        lambda graph: graph.put_nodes([Node("fine", "t"), {"id": "a"}]),
        lambda graph: graph.put_nodes([{"id": "a", "type": "t", "colour": "red"}]),
        lambda graph: graph.put_nodes(["a"]),
        lambda graph: graph.put_nodes("a"),
        lambda graph: graph.put_node("a", "t", {"x": object()}),
        lambda graph: graph.put_node("a", "t", {"x": "y" * 40_000}),
        lambda graph: graph.put_node("a" * 1025, "t"),
        lambda graph: graph.put_node("a", "t" * 256),
        lambda graph: graph.put_node(1, "t"),
        lambda graph: graph.put_edges([Edge("fine", "t", "too"), Edge("a", "t", "b", float("nan"))]),
        lambda graph: graph.put_edges([Edge("fine", "t", "too"), Edge("a", "t", "b", "heavy")]),
        lambda graph: graph.put_edges([Edge("fine", "t", "too"), ("a", "b")]),
        lambda graph: graph.put_edge("a", "", "b"),
        lambda graph: graph.delete_edges([("a", "b")]),
        lambda graph: graph.delete_nodes([""]),
        lambda graph: graph.neighbors("a", direction="up"),
        lambda graph: graph.neighbors("a", types=[]),
        lambda graph: graph.neighbors("a", limit=0),
        lambda graph: graph.neighbors("a", limit=10_001),
        lambda graph: graph.neighbors("a", cursor="?"),
        lambda graph: graph.neighbors(""),
        lambda graph: graph.traverse([]),
        lambda graph: graph.traverse("a", max_depth=0),
        lambda graph: graph.traverse("a", max_depth=1 << 40),
        lambda graph: graph.traverse("a", limit=0),
        lambda graph: graph.put_node("a", "t", durability="never"),
    ],
)
def test_what_is_wrong_is_refused_and_leaves_the_graph_as_it_was(graph, call):
    with pytest.raises(nuthatch.InvalidError):
        call(graph)
    assert graph.counts() == GraphCounts(0, 0, True)


def test_a_batch_over_a_graph_and_everything_else_is_there_whole_or_not_at_all(db, graph):
    notes = db.collection("notes", embedder="none")
    graph.put_edges([Edge("old", "links", "x"), Edge("y", "links", "old")])

    def write(batch):
        batch.kv("settings").put("k", "v")
        batch.collection("notes").upsert([{"id": "a", "text": "words"}])
        links = batch.graph("test")
        links.put_edge("old", "links", "before")
        links.delete_nodes("old")
        links.put_node("a", "note", {"n": 1})
        links.put_edges([Edge("old", "links", "after"), Edge("a", "links", "b")])
        links.delete_edges([("a", "links", "b")])

    with pytest.raises(nuthatch.InvalidError), db.batch() as batch:
        write(batch)
        batch.graph("test").put_edge("", "links", "b")
    with pytest.raises(nuthatch.NotFoundError), db.batch() as batch:
        write(batch)
        batch.collection("no-such").upsert([{"id": "a", "text": "words"}])
    with pytest.raises(nuthatch.InvalidError), db.batch() as batch:
        write(batch)
        batch.graph("settings").put_edge("a", "links", "b")
    assert (notes.count(), db.kv("settings").get("k"), graph.counts()) == (0, None, GraphCounts(0, 2, True))
    with db.batch() as batch:
        write(batch)
    assert (notes.count(), db.kv("settings")["k"]) == (1, b"v")
    assert graph.get("a") == Node("a", "note", {"n": 1})
    assert [found.edge.target for found in graph.neighbors("old", direction="both")] == ["after"]


def test_a_snapshot_has_the_graph_as_it_was(db, graph):
    graph.put_node("a", "t")
    graph.put_edges([Edge("a", "x", "b"), Edge("b", "x", "c")])
    with db.snapshot() as snapshot:
        kept = snapshot.graph("test")
        graph.delete_nodes("b")
        graph.put_edge("a", "x", "new")
        assert ids(kept.edges("a")) == ["b"]
        assert ids(graph.edges("a")) == ["new"]
        assert kept.traverse("a").ids == ["a", "b", "c"]
        assert kept.edge("a", "x", "b") == Edge("a", "x", "b")
        assert ids(kept.nodes()) == ["a"]
        assert "a" in kept
        assert ids(snapshot.graph("none-yet").edges("a")) == []


def test_what_a_transaction_has_read_of_a_graph_must_hold(db, graph):
    graph.put_node("a", "t")
    graph.put_edges([Edge("a", "x", "b"), Edge("b", "x", "c")])

    def conflicts(read, write):
        try:
            with db.transaction() as transaction:
                read(transaction.graph("test"))
                transaction.kv("answers").put("k", "v")
                write()
        except nuthatch.ConflictError:
            return True
        return False

    weights = iter(range(2, 100))

    def put(source, target):
        return lambda: graph.put_edge(source, "x", target, weight=next(weights))

    assert conflicts(lambda inside: inside.neighbors("a"), put("a", "new"))
    assert conflicts(lambda inside: list(inside.edges("a")), put("a", "new"))
    assert not conflicts(lambda inside: inside.neighbors("a"), put("new", "a"))
    assert conflicts(lambda inside: inside.neighbors("a", direction="in"), put("newer", "a"))
    assert conflicts(lambda inside: inside.traverse("a"), put("b", "far"))
    assert conflicts(lambda inside: inside.get("n"), lambda: graph.put_node("n", "t"))
    assert conflicts(lambda inside: inside.edge("u", "x", "v"), put("u", "v"))
    assert conflicts(lambda inside: list(inside.nodes()), lambda: graph.put_node("m", "t"))
    assert conflicts(lambda inside: inside.delete_nodes("a"), put("late", "a")), "the late edge would be left"

    def work(transaction):
        inside = transaction.graph("test")
        found = len(inside.neighbors("b"))
        inside.put_node("counted", "t", {"n": found})
        inside.put_edges([Edge("counted", "of", "b")])
        inside.delete_edges([("b", "x", "c")])
        inside.delete_nodes(["a"])
        return found

    assert db.transact(work) == 2
    assert graph.get("counted").properties == {"n": 2}
    assert ids(graph.neighbors("b", direction="both")) == ["far", "counted"]


def test_a_transaction_sees_what_it_has_written(db, graph):
    graph.put_edge("a", "x", "b")
    with db.transaction() as transaction:
        inside = transaction.graph("test")
        inside.put_edge("a", "x", "c", weight=3)
        inside.put_node("n", "t")
        inside.delete_edges([("a", "x", "b")])
        assert ids(inside.edges("a")) == ["c"]
        assert inside.edge("a", "x", "c").weight == 3
        assert "n" in inside
        assert inside.traverse("a").ids == ["a", "c"]


def test_awaited_calls_have_the_same_names_and_answers(address):
    async def main():
        async with nuthatch.connect_async(address) as db:
            graph = await db.graph("web")
            await graph.put_nodes([Node("home", "page")])
            await graph.put_edge("home", "links", "about")
            async with db.batch() as batch:
                batch.graph("web").put_edge("blog", "links", "home")
            async with db.transaction() as transaction:
                inside = await transaction.graph("web")
                assert [found.id async for found in inside.edges("home", direction="both")] == ["about", "blog"]
                await inside.put_edge("home", "links", "contact")
            async with db.snapshot() as snapshot:
                kept = await snapshot.graph("web")
                assert (await kept.traverse("blog")).ids == ["blog", "home", "about", "contact"]
            assert [node.id async for node in graph.nodes(type="page")] == ["home"]
            assert await graph.get("home") == Node("home", "page")
            assert (await graph.delete_nodes("home")).edges == 3
            assert await db.graphs() == ["web"]
            return await db.drop_graph("web")

    assert asyncio.run(main())


@pytest.mark.parametrize(
    ("sync", "awaited"),
    [
        (nuthatch.Graph, nuthatch.AsyncGraph),
        (nuthatch.SnapshotGraph, nuthatch.AsyncSnapshotGraph),
        (nuthatch.TransactionGraph, nuthatch.AsyncTransactionGraph),
    ],
)
def test_awaited_calls_take_the_same_arguments(sync, awaited):
    for name, method in inspect.getmembers(sync, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.signature(method).parameters == inspect.signature(getattr(awaited, name)).parameters, name


def test_a_graph_cannot_be_copied_or_pickled(graph):
    for ask in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            ask(graph)
    assert repr(graph) == "Graph('test')"


@pytest.mark.not_over("http", "exports are of a folder")
@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_an_export_carries_graphs(db, graph, tmp_path, format):
    if format == "parquet":
        pytest.importorskip("pyarrow")
    when = datetime(2025, 6, 1, tzinfo=timezone.utc)
    graph.put_node("a", "t", {"when": when})
    graph.put_edge("a", "x", "b", weight=0.5, properties={"when": when})
    report = db.export_to(tmp_path / "export", format=format)
    assert (report.graphs, report.nodes, report.edges) == (1, 1, 1)
    with nuthatch.connect(":memory:") as other:
        report = other.import_from(tmp_path / "export")
        assert (report.graphs, report.nodes, report.edges) == (["test"], 1, 1)
        assert other.graph("test").get("a") == graph.get("a")
        assert other.graph("test").edge("a", "x", "b") == graph.edge("a", "x", "b")
