"""A snapshot of a server."""

from __future__ import annotations

from .. import _core
from ..cores import OverHttp
from .caller import Caller
from .facts import Facts
from .graph import GraphReads
from .moment import CallerThen, Moment
from .reads import KeyReads, RecordReads
from .tree import TreeReads

_OVER = "the snapshot is closed; take another one"


class Snapshot(OverHttp):
    """As the extension module's."""

    def __init__(self, caller: Caller) -> None:
        self._moment = Moment(caller, _OVER)
        self._caller = CallerThen(self._moment)

    def age_seconds(self) -> float:
        self._caller.wire.check_open()
        return self._moment.age_seconds()

    def kv(self, name: str) -> SnapshotKeyspace:
        self._caller.check_keyspace(name)
        return SnapshotKeyspace(self._caller, name)

    def facts(self, name: str) -> Facts:
        self._caller.check_facts(name)
        return Facts(self._caller, name)

    def graph(self, name: str) -> GraphReads:
        self._caller.check_graph(name)
        return GraphReads(self._caller, name)

    def tree(self, name: str) -> TreeReads:
        _core.check_tree(name)
        self._moment.check_open()
        return TreeReads(self._caller, name)

    def collection(self, name: str) -> SnapshotCollection:
        self._caller.check_collection(name)
        return SnapshotCollection(self._caller, name)

    def close(self) -> None:
        self._caller.wire.check_open()
        self._moment.end()


class SnapshotKeyspace(KeyReads):
    """As the extension module's."""


class SnapshotCollection(RecordReads):
    """As the extension module's."""
