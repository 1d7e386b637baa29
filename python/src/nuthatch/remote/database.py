"""The database of a server, as one of its tenants sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from .. import _core
from ..cores import OverHttp
from ..errors import InvalidError, NotFoundError
from . import values
from .batch import WriteBatch
from .cache import Cache
from .caller import Caller, address
from .collection import Collection
from .durability import checked
from .facts import Facts
from .graph import Graph
from .keyspace import Keyspace
from .problems import not_over_http
from .snapshot import Snapshot
from .transaction import Transaction
from .tree import Tree

if TYPE_CHECKING:
    from .._core import CollectionArguments, LimitArguments


class Database(OverHttp):
    """As the extension module's."""

    def __init__(self, caller: Caller, *, is_borrowed: bool = False) -> None:
        self._caller = caller
        #: Another one closes the connections.
        self._is_borrowed = is_borrowed

    def folder(self) -> str:
        return self._caller.wire.url

    def holder(self) -> NoReturn:
        not_over_http("who holds the folder", "the server does, alone or through another process of its machine")

    def collection(self, name: str, arguments: CollectionArguments) -> Collection:
        fields = {
            field: _given(kind=kind, dim=dim, metric=metric, elements=elements)
            for field, (kind, dim, metric, elements) in arguments["vectors"]
        }
        asked = _given(
            dim=arguments["dim"],
            metric=arguments["metric"],
            elements=arguments["elements"],
            vectors=fields or None,
            embedder=_embedder(arguments["embedder"]),
            language=arguments["language"],
        )
        self._caller.ask("PUT", address("collections", name), asked)
        return Collection(self._caller, name)

    def existing_collection(self, name: str) -> Collection:
        self._check_there(address("collections", name))
        return Collection(self._caller, name)

    def _check_there(self, place: str) -> None:
        """Checks that the object exists. With a key that may only write, the first write finds out."""
        if self._caller.may_read:
            self._caller.read("GET", place)

    def collections(self) -> list[dict[str, Any]]:
        return [values.info(found) for found in self._caller.read("GET", "/v1/collections")["collections"]]

    def collection_names(self) -> list[str]:
        return [info["name"] for info in self.collections()]

    def drop_collection(self, name: str) -> bool:
        return self._drop("collection", address("collections", name))

    def _drop(self, what: str, place: str) -> bool:
        try:
            self._caller.ask("DELETE", place)
        except NotFoundError as error:
            if error.what == what:
                return False
            raise
        return True

    def reclaim(self, collection: str | None) -> dict[str, Any]:
        receipt: dict[str, Any] = self._caller.write_long("POST", "/v1/reclaim", _given(collection=collection))
        return receipt

    def erase(
        self, collection: str, way: Literal["ids", "where", "prefix", "files"], what: list[str]
    ) -> dict[str, Any]:
        asked = {way: what if way == "ids" else what[0]}
        receipt: dict[str, Any] = self._caller.write_long("POST", address("collections", collection, "erase"), asked)
        return receipt

    def receipts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._caller.read("GET", "/v1/receipts")["receipts"]
        return found

    def keyspace(self, name: str, create: bool, durability: str | None) -> Keyspace:
        durable = checked(durability)
        if create:
            self._caller.ask("PUT", address("keyspaces", name))
        else:
            self._check_there(address("keyspaces", name, "count", prefix="\0"))
        return Keyspace(self._caller, name, durable)

    def keyspace_names(self) -> list[str]:
        names: list[str] = self._caller.read("GET", "/v1/keyspaces")["keyspaces"]
        return names

    def drop_keyspace(self, name: str) -> bool:
        return self._drop("keyspace", address("keyspaces", name))

    def cache(self, name: str, create: bool, durability: str | None) -> Cache:
        if durability is not None:
            not_over_http(
                "the durability of a cache", "leave it out: the server's caches are durable when a call returns"
            )
        if create:
            self._caller.ask("PUT", address("caches", name))
        else:
            self._check_there(address("caches", name, "stats"))
        return Cache(self._caller, name)

    def cache_names(self) -> list[str]:
        names: list[str] = self._caller.read("GET", "/v1/caches")["caches"]
        return names

    def drop_cache(self, name: str) -> bool:
        return self._drop("cache", address("caches", name))

    def facts(self, name: str, create: bool, durability: str | None) -> Facts:
        if durability is not None:
            not_over_http("the durability of facts", "leave it out: the server's facts are durable when a call returns")
        if create:
            self._caller.ask("PUT", address("facts", name))
        else:
            self._caller.read("POST", address("facts", name, "stats"), {})
        return Facts(self._caller, name)

    def facts_names(self) -> list[str]:
        names: list[str] = self._caller.read("GET", "/v1/facts")["facts"]
        return names

    def drop_facts(self, name: str) -> bool:
        return self._drop("facts", address("facts", name))

    def graph(self, name: str, create: bool, durability: str | None) -> Graph:
        durable = checked(durability)
        if create:
            self._caller.ask("PUT", address("graphs", name))
        else:
            self._check_there(address("graphs", name, "counts"))
        return Graph(self._caller, name, durable)

    def graph_names(self) -> list[str]:
        names: list[str] = self._caller.read("GET", "/v1/graphs")["graphs"]
        return names

    def drop_graph(self, name: str) -> bool:
        return self._drop("graph", address("graphs", name))

    def tree(self, name: str, create: bool, durability: str | None, embedder: _core.Embedder | str | None) -> Tree:
        _core.check_tree(name)
        chosen = _embedder(embedder)
        durable = checked(durability)
        if not create:
            self._check_there(address("trees", name))
        return Tree(self._caller, name, durable, chosen)

    def tree_names(self) -> list[str]:
        names: list[str] = self._caller.read("GET", "/v1/trees")["trees"]
        return names

    def drop_tree(self, name: str) -> bool:
        return self._drop("tree", address("trees", name))

    def tenant(self, name: str) -> Database:
        self.tenant_info(name)
        return Database(self._caller.of(name), is_borrowed=True)

    def tenant_name(self) -> str | None:
        return self._caller.tenant

    def create_tenant(self, name: str) -> Database:
        self._caller.ask("PUT", address("tenants", name))
        return Database(self._caller.of(name), is_borrowed=True)

    def tenant_names(self) -> list[str]:
        return [tenant["name"] for tenant in self.tenants()]

    def tenants(self) -> list[dict[str, Any]]:
        return [_tenant(found) for found in self._caller.read("GET", "/v1/tenants")["tenants"]]

    def tenant_info(self, name: str) -> dict[str, Any]:
        return _tenant(self._caller.read("GET", address("tenants", name)))

    def set_tenant_limits(self, name: str, limits: LimitArguments) -> None:
        self._caller.ask("PUT", address("tenants", name, "limits"), dict(limits))

    def drop_tenant(self, name: str) -> dict[str, Any]:
        receipt: dict[str, Any] = self._caller.write_long("DELETE", address("tenants", name))
        return receipt

    def limits(self) -> dict[str, Any]:
        me = self._caller.me()
        return {
            "vectors": me["vectors_max"],
            "bytes": me["bytes_max"],
            "requests_per_second": me["requests_per_second"],
            "concurrent_requests": me["concurrent_requests"],
        }

    def usage(self) -> dict[str, Any]:
        me = self._caller.me()
        if me["vectors"] is None:
            raise InvalidError("the default tenant has no limits, so its usage is not counted; `stats` shows its sizes")
        return {"vectors": me["vectors"], "bytes": me["bytes"]}

    def batch(self) -> WriteBatch:
        return WriteBatch(self._caller)

    def snapshot(self) -> Snapshot:
        return Snapshot(self._caller)

    def transaction(self) -> Transaction:
        return Transaction(self._caller)

    def stats(self) -> dict[str, Any]:
        found = self._caller.read("GET", "/v1/stats")
        return {
            "collections": [values.info(info) for info in found["collections"]],
            "disk": found["disk"],
            "memory": found["memory"],
            "snapshots": found["snapshots"],
            "snapshot_age_seconds": found["snapshot_age_ms"] / 1000,
        }

    def doctor(self) -> dict[str, Any]:
        found = self._caller.write_long("POST", "/v1/doctor")
        findings = [(finding["path"], finding["what"], finding["remedy"]) for finding in found["findings"]]
        rest = {name: found[name] for name in ("notes", "degraded", "collections", "records")}
        return {"findings": findings, **rest}

    def backup(
        self,
        place: str | None,
        indexes: bool,
        rate_bytes_per_second: int | None,
        on_progress: Callable[..., object] | None,
    ) -> dict[str, Any]:
        if place is not None:
            not_over_http(
                f"a backup to {place!r}", "leave place out: backups go to the folder that the server's backup_dir names"
            )
        if on_progress is not None:
            not_over_http("the progress of a backup", "leave on_progress out")
        asked = _given(indexes=indexes, rate_bytes_per_second=rate_bytes_per_second)
        report = self._caller.write_long("POST", "/v1/backups", asked)
        return {
            "backup": _backup(report["backup"]),
            **{name: report[name] for name in ("files", "files_unchanged", "read_bytes", "new_objects", "new_bytes")},
            "elapsed_seconds": report["elapsed_ms"] / 1000,
        }

    def export(self, folder: str, collection: str | None, on_progress: Callable[..., object] | None) -> NoReturn:
        not_over_http("an export", "run `nuthatch export` on the server's machine, or page with scan")

    def import_(
        self, folder: str, collection: str | None, merge: bool, on_progress: Callable[..., object] | None
    ) -> NoReturn:
        not_over_http("an import", "run `nuthatch import` on the server's machine, or upsert what you have")

    def close(self) -> None:
        if not self._is_borrowed:
            self._caller.moments.end_all()
            self._caller.wire.close()


