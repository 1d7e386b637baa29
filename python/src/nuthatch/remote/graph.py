"""A graph of a server: as it is, as it was, and in a transaction."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from .. import _core
from . import values
from .caller import Caller, address
from .durability import checked
from .moment import CallerThen
from .problems import not_over_http
from .reads import Named

if TYPE_CHECKING:
    from ..nodes import EdgeId, EdgeParts, NodeParts


class GraphReads(Named):
    """Reading a graph."""

    def get_nodes(self, ids: list[str]) -> list[NodeParts | None]:
        found = self._ask("nodes/get", {"ids": ids})["nodes"]
        return [None if node is None else values.node(node) for node in found]

    def get_edge(self, edge: EdgeId) -> EdgeParts | None:
        [found] = self._ask("edges/get", {"edges": [edge_id(edge)]})["edges"]
        return None if found is None else values.edge(found)

    def neighbors(self, id: str, arguments: _core.NeighborArguments) -> tuple[list[tuple[str, EdgeParts]], str | None]:
        page = self._ask("neighbors", {"id": id, **arguments})
        return [(found["id"], values.edge(found["edge"])) for found in page["neighbors"]], page["cursor"]

    def list_nodes(
        self, type: str | None, prefix: str, limit: int, cursor: str | None
    ) -> tuple[list[NodeParts], str | None]:
        page = self._ask("nodes/list", {"type": type, "prefix": prefix, "limit": limit, "cursor": cursor})
        return [values.node(node) for node in page["nodes"]], page["cursor"]

    def traverse(self, arguments: _core.TraverseArguments) -> tuple[list[tuple[str, int, EdgeParts | None]], bool]:
        found = self._ask("traverse", {**arguments})
        visited = [
            (one["id"], one["depth"], None if one["via"] is None else values.edge(one["via"])) for one in found["nodes"]
        ]
        return visited, found["truncated"]

    def ask(self, call: str, question: str) -> str:
        return self._caller.ask("POST", self._place(call), question.encode(), is_read=True).body.decode()

    def counts(self) -> tuple[int, int, bool]:
        found = self._caller.read("GET", self._place("counts"))
        return found["nodes"], found["edges"], found["exact"]

    def put_nodes(self, nodes: list[NodeParts], durability: str | None) -> None:
        _read_only()

    def put_edges(self, edges: list[EdgeParts], durability: str | None) -> None:
        _read_only()

    def delete_nodes(self, ids: list[str], durability: str | None) -> tuple[int, int]:
        _read_only()

    def delete_edges(self, edges: list[EdgeId], durability: str | None) -> int:
        _read_only()

    def _ask(self, what: str, asked: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._caller.read("POST", self._place(*what.split("/")), asked)
        return found

    def _place(self, *what: str, **parameters: object) -> str:
        return address("graphs", self._name, *what, **parameters)


def _read_only() -> NoReturn:
    not_over_http("writing to a snapshot", "write to the database")


class Graph(GraphReads):
    """As the extension module's."""

    def __init__(self, caller: Caller, name: str, durability: str | None) -> None:
        super().__init__(caller, name)
        self._durability = durability

    def put_nodes(self, nodes: list[NodeParts], durability: str | None) -> None:
        self._write("nodes", durability, b'{"nodes":' + _core.nodes_json(nodes) + b"}")

    def put_edges(self, edges: list[EdgeParts], durability: str | None) -> None:
        self._write("edges", durability, b'{"edges":' + _core.edges_json(edges) + b"}")

    def delete_nodes(self, ids: list[str], durability: str | None) -> tuple[int, int]:
        found = self._write("nodes/delete", durability, _json({"ids": ids}))
        return found["nodes"], found["edges"]

    def delete_edges(self, edges: list[EdgeId], durability: str | None) -> int:
        asked = _json({"edges": [edge_id(edge) for edge in edges]})
        deleted: int = self._write("edges/delete", durability, asked)["deleted"]
        return deleted

    def _write(self, what: str, durability: str | None, body: bytes) -> dict[str, Any]:
        place = self._place(*what.split("/"), durability=checked(durability) or self._durability)
        answer = self._caller.ask("POST", place, body)
        found: dict[str, Any] = json.loads(answer.body) if answer.body else {}
        return found


