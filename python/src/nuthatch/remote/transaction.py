"""A transaction on a server: the snapshot stays there, its reads and writes are recorded here.

Invariant: the commit names everything that was read or is written.
"""

from __future__ import annotations

import json
import threading

from ..cores import OverHttp
from .caller import Caller
from .durability import checked
from .facts import recorded
from .graph import GraphWork, TransactionGraph
from .moment import CallerThen, Moment
from .transaction_collection import RecordWork, TransactionCollection
from .transaction_keyspace import KeyWork, TransactionKeyspace

_OVER = "the transaction has ended; begin another one"


class Transaction(OverHttp):
    """As the extension module's."""

    def __init__(self, caller: Caller) -> None:
        self._moment = Moment(caller, _OVER)
        self._caller = CallerThen(self._moment)
        self._lock = threading.Lock()
        self._keyspaces: dict[str, KeyWork] = {}
        self._graphs: dict[str, GraphWork] = {}
        self._collections: dict[str, RecordWork] = {}
        #: JSON of the writes.
        self._facts: list[bytes] = []

    def kv(self, name: str) -> TransactionKeyspace:
        self._caller.check_keyspace(name)
        with self._lock:
            work = self._keyspaces.setdefault(name, KeyWork(self._lock))
        return TransactionKeyspace(self._caller, name, work)

    def graph(self, name: str) -> TransactionGraph:
        self._caller.check_graph(name)
        with self._lock:
            work = self._graphs.setdefault(name, GraphWork(self._lock))
        return TransactionGraph(self._caller, name, work)

    def collection(self, name: str) -> TransactionCollection:
        self._caller.check_collection(name)
        with self._lock:
            work = self._collections.setdefault(name, RecordWork(self._lock))
        return TransactionCollection(self._caller, name, work)

    def record_facts(self, facts: str, question: str) -> None:
        self._moment.check_open()
        write = recorded(facts, question)
        with self._lock:
            self._facts.append(write)

    def retract_facts(self, facts: str, numbers: list[int]) -> None:
        self._moment.check_open()
        with self._lock:
            self._facts.append(json.dumps({"facts": {"facts": facts, "retract": numbers}}).encode())

    def commit(self, durability: str | None) -> None:
        durable = checked(durability)
        self._moment.check_open()
        with self._lock:
            work: list[tuple[str, KeyWork | GraphWork | RecordWork]] = [
                *self._keyspaces.items(),
                *self._graphs.items(),
                *self._collections.items(),
            ]
            reads = [read for name, done in work for read in done.reads_json(name)]
            writes = [write for name, done in work for write in done.writes_json(name)] + self._facts
        if writes:
            self._moment.commit(b'{"reads":[' + b",".join(reads) + b'],"writes":[' + b",".join(writes) + b"]}", durable)
        else:
            # All reads show one moment, and without writes there is nothing to check.
            self._moment.end()

    def rollback(self) -> None:
        self._moment.end()
