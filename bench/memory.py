"""The space that files take on disk and in the page cache, as Linux counts it."""

import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "build.json")


def disk_bytes(folder: Path) -> int:
    """Allocated blocks: sparse files count as what they take."""
    return sum(path.stat().st_blocks * 512 for path in files(folder))


def evict(folder: Path) -> None:
    """Drop the cached pages of a folder's files: later reads come from the disk."""
    for path in files(folder):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def cached_bytes(folder: Path) -> int:
    """Bytes of a folder's files in the page cache. The mapping made to ask is not touched, so it adds nothing."""
    return sum(cached_pages(path) for path in files(folder)) * mmap.PAGESIZE


def cached_pages(path: Path) -> int:
    size = path.stat().st_size
    if size == 0:
        return 0
    descriptor = os.open(path, os.O_RDONLY)
    address = LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    os.close(descriptor)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap", str(path))
    try:
        resident = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        if LIBC.mincore(address, size, resident):
            raise OSError(ctypes.get_errno(), "mincore", str(path))
        return sum(bytes(resident).translate(bytes(value & 1 for value in range(256))))
    finally:
        LIBC.munmap(address, size)
