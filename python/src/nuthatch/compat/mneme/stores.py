"""Where a cache lies, by mneme's names. Both are data folders of Nuthatch."""

from __future__ import annotations

from pathlib import Path


class MemoryStore:
    """In memory, until the cache is closed."""

    place = ":memory:"


class SQLiteStore:
    """On disk, in the folder ``path``. The name is mneme's: nothing of it is SQLite's."""

    def __init__(self, path: str | Path) -> None:
        self.place: str = str(path)
