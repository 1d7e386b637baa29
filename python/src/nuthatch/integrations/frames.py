"""Packs several byte strings into one: each follows its length, four bytes, big-endian."""

from __future__ import annotations

from ..errors import CorruptError


def join(*parts: bytes) -> bytes:
    """Packs several byte strings into one.

    >>> join(b"ab", b""), split(join(b"ab", b""), 2)
    (b'\\x00\\x00\\x00\\x02ab\\x00\\x00\\x00\\x00', [b'ab', b''])
    """
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def split(framed: bytes, count: int) -> list[bytes]:
    """Unpacks the ``count`` byte strings."""
    parts = []
    at = 0
    while at + 4 <= len(framed):
        end = at + 4 + int.from_bytes(framed[at : at + 4], "big")
        parts.append(framed[at + 4 : end])
        at = end
    if at != len(framed) or len(parts) != count:
        raise CorruptError(
            f"a stored value has {len(framed)} bytes that are not {count} parts; it was not written by this package"
        )
    return parts
