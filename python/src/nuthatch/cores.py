"""What stands behind the classes that callers see: the engine in this process, or a server that is asked over HTTP.

Both have the same methods, so that there is one ``Database``, one ``Collection``, one ``Keyspace``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from . import _core as extension
    from .remote import batch, collection, database, keyspace

    DatabaseCore: TypeAlias = extension.Database | database.Database
    CollectionCore: TypeAlias = extension.Collection | collection.Collection
    KeyspaceCore: TypeAlias = extension.Keyspace | keyspace.Keyspace
    BatchCore: TypeAlias = extension.WriteBatch | batch.WriteBatch


class OverHttp:
    """Marks what asks a server: its files are documents that were sent, named relative to no folder."""

    __slots__ = ()
