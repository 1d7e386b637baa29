"""A batch of writes, kept here until it is sent as one request."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from .. import _core
from ..cores import OverHttp
from ..errors import ClosedError
from .caller import Caller, address
from .durability import checked
from .graph import edge_id, write_json
from .keyspace import milliseconds, puts
from .problems import not_over_http
from .values import bytes_json

if TYPE_CHECKING:
    from ..batch import Columns
    from ..nodes import EdgeId, EdgeParts, NodeParts

_FILES = "send files by themselves with Database.add, or open the folder itself on the server's machine"


class WriteBatch(OverHttp):
    """As the extension module's."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._lock = threading.Lock()
        #: JSON; absent once it is over.
        self._writes: list[bytes] | None = []

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

    def upsert(self, collection: str, columns: Columns) -> None:
        records = _core.records_json(columns)
        self._add(b'{"records":{"collection":' + _json(collection) + b',"upsert":' + records + b"}}")

    def delete_records(self, collection: str, ids: list[str]) -> None:
        self._add(_json({"records": {"collection": collection, "delete": ids}}))

    def add_files(self, collection: object, arguments: _core.AddArguments) -> NoReturn:
        not_over_http("adding files in a batch", _FILES)

    def remove_files(self, collection: object, path: str) -> NoReturn:
        not_over_http("removing files in a batch", _FILES)

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
        self._caller.wire.check_open()
        with self._lock:
            if self._writes is None:
                raise _over()
            self._writes.append(write)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _over() -> ClosedError:
    return ClosedError("the batch is over; begin another one")