def _given(**asked: object) -> dict[str, Any]:
    """Without absent options."""
    return {name: value for name, value in asked.items() if value is not None}


def _embedder(embedder: _core.Embedder | str | None) -> str | None:
    if isinstance(embedder, _core.Embedder):
        not_over_http(
            f"embedding with {embedder.name!r}, which is of this process,",
            'make the vectors here (its embed and embed_query) and give them, with embedder="none"',
        )
    names = {"default": "builtin", "static": "static", "none": "none", None: None}
    if embedder not in names:
        raise InvalidError(
            f'unknown embedder "{embedder}"; use "default", "static" or "none": embedders of nuthatch.embedders work'
            " where the folder is opened"
        )
    return names[embedder]


def _tenant(found: dict[str, Any]) -> dict[str, Any]:
    usage = {"vectors": found["vectors"], "bytes": found["bytes"]}
    return {"name": found["name"], "created": found["created"], "limits": found["limits"], "usage": usage}


def _backup(found: dict[str, Any]) -> dict[str, Any]:
    def of(tenant: str | None, name: str) -> str:
        return name if tenant is None else f"{tenant}/{name}"

    collections = [of(collection["tenant"], collection["name"]) for collection in found["collections"]]

    def of_tenants(kind: str) -> list[str]:
        return [of(tenant["name"], name) for tenant in found["tenants"] for name in tenant[kind]]

    kept = ("id", "created", "folder", "format", "only", "files", "bytes", "new_bytes", "left_out", "damaged")
    return {
        **{name: found[name] for name in kept},
        "collections": collections,
        "keyspaces": [*found["keyspaces"], *of_tenants("keyspaces")],
        "graphs": [*found["graphs"], *of_tenants("graphs")],
        "tenants": [tenant["name"] for tenant in found["tenants"]],
        "rows": sum(collection["rows"] for collection in found["collections"]),
    }
