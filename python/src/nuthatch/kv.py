"""Keys and values, found by key or by the order of keys.

What it is: ``Database.kv`` gives a ``Keyspace``, which reads and writes like a dict, with expiry, counters, scans and
compare-and-set. Keys and values are bytes; strings are taken as UTF-8, and come back as bytes.
What it is not: a way to search by content; collections do that.
Invariant: every call is one atomic batch; an expired key is invisible from that moment on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import arguments
from .arguments import Durability
from .errors import InvalidError, NuthatchError
from .kv_entries import Bytes, Entries, TimeToLive, as_bytes, one_or_several_keys, pairs
from .kv_reads import KeyReads

if TYPE_CHECKING:
    from .cores import KeyspaceCore


class Keyspace(KeyReads):
    """Keys and values. ``Database.kv`` makes it; threads may share it.

    It reads and writes like a dict. It has no ``len``, because counting would read every key: see
    ``count_estimate``. Iteration follows the byte order of the keys, page by page, and may or may
    not see concurrent writes.

    Writes take ``durability``: "commit" (on disk when the call returns), "interval" (within
    ``sync_interval_ms`` of ``connect``) or "os" (whenever the system likes). The default is that of
    the keyspace handle.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     kv = db.kv("settings")
    ...     kv["theme"] = "dark"
    ...     kv["theme"], "theme" in kv, kv.get("font", b"serif"), list(kv)
    (b'dark', True, b'serif', [b'theme'])
    """

    __slots__ = ("_core",)

    _core: KeyspaceCore

    def __init__(self, core: KeyspaceCore) -> None:
        self._core = core

    def put(
        self, key: Bytes, value: Bytes, *, ttl: TimeToLive | None = None, durability: Durability | None = None
    ) -> None:
        """Sets a key, for ever or for ``ttl`` (seconds, or a timedelta). Keys have up to 65,535
        bytes, values 64 MiB.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     sessions = db.kv("sessions")
        ...     sessions.put("anna", b"token", ttl=3600)
        ...     3590 < sessions.ttl("anna") <= 3600
        True
        """
        pair = (as_bytes("key", key), as_bytes("value", value))
        self._core.put_many([pair], arguments.time("ttl", ttl), arguments.durability(durability))

    def put_many(
        self, entries: Entries, *, ttl: TimeToLive | None = None, durability: Durability | None = None
    ) -> None:
        """Sets several keys from a mapping or from pairs: all or nothing. If a key occurs twice,
        the last value wins.
        """
        self._core.put_many(pairs(entries), arguments.time("ttl", ttl), arguments.durability(durability))

    def delete(self, keys: Bytes | Iterable[Bytes], *, durability: Durability | None = None) -> int:
        """Deletes one key or several, all or nothing, and returns how many existed."""
        return self._core.delete(one_or_several_keys(keys), arguments.durability(durability))

    def delete_prefix(self, prefix: Bytes, *, durability: Durability | None = None) -> int:
        """Deletes all keys that begin with ``prefix``, and returns how many. Up to 10,000 are one
        batch.
        """
        asked = as_bytes("prefix", prefix)
        if not asked:
            raise InvalidError("delete_prefix got an empty prefix, which matches every key; to delete all, call clear")
        return self._core.delete_prefix(asked, arguments.durability(durability))

    def clear(self, *, durability: Durability | None = None) -> int:
        """Deletes all keys, and returns how many. Up to 10,000 are one batch;
        ``Database.drop_keyspace`` is faster.
        """
        return self._core.delete_prefix(b"", arguments.durability(durability))

    def compare_and_set(
        self,
        key: Bytes,
        expected: Bytes | None,
        new: Bytes | None,
        *,
        ttl: TimeToLive | None = None,
        durability: Durability | None = None,
    ) -> bool:
        """Sets the key to ``new`` if its value is ``expected``, atomically, and returns whether it
        was.

        ``expected=None`` means that the key must not exist. ``new=None`` deletes it.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     locks = db.kv("locks")
        ...     locks.compare_and_set("door", None, "me", ttl=30), locks.compare_and_set("door", None, "you", ttl=30)
        (True, False)
        """
        return self._core.compare_and_set(
            as_bytes("key", key),
            None if expected is None else as_bytes("expected", expected),
            None if new is None else as_bytes("new", new),
            arguments.time("ttl", ttl),
            arguments.durability(durability),
        )

    def increment(self, key: Bytes, by: int = 1, *, durability: Durability | None = None) -> int:
        """Adds ``by`` to a number in decimal digits (0 for a missing key), and returns the sum. The
        expiry stays.

        Raises InvalidError when the value is not an integer, or the sum does not fit into 64 bits.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     visits = db.kv("visits")
        ...     visits.increment("page"), visits.increment("page", 10), visits["page"]
        (1, 11, b'11')
        """
        return self._core.increment(as_bytes("key", key), arguments.integer("by", by), arguments.durability(durability))

    def append(self, key: Bytes, more: Bytes, *, durability: Durability | None = None) -> int:
        """Appends to a value (empty for a missing key), and returns the new length. The expiry
        stays.
        """
        return self._core.append(as_bytes("key", key), as_bytes("more", more), arguments.durability(durability))

    def expire(self, key: Bytes, ttl: TimeToLive | None, *, durability: Durability | None = None) -> bool:
        """Makes a key expire after ``ttl`` from now, or never (None). Returns False when there is
        no such key.
        """
        return self._core.expire(as_bytes("key", key), arguments.time("ttl", ttl), arguments.durability(durability))

    def __setitem__(self, key: Bytes, value: Bytes) -> None:
        self.put(key, value)

    def __delitem__(self, key: Bytes) -> None:
        if not self.delete([key]):
            self._missing(key)

    def __repr__(self) -> str:
        try:
            keys = self.count_estimate()
        except NuthatchError as error:
            return f"Keyspace({self.name!r}, {type(error).__name__})"
        return f"Keyspace({self.name!r}, about {keys} keys)"
