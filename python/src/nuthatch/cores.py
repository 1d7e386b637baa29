"""The implementations behind the public classes: the engine in this process, or a server over HTTP.

Both have the same methods, so one ``Database``, one ``Collection`` and one ``Keyspace`` serve both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from . import _core as extension
    from .remote import (
        batch,
        cache,
        collection,
        database,
        facts,
        graph,
        keyspace,
        snapshot,
        transaction,
        transaction_collection,
        transaction_keyspace,
        tree,
    )

    DatabaseCore: TypeAlias = extension.Database | database.Database
    CollectionCore: TypeAlias = extension.Collection | collection.Collection
    KeyspaceCore: TypeAlias = extension.Keyspace | keyspace.Keyspace
    CacheCore: TypeAlias = extension.Cache | cache.Cache
    FactsCore: TypeAlias = extension.Facts | facts.Facts
    GraphCore: TypeAlias = extension.Graph | graph.GraphReads
    TreeCore: TypeAlias = extension.Tree | tree.TreeReads
    BatchCore: TypeAlias = extension.WriteBatch | batch.WriteBatch
    SnapshotCore: TypeAlias = extension.Snapshot | snapshot.Snapshot
    SnapshotKeyspaceCore: TypeAlias = extension.SnapshotKeyspace | snapshot.SnapshotKeyspace
    SnapshotCollectionCore: TypeAlias = extension.SnapshotCollection | snapshot.SnapshotCollection
    TransactionCore: TypeAlias = extension.Transaction | transaction.Transaction
    TransactionKeyspaceCore: TypeAlias = extension.TransactionKeyspace | transaction_keyspace.TransactionKeyspace
    TransactionCollectionCore: TypeAlias = (
        extension.TransactionCollection | transaction_collection.TransactionCollection
    )


class OverHttp:
    """Marks a core that asks a server: its files are documents sent to it, under relative names."""

    __slots__ = ()
