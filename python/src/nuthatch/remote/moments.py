"""The snapshots that a server keeps for this process, and how those end that nobody ends.

Invariant: this process ends what it has taken, and nothing of the process that it was forked from. What nobody ended is ended with
the next snapshot that is taken, or when the connections are closed; what is left then, by the server when it is too old.
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
        #: Ids of those that nobody has any more. Added to while garbage is collected, when no lock may be waited for.
        self._abandoned: deque[str] = deque()

    def take(self, caller: Caller) -> str:
        """Takes one, and gives its id."""
        self._end_abandoned()
        taken: str = caller.write("POST", "/v1/snapshots")["id"]
        with self._lock:
            self._own()[taken] = caller
        return taken

    def end(self, taken: str) -> bool:
        """Ends one, unless it is another process's. False when that failed: it is ended later, so that the end of a block tells of
        what happened in it and not of this."""
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
        """It is to be ended some time."""
        self._abandoned.append(taken)

    def end_all(self) -> None:
        """Ends those that are left, if the server is there; else it does so itself when they are too old."""
        with self._lock:
            left = list(self._own())
        # What fails once would fail for the others, too.
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
