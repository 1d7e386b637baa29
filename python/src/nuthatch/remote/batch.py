"""A batch of writes, kept here until it is sent as one request."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from .. import _core
from ..cores import OverHttp
from ..errors import ClosedError, InvalidError
from .batch_files import Files, Staged
from .caller import Caller, address
from .collection import Collection
from .durability import checked
from .facts import recorded
from .graph import edge_id, write_json
from .keyspace import milliseconds, puts
from .values import bytes_json

if TYPE_CHECKING:
    from ..batch import Columns
    from ..nodes import EdgeId, EdgeParts, NodeParts


class WriteBatch(OverHttp):
    """As the extension module's."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._lock = threading.Lock()
        #: JSON; absent once it is over.
        self._writes: list[bytes] | None = []
        self._files = Files(caller)

    def put_many(self, keyspace: str, entries: list[tuple[bytes, bytes]], ttl_seconds: float | None) -> None:
        self._keys(keyspace, puts(entries, milliseconds(ttl_seconds)))

    def delete(self, keyspace: str, keys: list[bytes]) -> None:
        self._keys(keyspace, [{"delete": bytes_json(key)} for key in keys])

    def _keys(self, keyspace: str, changes: list[dict[str, Any]]) -> None:
        self._add(_json({"keys": {"keyspace": keyspace, "changes": changes}}))

    def put_nodes(self, graph: str, nodes: list[NodeParts]) -> None:
        self._add(write_json(graph, "put_nodes", _core.nodes_json(nodes)))

    def put_edges(self, graph: str, edges: list[EdgeParts]) -> None:
        self._add(write_json(graph, "put_edges", _core.edges_json(edges)))

    def delete_nodes(self, graph: str, ids: list[str]) -> None:
        _core.check_graph_ids(ids, [])
        self._add(write_json(graph, "delete_nodes", _json(ids)))

    def delete_edges(self, graph: str, edges: list[EdgeId]) -> None:
        _core.check_graph_ids([], edges)
        self._add(write_json(graph, "delete_edges", _json([edge_id(edge) for edge in edges])))

    def record_facts(self, facts: str, question: str) -> None:
        self._add(recorded(facts, question))

    def retract_facts(self, facts: str, numbers: list[int]) -> None:
        self._add(_json({"facts": {"facts": facts, "retract": numbers}}))

    def upsert(self, collection: str, columns: Columns) -> None:
        records = _core.records_json(columns)
        self._add(b'{"records":{"collection":' + _json(collection) + b',"upsert":' + records + b"}}")

    def delete_records(self, collection: str, ids: list[str]) -> None:
        self._add(_json({"records": {"collection": collection, "delete": ids}}))

    def add_files(self, collection: object, arguments: _core.AddArguments) -> dict[str, Any]:
        report, staged = self._files.add(self._own(collection), arguments)
        self._keep(staged)
        return report

    def remove_files(self, collection: object, path: str) -> int:
        count, staged = self._files.remove(self._own(collection), path)
        self._keep(staged)
        return count

    def _own(self, collection: object) -> str:
        """The name of a collection of the same server and tenant, while the batch is open."""
        self._check_open()
        if isinstance(collection, Collection) and collection.is_asked_by(self._caller):
            return collection.name
        raise InvalidError(
            "the collection belongs to another database than the batch; take it from the batch's database"
        )

    def commit(self, durability: str | None) -> None:
        self._caller.wire.check_open()
        place = address("batches", durability=checked(durability))
        with self._lock:
            writes, self._writes = self._writes, None
        if writes is None:
            raise _over()
        self._caller.ask("POST", place, b'{"writes":[' + b",".join(writes) + b"]}")

    def rollback(self) -> None:
        with self._lock:
            self._writes = None

    def _add(self, write: bytes) -> None:
        with self._lock:
            self._check_open().append(write)

    def _keep(self, staged: Staged) -> None:
        with self._lock:
            self._check_open().extend(self._files.keep(staged))

    def _check_open(self) -> list[bytes]:
        """The writes, while there is more to come."""
        self._caller.wire.check_open()
        if self._writes is None:
            raise _over()
        return self._writes


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _over() -> ClosedError:
    return ClosedError("the batch has ended; begin another one")
