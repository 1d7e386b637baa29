"""Keys of several parts that sort part by part: keys with the same first parts share a byte prefix.

Each part is its UTF-8 followed by 00 01, with 00 inside written as 00 FF. So ``("a",)`` begins ``("a", "b")`` and not ``("ab",)``.
"""

from __future__ import annotations

_END = b"\x00\x01"


def pack(*parts: str) -> bytes:
    """Joins the parts to one key or key prefix.

    >>> pack("a", "b").startswith(pack("a")), pack("ab").startswith(pack("a")), unpack(pack("x", "", "a\\x00b"))
    (True, False, ['x', '', 'a\\x00b'])
    """
    return b"".join(part.encode().replace(b"\x00", b"\x00\xff") + _END for part in parts)


def unpack(key: bytes) -> list[str]:
    """The parts of a key."""
    return [part.replace(b"\x00\xff", b"\x00").decode() for part in key.split(_END)[:-1]]