class GraphWork:
    """The reads and writes of a transaction in one graph."""

    def __init__(self, lock: threading.Lock) -> None:
        self.lock = lock
        self.nodes: set[str] = set()
        self.edges: set[EdgeId] = set()
        self.neighbors: list[dict[str, Any]] = []
        self.lists: list[dict[str, Any]] = []
        self.writes: list[bytes] = []

    def reads_json(self, graph: str) -> Iterator[bytes]:
        """The reads that the writes depend on, in the form that the server takes."""
        if self.nodes or self.edges or self.neighbors or self.lists:
            read = {
                "graph": graph,
                "nodes": sorted(self.nodes),
                "edges": [edge_id(edge) for edge in sorted(self.edges)],
                "neighbors": self.neighbors,
                "lists": self.lists,
            }
            yield _json({"graph": read})

    def writes_json(self, graph: str) -> Iterator[bytes]:
        """The writes, as the server reads them, in their order."""
        yield from self.writes


class TransactionGraph(GraphReads):
    """Like the extension module's. The request carries the transaction's writes, and the read sees them as stored."""

    def __init__(self, caller: CallerThen, name: str, work: GraphWork) -> None:
        super().__init__(caller, name)
        self._moment = caller.moment
        self._work = work

    def get_nodes(self, ids: list[str]) -> list[NodeParts | None]:
        self._moment.check_open()
        with self._work.lock:
            self._work.nodes.update(ids)
        return super().get_nodes(ids)

    def get_edge(self, edge: EdgeId) -> EdgeParts | None:
        self._moment.check_open()
        with self._work.lock:
            self._work.edges.add(edge)
        return super().get_edge(edge)

    def neighbors(self, id: str, arguments: _core.NeighborArguments) -> tuple[list[tuple[str, EdgeParts]], str | None]:
        self._moment.check_open()
        found = super().neighbors(id, arguments)
        self._depend_on([id], arguments["direction"], arguments["types"])
        return found

    def list_nodes(
        self, type: str | None, prefix: str, limit: int, cursor: str | None
    ) -> tuple[list[NodeParts], str | None]:
        self._moment.check_open()
        found = super().list_nodes(type, prefix, limit, cursor)
        with self._work.lock:
            self._work.lists.append({"prefix": prefix})
        return found

    def traverse(self, arguments: _core.TraverseArguments) -> tuple[list[tuple[str, int, EdgeParts | None]], bool]:
        self._moment.check_open()
        found = super().traverse(arguments)
        gone_from = [id for id, depth, _ in found[0] if depth < arguments["max_depth"]]
        self._depend_on(gone_from, arguments["direction"], arguments["types"])
        return found

    def counts(self) -> tuple[int, int, bool]:
        # The commit could not say that it depends on all edges.
        not_over_http("counting a graph in a transaction", "count it in a snapshot, or as it is")

    def put_nodes(self, nodes: list[NodeParts], durability: str | None) -> None:
        self._write("put_nodes", _core.nodes_json(nodes))

    def put_edges(self, edges: list[EdgeParts], durability: str | None) -> None:
        self._write("put_edges", _core.edges_json(edges))

    def delete_nodes(self, ids: list[str], durability: str | None) -> tuple[int, int]:
        _core.check_graph_ids(ids, [])
        self._write("delete_nodes", _json(ids))
        return 0, 0

    def delete_edges(self, edges: list[EdgeId], durability: str | None) -> int:
        _core.check_graph_ids([], edges)
        self._write("delete_edges", _json([edge_id(edge) for edge in edges]))
        return 0

    def _ask(self, what: str, asked: dict[str, Any]) -> dict[str, Any]:
        with self._work.lock:
            written = [json.loads(write)["graph"] for write in self._work.writes]
        return super()._ask(what, {**asked, "with": written} if written else asked)

    def _depend_on(self, ids: list[str], direction: str, types: list[str]) -> None:
        with self._work.lock:
            self._work.neighbors += [{"id": id, "direction": direction, "types": types} for id in ids]

    def _write(self, what: str, body: bytes) -> None:
        self._moment.check_open()
        with self._work.lock:
            self._work.writes.append(write_json(self._name, what, body))


def write_json(graph: str, what: str, body: bytes) -> bytes:
    """One write of a batch or a transaction, as the server reads it."""
    return b'{"graph":{"graph":' + _json(graph) + b"," + _json(what) + b":" + body + b"}}"


def edge_id(edge: EdgeId) -> dict[str, str]:
    """Which edge, as the server reads it."""
    source, kind, target = edge
    return {"source": source, "type": kind, "target": target}


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
