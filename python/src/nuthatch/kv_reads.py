"""Reads of keys and values: in a keyspace as it is, in a snapshot, in a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeVar, overload

from . import arguments
from .errors import MissingKeyError
from .kv_entries import Bytes, as_bytes, several_keys
from .paging import all_of

if TYPE_CHECKING:
    from . import _core as extension

T = TypeVar("T")

#: Keys that an iteration reads at once.
_PAGE = 1000


class KeyPage(Sequence["tuple[bytes, bytes]"]):
    """Keys of one page with their values, in order; ``cursor`` continues it, and is None at the end."""

    __slots__ = ("cursor", "entries")

    def __init__(self, entries: list[tuple[bytes, bytes]], cursor: str | None) -> None:
        #: Values are empty with ``keys_only``.
        self.entries: list[tuple[bytes, bytes]] = entries
        self.cursor: str | None = cursor

    @property
    def keys(self) -> list[bytes]:
        """The keys alone."""
        return [key for key, _ in self.entries]

    @overload
    def __getitem__(self, at: int) -> tuple[bytes, bytes]: ...
    @overload
    def __getitem__(self, at: slice) -> list[tuple[bytes, bytes]]: ...
    def __getitem__(self, at: int | slice) -> tuple[bytes, bytes] | list[tuple[bytes, bytes]]:
        return self.entries[at]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return iter(self.entries)

    def __repr__(self) -> str:
        return f"KeyPage({len(self)} keys, cursor={self.cursor!r})"


class Source(Protocol):
    """Where keys are read: one of the extension module's classes."""

    @property
    def name(self) -> str:
        """The keyspace's name."""

    def get_value(self, key: bytes) -> bytes | None:
        """Returns the value of a key."""

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        """The values of several keys."""

    def ttl(self, key: bytes) -> tuple[bool, float | None]:
        """Whether it is there, and the seconds that it has to live."""

    def count_estimate(self, prefix: bytes) -> int:
        """About how many keys begin so."""

    def contains(self, key: bytes) -> bool:
        """Whether a key is there."""

    def scan(self, arguments: extension.ScanArguments) -> tuple[list[tuple[bytes, bytes]], str | None]:
        """A page, and its cursor."""


class KeyReads:
    """Reading keys and values: the common part of ``Keyspace``, ``SnapshotKeyspace`` and ``TransactionKeyspace``."""

    __slots__ = ()

    _core: Source

    @property
    def name(self) -> str:
        """The keyspace's name."""
        return self._core.name

    @overload
    def get(self, key: Bytes) -> bytes | None: ...
    @overload
    def get(self, key: Bytes, default: T) -> bytes | T: ...
    def get(self, key: Bytes, default: object = None) -> object:
        """Returns the value of a key, or ``default``."""
        found = self._core.get_value(as_bytes("key", key))
        return default if found is None else found

    def get_many(self, keys: Iterable[Bytes]) -> list[bytes | None]:
        """Returns the values of several keys in their order, as of one moment, with None for
        missing ones.
        """
        return self._core.get_many(several_keys(keys))

    def scan(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
        limit: int = _PAGE,
        cursor: str | None = None,
        keys_only: bool = False,
    ) -> KeyPage:
        """Returns one page of keys with their values, as of one moment; ``KeyPage.cursor`` asks for
        the next.

        The keys begin with ``prefix``, start at ``start`` and end before ``stop``, ascending by
        their bytes or, with ``reverse``, descending. ``limit`` is 1 to 10,000; a page of large
        values ends earlier. A cursor names a position among the keys: it outlives the process, and
        keys may come or go between pages. With ``keys_only``, values are not read and come back
        empty.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     kv = db.kv("birds")
        ...     kv.put_many({"a/owl": "1", "a/swift": "2", "b/tit": "3"})
        ...     page = kv.scan(prefix="a/", limit=1)
        ...     page.entries, kv.scan(prefix="a/", cursor=page.cursor).entries
        ([(b'a/owl', b'1')], [(b'a/swift', b'2')])
        """
        return KeyPage(*self._core.scan(scan_arguments(prefix, start, stop, reverse, limit, cursor, keys_only)))

    def items(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Iterates over keys with their values, page by page; the arguments of ``scan``."""
        return entries_of(self, prefix, start, stop, reverse, keys_only=False)

    def keys(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> Iterator[bytes]:
        """Iterates over keys, page by page; the arguments of ``scan``."""
        return (key for key, _ in entries_of(self, prefix, start, stop, reverse, keys_only=True))

    def values(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> Iterator[bytes]:
        """Iterates over values in key order, page by page; the arguments of ``scan``."""
        return (value for _, value in entries_of(self, prefix, start, stop, reverse, keys_only=False))

    def ttl(self, key: Bytes) -> float | None:
        """Returns the seconds until a key expires; None when it never does. Raises MissingKeyError
        when there is no such key.

        In a snapshot: the seconds that it had when the snapshot was taken.
        """
        there, seconds = self._core.ttl(as_bytes("key", key))
        if not there:
            self._missing(key)
        return seconds

    def count_estimate(self, prefix: Bytes = b"") -> int:
        """Counts the keys that begin with ``prefix``: exactly up to 10,000, beyond that estimated
        from file sizes.

        Keys that have expired or were deleted lately may still count.
        """
        return self._core.count_estimate(as_bytes("prefix", prefix))

    def __getitem__(self, key: Bytes) -> bytes:
        found = self._core.get_value(as_bytes("key", key))
        if found is None:
            self._missing(key)
        return found

    def __contains__(self, key: object) -> bool:
        return self._core.contains(as_bytes("key", key))

    def __iter__(self) -> Iterator[bytes]:
        return self.keys()

    def _missing(self, key: Bytes) -> NoReturn:
        raise missing(self.name, key)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied: it belongs to the process that opened it; "
            "send the folder's path and the name, and connect there"
        )


def missing(keyspace: str, key: Bytes) -> MissingKeyError:
    """The error about a missing key."""
    shown = repr(key if len(key) <= 80 else key[:80])
    error = MissingKeyError(f"no key {shown}{'…' if len(key) > 80 else ''} in keyspace {keyspace!r}")
    error.what, error.name = "key", key if isinstance(key, str) else bytes(key).decode(errors="replace")
    return error


def entries_of(
    space: KeyReads, prefix: Bytes | None, start: Bytes | None, stop: Bytes | None, reverse: bool, *, keys_only: bool
) -> Iterator[tuple[bytes, bytes]]:
    """All entries of a keyspace's scan, page by page. Invalid arguments raise at once."""

    def page(cursor: str | None) -> KeyPage:
        return space.scan(prefix=prefix, start=start, stop=stop, reverse=reverse, cursor=cursor, keys_only=keys_only)

    return all_of(page(None), page)


def scan_arguments(
    prefix: Bytes | None,
    start: Bytes | None,
    stop: Bytes | None,
    reverse: bool,
    limit: int,
    cursor: str | None,
    keys_only: bool,
) -> extension.ScanArguments:
    """``scan``'s arguments as the extension module takes them."""
    return {
        "prefix": None if prefix is None else as_bytes("prefix", prefix),
        "start": None if start is None else as_bytes("start", start),
        "stop": None if stop is None else as_bytes("stop", stop),
        "reverse": arguments.flag("reverse", reverse),
        "limit": arguments.whole("limit", limit),
        "cursor": arguments.optional_text("cursor", cursor),
        "keys_only": arguments.flag("keys_only", keys_only),
    }
