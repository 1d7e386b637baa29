"""The snapshots that a server keeps for this process, and how abandoned ones end.

Invariant: this process ends its own snapshots, and none of the process that it was forked from. An abandoned one ends
with the next snapshot taken, or when the connections are closed; the server ends the rest when they are too old.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING

from ..errors import NuthatchError

if TYPE_CHECKING:
    from .caller import Caller


class Moments:
    """The snapshots that the server keeps for one ``connect``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._open: dict[str, Caller] = {}
        #: Ids of abandoned ones. The garbage collector adds to it, so adding must not wait for a lock.
        self._abandoned: deque[str] = deque()

    def take(self, caller: Caller) -> str:
        """Takes one, and gives its id."""
        self._end_abandoned()
        taken: str = caller.write("POST", "/v1/snapshots")["id"]
        with self._lock:
            self._own()[taken] = caller
        return taken

    def end(self, taken: str) -> bool:
        """Ends one, unless it is another process's. False when that failed: a later call ends it, so that the end
        of a block reports the block's own errors and not this one."""
        with self._lock:
            caller = self._own().get(taken)
        if caller is None:
            return True
        try:
            caller.end_snapshot(taken)
        except NuthatchError:
            self.abandon(taken)
            return False
        self.forget(taken)
        return True

    def forget(self, taken: str) -> None:
        """The server has ended it."""
        with self._lock:
            self._own().pop(taken, None)

    def abandon(self, taken: str) -> None:
        """Marks it to be ended later."""
        self._abandoned.append(taken)

    def end_all(self) -> None:
        """Ends the remaining ones, if the server is there; otherwise the server ends them when they are too old."""
        with self._lock:
            left = list(self._own())
        # An error for one would repeat for the others.
        all(self.end(taken) for taken in left)

    def _end_abandoned(self) -> None:
        for _ in range(len(self._abandoned)):
            try:
                self.end(self._abandoned.popleft())
            except IndexError:
                return  # another thread was quicker

    def _own(self) -> dict[str, Caller]:
        if self._pid != os.getpid():
            self._pid, self._open = os.getpid(), {}
            self._abandoned.clear()
        return self._open
