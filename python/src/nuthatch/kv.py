"""Keys and values: what is found by its key, or by the order of keys.

What it is: ``Database.kv`` gives a ``Keyspace``, which reads and writes like a dict, with expiry, counters, scans and
compare-and-set besides. Keys and values are bytes; strings are taken as UTF-8, and come back as bytes.
What it is not: a way to search by content; collections do that.
Invariant: every call is one atomic batch; what has expired is invisible from that moment on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, overload

from . import arguments
from .arguments import Durability
from .errors import InvalidError, MissingKeyError, NuthatchError

if TYPE_CHECKING:
    from . import _core

Bytes: TypeAlias = "str | bytes | bytearray | memoryview"
"""What a key or a value may be given as; a string is stored as UTF-8."""

Entries: TypeAlias = "Mapping[Any, Bytes] | Iterable[tuple[Bytes, Bytes]]"
"""Keys with their values: a mapping, or pairs."""

TimeToLive: TypeAlias = "float | timedelta"
"""Seconds, or a timedelta."""

T = TypeVar("T")

#: Keys that an iteration reads at once.
_PAGE = 1000


class KeyPage(Sequence["tuple[bytes, bytes]"]):
    """Keys of one page with their values, in order; ``cursor`` continues it, and is None at the end."""

    __slots__ = ("cursor", "entries")

    def __init__(self, entries: list[tuple[bytes, bytes]], cursor: str | None) -> None:
        #: Values are empty where ``keys_only`` was asked for.
        self.entries = entries
        self.cursor = cursor

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


class Keyspace:
    """Keys and values. Made by ``Database.kv``; safe to share between threads.

    It reads and writes like a dict. It has no ``len``, because counting would read every key: see ``count_estimate``.
    Iteration is in the order of the keys' bytes, page by page; what is written meanwhile may or may not be seen.

    Writes take ``durability``: "commit" (on the disk when the call returns), "interval" (within ``sync_interval_ms`` of
    ``connect``) or "os" (whenever the system likes); left out, the one that the keyspace was opened with.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     kv = db.kv("settings")
    ...     kv["theme"] = "dark"
    ...     kv["theme"], "theme" in kv, kv.get("font", b"serif"), list(kv)
    (b'dark', True, b'serif', [b'theme'])
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Keyspace) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The keyspace's name."""
        return self._core.name

    @overload
    def get(self, key: Bytes) -> bytes | None: ...
    @overload
    def get(self, key: Bytes, default: T) -> bytes | T: ...
    def get(self, key: Bytes, default: object = None) -> object:
        """The value of a key, or ``default`` when there is none."""
        found = self._core.get_value(as_bytes("key", key))
        return default if found is None else found

    def get_many(self, keys: Iterable[Bytes]) -> list[bytes | None]:
        """The values of several keys in their order, as of one moment; None where there is none."""
        return self._core.get_many(several_keys(keys))

    def put(
        self, key: Bytes, value: Bytes, *, ttl: TimeToLive | None = None, durability: Durability | None = None
    ) -> None:
        """Sets a key, for ever or for ``ttl`` (seconds, or a timedelta). Keys have up to 65,535 bytes, values 64 MiB.

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
        """Sets several keys from a mapping or from pairs: all or nothing. Of a key that comes twice the last value holds."""
        self._core.put_many(pairs(entries), arguments.time("ttl", ttl), arguments.durability(durability))

    def delete(self, keys: Bytes | Iterable[Bytes], *, durability: Durability | None = None) -> int:
        """Deletes one key or several, all or nothing; says how many of them were there."""
        return self._core.delete(one_or_several_keys(keys), arguments.durability(durability))

    def delete_prefix(self, prefix: Bytes, *, durability: Durability | None = None) -> int:
        """Deletes all keys that begin with ``prefix``, and says how many. Up to 10,000 are one batch."""
        asked = as_bytes("prefix", prefix)
        if not asked:
            raise InvalidError(
                "delete_prefix got an empty prefix, which every key begins with; to delete all, call clear"
            )
        return self._core.delete_prefix(asked, arguments.durability(durability))

    def clear(self, *, durability: Durability | None = None) -> int:
        """Deletes all keys, and says how many. Up to 10,000 are one batch; ``Database.drop_keyspace`` is quicker."""
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
        """Sets the key to ``new`` if its value is ``expected``, with nobody between; True when it was.

        ``expected=None``: if the key is not there. ``new=None``: deletes it.

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
        """Adds ``by`` to a number in decimal digits, 0 when the key is not there, and says the sum. When it expires stays.

        Raises InvalidError when the value is no whole number, or the sum does not fit into 64 bits.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     visits = db.kv("visits")
        ...     visits.increment("page"), visits.increment("page", 10), visits["page"]
        (1, 11, b'11')
        """
        return self._core.increment(as_bytes("key", key), arguments.integer("by", by), arguments.durability(durability))

    def append(self, key: Bytes, more: Bytes, *, durability: Durability | None = None) -> int:
        """Appends to a value, to an empty one when the key is not there; says its length then. When it expires stays."""
        return self._core.append(as_bytes("key", key), as_bytes("more", more), arguments.durability(durability))

    def expire(self, key: Bytes, ttl: TimeToLive | None, *, durability: Durability | None = None) -> bool:
        """Makes a key expire after ``ttl`` from now, or never (None). False when there is none."""
        return self._core.expire(as_bytes("key", key), arguments.time("ttl", ttl), arguments.durability(durability))

    def ttl(self, key: Bytes) -> float | None:
        """Seconds that a key has to live; None when it never expires. Raises MissingKeyError when there is none."""
        there, seconds = self._core.ttl(as_bytes("key", key))
        return seconds if there else self._missing(key)

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
        """One page of keys with their values, as of one moment; ``KeyPage.cursor`` asks for the next.

        Keys that begin with ``prefix``, from ``start`` up to but not including ``stop``, ascending by their bytes or, with
        ``reverse``, descending. ``limit`` is 1 to 10,000; a page of large values ends earlier. A cursor names a place among
        the keys: it outlives the process, and what came or went meanwhile does no harm. With ``keys_only`` values are not
        read, and empty.

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
        """Keys with their values, read page by page; the arguments of ``scan``."""
        return entries_of(self, prefix, start, stop, reverse, keys_only=False)

    def keys(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> Iterator[bytes]:
        """Keys, read page by page; the arguments of ``scan``."""
        return (key for key, _ in entries_of(self, prefix, start, stop, reverse, keys_only=True))

    def values(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> Iterator[bytes]:
        """Values in the order of their keys, read page by page; the arguments of ``scan``."""
        return (value for _, value in entries_of(self, prefix, start, stop, reverse, keys_only=False))

    def count_estimate(self, prefix: Bytes = b"") -> int:
        """About how many keys begin with ``prefix``: counted up to 10,000, estimated from the sizes of files beyond.

        Keys that have expired or were deleted lately may still count.
        """
        return self._core.count_estimate(as_bytes("prefix", prefix))

    def __getitem__(self, key: Bytes) -> bytes:
        found = self._core.get_value(as_bytes("key", key))
        return self._missing(key) if found is None else found

    def __setitem__(self, key: Bytes, value: Bytes) -> None:
        self.put(key, value)

    def __delitem__(self, key: Bytes) -> None:
        if not self.delete([key]):
            self._missing(key)

    def __contains__(self, key: object) -> bool:
        return self._core.contains(as_bytes("key", key))

    def __iter__(self) -> Iterator[bytes]:
        return self.keys()

    def _missing(self, key: Bytes) -> NoReturn:
        raise missing(self.name, key)

    def __repr__(self) -> str:
        try:
            keys = self.count_estimate()
        except NuthatchError as error:
            return f"Keyspace({self.name!r}, {type(error).__name__})"
        return f"Keyspace({self.name!r}, about {keys} keys)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Keyspace cannot be pickled or copied: it belongs to the process that opened it; "
            "send the folder's path and the name, and connect there"
        )


def missing(keyspace: str, key: Bytes) -> MissingKeyError:
    """The error about a key that is not there."""
    shown = repr(key if len(key) <= 80 else key[:80])
    return MissingKeyError(f"no key {shown}{'…' if len(key) > 80 else ''} in keyspace {keyspace!r}")


def entries_of(
    space: Any, prefix: Bytes | None, start: Bytes | None, stop: Bytes | None, reverse: bool, *, keys_only: bool
) -> Iterator[tuple[bytes, bytes]]:
    """All entries of a keyspace's scan, page by page. What is wrong with the arguments is said at once."""

    def page(cursor: str | None) -> KeyPage:
        found: KeyPage = space.scan(
            prefix=prefix, start=start, stop=stop, reverse=reverse, cursor=cursor, keys_only=keys_only
        )
        return found

    def rest(found: KeyPage) -> Iterator[tuple[bytes, bytes]]:
        yield from found
        while found.cursor is not None:
            found = page(found.cursor)
            yield from found

    return rest(page(None))


