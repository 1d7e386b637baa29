"""A file of a tree, to be read as any other file."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from .tree_entries import TreeEntry

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: Bytes that one call reads.
PART_BYTES = 8 << 20
#: Bytes that an opened file reads ahead.
BUFFER_BYTES = 1 << 20


class TreeFile(io.RawIOBase):
    """The bytes of one version, whatever is written at its path meanwhile. ``Tree.open`` makes it, in a buffer."""

    def __init__(self, entry: TreeEntry, read: Callable[[int, int], bytes]) -> None:
        super().__init__()
        self.entry = entry
        #: A file's usual name for where it comes from.
        self.name: str = entry.path
        self.mode = "rb"
        self._read = read
        self._at = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Reads as many bytes as the buffer takes, fewer at the end."""
        self._check_open()
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), PART_BYTES, max(self.entry.bytes - self._at, 0))
        if not wanted:
            return 0
        found = self._read(self._at, wanted)
        view[: len(found)] = found
        self._at += len(found)
        return len(found)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes to a place, also behind the end, where there is nothing to read."""
        self._check_open()
        from_ = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.entry.bytes}
        if whence not in from_:
            raise ValueError(f"whence={whence}; give os.SEEK_SET, os.SEEK_CUR or os.SEEK_END")
        if (place := from_[whence] + offset) < 0:
            raise ValueError(f"{place} is before the file's beginning")
        self._at = place
        return place

    def tell(self) -> int:
        """Where the next read begins."""
        self._check_open()
        return self._at

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("the file is closed; open it again")
