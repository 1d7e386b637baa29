"""A snapshot that the server keeps, and the caller that reads it."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING, Any

from ..errors import ClosedError
from .caller import Caller, address

if TYPE_CHECKING:
    from .wire import Answer

HEADER = "x-nuthatch-snapshot"


class Moment:
    """One of them."""

    def __init__(self, caller: Caller, over: str) -> None:
        self.caller = caller
        self._moments = caller.moments
        self._over = over
        self._is_over = False
        self.id: str = self._moments.take(caller)
        self._taken = time.monotonic()
        self._abandoning = weakref.finalize(self, self._moments.abandon, self.id)
        self._abandoning.atexit = False

    def age_seconds(self) -> float:
        """How long ago it was taken."""
        return time.monotonic() - self._taken

    def check_open(self) -> None:
        """Raises ClosedError once it has been ended here."""
        self.caller.wire.check_open()
        if self._is_over:
            raise ClosedError(self._over)

    def end(self) -> None:
        """Ends it, for all objects made from it."""
        if not self._is_over:
            self._is_over = True
            self._abandoning.detach()
            self._moments.end(self.id)

    def commit(self, body: bytes, durability: str | None) -> None:
        """Sends a transaction's work, with which it ends. Never twice, unless it was refused before it began."""
        self.check_open()
        self._is_over = True
        # A failed commit may have been refused before it began: then the server keeps the snapshot until it is ended.
        self.caller.ask("POST", address("snapshots", self.id, "commit", durability=durability), body)
        self._abandoning.detach()
        self._moments.forget(self.id)


class CallerThen(Caller):
    """A caller that asks as of a moment."""

    def __init__(self, moment: Moment) -> None:
        of = moment.caller
        super().__init__(of.wire, of.tenant, of.body_bytes_max, of.moments)
        self.headers: dict[str, str] = {**of.headers, HEADER: moment.id}
        self.moment = moment
        self._known: set[tuple[str, str]] = set()

    def ask(self, *args: Any, **kwargs: Any) -> Answer:
        """As any caller, as of the moment."""
        self.moment.check_open()
        return super().ask(*args, **kwargs)

    def check_keyspace(self, name: str) -> None:
        """Has the server hold on to the keyspace of that name, if there is one."""
        self.moment.check_open()
        if ("keyspace", name) not in self._known:
            self.read("POST", address("keyspaces", name, "get"), {"keys": []})
            self._known.add(("keyspace", name))

    def check_graph(self, name: str) -> None:
        """The same of a graph."""
        self.moment.check_open()
        if ("graph", name) not in self._known:
            self.read("POST", address("graphs", name, "nodes", "get"), {"ids": []})
            self._known.add(("graph", name))

    def check_facts(self, name: str) -> None:
        """The same of facts."""
        self.moment.check_open()
        if ("facts", name) not in self._known:
            self.read("POST", address("facts", name, "stats"), {})
            self._known.add(("facts", name))

    def check_collection(self, name: str) -> None:
        """The same of a collection. Raises NotFoundError when there was none."""
        self.moment.check_open()
        if ("collection", name) not in self._known:
            self.read("GET", address("collections", name, "count"))
            self._known.add(("collection", name))
