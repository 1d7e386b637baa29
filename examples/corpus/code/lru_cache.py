"""A cache of bounded size that forgets what was used longest ago."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LeastRecentlyUsed(Generic[K, V]):
    """Keeps at most `capacity` entries. Reading an entry makes it the youngest."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self._capacity = capacity
        self._entries: OrderedDict[K, V] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def get(self, key: K) -> V | None:
        """The value, or None. Moves the entry to the young end."""
        if key not in self._entries:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return self._entries[key]

    def put(self, key: K, value: V) -> None:
        """Store a value, pushing out the oldest entry when there is no room."""
        if key in self._entries:
            self._entries.move_to_end(key)
        self._entries[key] = value
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)

    def get_or_compute(self, key: K, compute: Callable[[K], V]) -> V:
        """Look the key up; when it is absent, call `compute` once and keep its result."""
        found = self.get(key)
        if found is None:
            found = compute(key)
            self.put(key, found)
        return found

    def hit_rate(self) -> float:
        """Share of lookups that were answered, 0.0 when there were none."""
        total = self.hits + self.misses
        return self.hits / total if total else 0.0
