"""Whatever can be read of what is there now can be read in a snapshot and in a transaction."""

from __future__ import annotations

import pytest

import nuthatch
from nuthatch import aio, aio_graph, aio_kv, aio_transactions, aio_tree, graph, snapshots, transactions, tree

#: What changes something, or waits for what changes.
WRITES = {
    "upsert": "writes",
    "update": "writes",
    "update_many": "writes",
    "update_files": "writes",
    "delete": "writes",
    "delete_prefix": "writes",
    "remove_files": "writes",
    "optimize": "merges segments",
    "wait_until_indexed": "waits for what is still to come",
    "wait_until_embedded": "waits for what is still to come",
    "put": "writes",
    "put_many": "writes",
    "add": "writes",
    "clear": "writes",
    "compare_and_set": "writes",
    "increment": "writes",
    "append": "writes",
    "expire": "writes",
    "put_node": "writes",
    "put_nodes": "writes",
    "put_edge": "writes",
    "put_edges": "writes",
    "delete_nodes": "writes",
    "delete_edges": "writes",
    "remove": "writes",
    "erase": "writes",
    "make_passages": "writes: it makes passages of what is stored",
    "snapshot": "writes: it names a tree as it stands",
    "drop_snapshot": "writes",
    "set_retention": "writes",
    "import_scip": "writes: it takes in what an index says of names",
    "__setitem__": "writes",
    "__delitem__": "writes",
    "__len__": "`count()` says the same, and iterating does not count first",
    "__bool__": "comes with `__len__`",
}
#: Of the language, or about the handle itself.
OF_PYTHON = set(dir(object)) | {"__module__", "__slots__", "__annotations__", "__dict__", "__weakref__", "sync"}
VIEWS = [
    (nuthatch.Collection, snapshots.SnapshotCollection, transactions.TransactionCollection),
    (nuthatch.Keyspace, snapshots.SnapshotKeyspace, transactions.TransactionKeyspace),
    (nuthatch.Graph, graph.SnapshotGraph, graph.TransactionGraph),
    (nuthatch.Tree, tree.SnapshotTree),
    (aio.AsyncCollection, aio_transactions.AsyncSnapshotCollection, aio_transactions.AsyncTransactionCollection),
    (aio_kv.AsyncKeyspace, aio_transactions.AsyncSnapshotKeyspace, aio_transactions.AsyncTransactionKeyspace),
    (aio_graph.AsyncGraph, aio_graph.AsyncSnapshotGraph, aio_graph.AsyncTransactionGraph),
    (aio_tree.AsyncTree, aio_tree.AsyncSnapshotTree),
]


#: What a view does not have yet, and why.
LACKING = {
    tree.SnapshotTree: {
        "search"
    },  # passages of trees lie in a collection of their own; `search(as_of=)` goes back in time
    aio_tree.AsyncSnapshotTree: {"search"},
}


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_") or name.startswith("__")} - OF_PYTHON


@pytest.mark.parametrize("views", VIEWS, ids=lambda views: views[0].__name__)
def test_a_snapshot_and_a_transaction_have_every_read(views):
    live, *others = views
    reads = public(live) - WRITES.keys()
    assert {"name"} < reads
    for view in others:
        lacking = reads - public(view)
        assert lacking == LACKING.get(view, set()), f"{view.__name__} lacks {sorted(lacking)}"


def test_every_exception_is_a_method_of_something():
    methods = set().union(*(public(live) for live, *_ in VIEWS))
    assert WRITES.keys() <= methods, WRITES.keys() - methods


def test_a_snapshot_tells_what_was_there(db, notes, tmp_path, address):
    notes.upsert([{"id": "a", "text": "old", "payload": {"year": 2024}}])
    keys = db.kv("keys")
    keys.put("k", "v", ttl=600)
    links = db.graph("links")
    links.put_nodes([{"id": "x", "type": "thing"}, {"id": "y", "type": "thing"}])
    links.put_edge("x", "to", "y")
    (tmp_path / "a.txt").write_text("a file about fish")
    with db.batch() as batch:
        batch.add_files(tmp_path / "a.txt", notes)
    [file] = notes.files()
    before = notes.info()
    with db.snapshot() as snapshot, db.transaction() as transaction:
        notes.upsert([{"id": "b", "text": "new", "payload": {"team": "core"}}])
        notes.remove_files(file.path)
        keys.expire("k", None)
        keys["l"] = "w"
        links.put_node("z", "thing")
        for view in (snapshot, transaction):
            info = view.collection("notes").info()
            assert (info.rows, info.fields) == (before.rows, before.fields)
            assert (info.name, info.dim, info.metric) == (before.name, before.dim, before.metric)
            assert view.collection("notes").files() == [file]
            assert 0 < view.kv("keys").ttl("k") <= 600
            with pytest.raises(nuthatch.MissingKeyError):
                view.kv("keys").ttl("l")
            assert view.kv("keys").count_estimate() == 1
            assert view.kv("keys").count_estimate("x") == 0
        assert snapshot.graph("links").counts() == (2, 1, True)
        if address.startswith("http"):
            with pytest.raises(nuthatch.InvalidError, match="count it in a snapshot"):
                transaction.graph("links").counts()
        else:
            assert transaction.graph("links").counts() == (2, 1, True)
        transaction.rollback()
    assert notes.info().fields != before.fields
    assert (keys.ttl("k"), keys.count_estimate(), links.counts()) == (None, 2, (3, 1, True))


def test_a_transaction_counts_what_it_has_written(db):
    db.kv("keys").put_many({"a": "1", "b": "2"})
    with db.transaction() as transaction:
        keys = transaction.kv("keys")
        keys.put("c", "3", ttl=60)
        keys.put("d", "4")
        keys.delete("a")
        assert keys.count_estimate() == 3
        assert 0 < keys.ttl("c") <= 60
        assert keys.ttl("d") is None
        with pytest.raises(nuthatch.MissingKeyError):
            keys.ttl("a")
        transaction.rollback()