def scan_arguments(
    prefix: Bytes | None,
    start: Bytes | None,
    stop: Bytes | None,
    reverse: bool,
    limit: int,
    cursor: str | None,
    keys_only: bool,
) -> _core.ScanArguments:
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


def as_bytes(name: str, given: object) -> bytes:
    """A key or a value; ``name`` is the argument's.

    >>> as_bytes("key", "ä"), as_bytes("key", bytearray(b"x"))
    (b'\\xc3\\xa4', b'x')
    """
    if isinstance(given, bytes):
        return given
    if isinstance(given, str):
        try:
            return given.encode()
        except UnicodeEncodeError:
            raise InvalidError(
                f"{name}={given!r} has lone surrogates, which are not valid Unicode; give bytes"
            ) from None
    if isinstance(given, (bytearray, memoryview)):
        return bytes(given)
    raise InvalidError(f"{name}={given!r} is of type {type(given).__name__}; give bytes or a string")


def several_keys(keys: object) -> list[bytes]:
    """Keys of a call that takes several."""
    if isinstance(keys, (str, bytes, bytearray, memoryview)) or not isinstance(keys, Iterable):
        raise InvalidError(f"keys={keys!r} is of type {type(keys).__name__}; give a list of keys")
    return [as_bytes(f"keys[{at}]", key) for at, key in enumerate(keys)]


def one_or_several_keys(keys: object) -> list[bytes]:
    """Keys of a call that takes one or several."""
    if isinstance(keys, Iterable) and not isinstance(keys, (str, bytes, bytearray, memoryview)):
        return several_keys(keys)
    return [as_bytes("keys", keys)]


def pairs(entries: object) -> list[tuple[bytes, bytes]]:
    """Keys with their values, from a mapping or from pairs."""
    if isinstance(entries, Mapping):
        entries = entries.items()
    if isinstance(entries, (str, bytes, bytearray, memoryview)) or not isinstance(entries, Iterable):
        raise InvalidError(f"entries is of type {type(entries).__name__}; give a dict, or pairs of key and value")
    found = []
    for at, entry in enumerate(entries):
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise InvalidError(f"entries[{at}]={entry!r}; give a pair of key and value")
        key = as_bytes(f"the key of entries[{at}]", entry[0])
        found.append((key, as_bytes(f"the value of key {entry[0]!r}", entry[1])))
    return found
