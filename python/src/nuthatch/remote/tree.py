"""A tree of a server: as it is, and as it was."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from .. import _core
from ..errors import ConflictError, InvalidError, NotFoundError
from ..queries import cancel_of
from . import values
from .caller import OCTETS, Caller, address
from .problems import not_over_http
from .reads import Named
from .values import bytes_json

if TYPE_CHECKING:
    from ..changes import ChangeParts
    from ..queries import Asked
    from ..results import Results
    from ..tree_grep import GrepParts

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: A request that carries more may take longer than others.
_LONG_BYTES = 8 << 20


class TreeReads(Named):
    """Reading a tree."""

    def info(self) -> dict[str, Any]:
        found: dict[str, Any] = self._read("GET", "", None)
        return found

    def list_entries(
        self, as_of: str | None, below: str, after: str | None, limit: int, condition: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        asked = {"as_of": as_of, "below": below, "after": after, "limit": limit, "where": condition}
        page = self._read("GET", "entries", None, **asked)
        return page["entries"], page["cursor"]

    def entry(self, as_of: str | None, path: str) -> dict[str, Any] | None:
        _core.check_tree(self._name, path)
        found, _ = self.list_entries(as_of, path, None, 1, None)
        return found[0] if found and found[0]["path"] == path else None

    def versions(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._read("GET", "versions", None, path=path)["versions"]
        return found

    def read(self, as_of: str | None, path: str, sequence: int, content: str, offset: int, limit: int) -> bytes:
        headers = {"if-match": f'"{content}"', "range": f"bytes={offset}-{offset + limit - 1}"}
        for moment in (as_of, str(sequence)):
            try:
                return self._caller.ask("GET", self._file(path, as_of=moment), headers=headers, is_read=True).body
            except (NotFoundError, InvalidError):
                continue  # something else stands there now
            except ConflictError as conflict:
                if conflict.what != "file":
                    raise  # a snapshot that has ended
        error = NotFoundError(
            f"the version of {path!r} of tree {self._name!r} that was being read is gone; read it again"
        )
        error.what, error.name = "file", path
        raise error

    def diff(self, arguments: _core.DiffArguments) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._read("POST", "diff", {**arguments})["changes"]
        return found

    def snapshots(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._read("GET", "snapshots", None)["snapshots"]
        return found

    def facets(
        self, as_of: str | None, below: str, fields: list[str], condition: str | None, limit: int
    ) -> list[dict[str, Any]]:
        body = {"fields": fields, "where": condition, "below": below, "as_of": as_of, "limit": limit}
        found: list[dict[str, Any]] = self._read("POST", "facets", body)["facets"]
        return found

    def root(self, as_of: str | None, below: str) -> dict[str, Any]:
        found: dict[str, Any] = self._read("GET", "root", None, as_of=as_of, below=below)
        return found

    def verify(self, as_of: str | None, below: str, after: str | None) -> dict[str, Any]:
        place = self._place("verify", as_of=as_of, below=below, after=after)
        found: dict[str, Any] = self._caller.ask("GET", place, None, is_read=True, is_long=True).json()
        return found

    def grep(self, question: str) -> GrepParts:
        asked = json.loads(question)
        body = {**asked.pop("request"), **asked, "pages": True}
        answer = self._caller.ask("POST", self._place("grep"), body, is_read=True, is_long=True).body
        output, _, last = answer.removesuffix(b"\n").rpartition(b"\n")
        said = json.loads(last or b"{}")
        if said.get("type") != "report":
            from .problems import PROBLEM, problem

            failed = json.dumps(said.get("data")).encode()
            raise problem(self._caller.wire.url, said.get("data", {}).get("status", 500), PROBLEM, failed)
        report = said["data"]
        cuts = [(cut["path"], cut["why"]) for cut in report["cut"]]
        return output, report["searched"], cuts, report["cursor"], report["read"]

    def index(self, wait: bool) -> dict[str, int]:
        place = self._place("index", wait=wait)
        found: dict[str, int] = self._caller.ask("GET", place, None, is_read=True, is_long=True).json()
        return found

    def code(self, question: str) -> dict[str, Any]:
        asked = json.loads(question)
        ((kind, value),) = asked.pop("question").items()
        of = {"outline": ("path",), "imports": ("path",), "impact": ("name", "depth"), "map": ("tokens",)}.get(
            kind, ("name",)
        )
        asked.update(zip(of, value if isinstance(value, list) else [value], strict=True))
        # The first question about a tree reads its files, and that may take minutes.
        place = self._place("code", kind, **asked)
        found: dict[str, Any] = self._caller.ask("GET", place, None, is_read=True, is_long=True).json()
        return found

    def add_folder(self, arguments: _core.AddFolderArguments) -> dict[str, Any]:
        not_over_http("storing a folder", "the server does not see it; send its files with put_many")

    def restore_to(self, arguments: _core.RestoreToArguments) -> dict[str, Any]:
        not_over_http("restoring into a folder", "the server does not see it; get the files, and write them")

    def import_scip(self, index: bytes, below: str) -> dict[str, Any]:
        _read_only()

    def put(self, files: list[tuple[str, bytes, int, int]], gone: list[str]) -> dict[str, Any]:
        _read_only()

    def search(self, as_of: str | None, below: str, asked: Asked) -> Results:
        not_over_http("searching a tree of a snapshot", "search the tree, as of one of its own snapshots")

    def make_passages(self, as_of: str | None, cancel: _core.CancelFlag | None) -> dict[str, Any]:
        _read_only()

    def update(self, paths: list[str], condition: str | None, change: ChangeParts) -> int:
        _read_only()

    def remove(self, path: str) -> int:
        _read_only()

    def erase(self, path: str) -> dict[str, Any]:
        _read_only()

    def name_snapshot(self, name: str) -> dict[str, Any]:
        _read_only()

    def drop_snapshot(self, name: str) -> bool:
        _read_only()

    def set_retention(self, versions: int | None, seconds: int | None) -> None:
        _read_only()

    def _read(self, method: str, what: str, body: object, **parameters: object) -> Any:
        return self._caller.read(method, self._place(*([what] if what else []), **parameters), body)

    def _place(self, *what: str, **parameters: object) -> str:
        return address("trees", self._name, *what, **parameters)

    def _file(self, path: str, **parameters: object) -> str:
        _core.check_tree(self._name, path)
        base, _, query = self._place("files", "x", **parameters).partition("?")
        parts = "/".join(quote(part, safe="") for part in path.split("/"))
        place = f"{base.removesuffix('x')}{parts}"
        return f"{place}?{query}" if query else place


def _read_only() -> NoReturn:
    not_over_http("writing to a snapshot", "write to the database")


class Tree(TreeReads):
    """As the extension module's."""

    def __init__(self, caller: Caller, name: str, durability: str | None, embedder: str | None) -> None:
        super().__init__(caller, name)
        self._durability = durability
        self._embedder = embedder

    def search(self, as_of: str | None, below: str, asked: Asked) -> Results:
        body, limit = _core.search_json(asked)
        place = self._place("search", as_of=as_of, below=below, embedder=self._embedder)
        return values.answer(self._caller.read("POST", place, body, timeout_seconds=limit, cancel=cancel_of(asked)))

    def make_passages(self, as_of: str | None, cancel: _core.CancelFlag | None) -> dict[str, Any]:
        place = self._place("passages", as_of=as_of, embedder=self._embedder)
        made: dict[str, Any] = self._caller.ask("POST", place, None, is_long=True).json()
        return made

    def import_scip(self, index: bytes, below: str) -> dict[str, Any]:
        place = self._place("symbols", below=below)
        answer = self._caller.ask("POST", place, index, media_type=OCTETS, is_long=True, is_streamed=True)
        report: dict[str, Any] = answer.json()
        return report

    def put(self, files: list[tuple[str, bytes, int, int]], gone: list[str]) -> dict[str, Any]:
        if len(files) == 1 and not gone:
            [(path, data, mode, modified_ns)] = files
            place = self._file(path, mode=f"{mode:o}", modified=_time(modified_ns), durability=self._durability)
            is_long = len(data) > _LONG_BYTES
            answer = self._caller.ask("PUT", place, data, media_type=OCTETS, is_long=is_long, is_streamed=True)
        else:
            put = [
                {"path": path, "content": bytes_json(data), "mode": mode, "modified_ns": modified_ns}
                for path, data, mode, modified_ns in files
            ]
            place = self._place("write", durability=self._durability)
            answer = self._caller.ask("POST", place, {"put": put, "remove": gone})
        report: dict[str, Any] = answer.json()
        return report

    def update(self, paths: list[str], condition: str | None, change: ChangeParts) -> int:
        of = json.dumps({"paths": paths, "where": condition}).encode()
        body = of.removesuffix(b"}") + b',"change":' + _core.change_json(change) + b"}"
        place = self._place("fields", durability=self._durability)
        updated: int = self._caller.write("PATCH", place, body)["updated"]
        return updated

    def remove(self, path: str) -> int:
        removed: int = self._caller.write("DELETE", self._file(path, durability=self._durability))["removed"]
        return removed

    def erase(self, path: str) -> dict[str, Any]:
        place = self._file(path, erase=True, durability=self._durability)
        erased: dict[str, Any] = self._caller.write("DELETE", place)
        return erased

    def name_snapshot(self, name: str) -> dict[str, Any]:
        place = self._place("snapshots", durability=self._durability)
        named: dict[str, Any] = self._caller.write("POST", place, {"name": name})
        return named

    def drop_snapshot(self, name: str) -> bool:
        try:
            self._caller.ask("DELETE", self._place("snapshots", name, durability=self._durability))
        except NotFoundError as error:
            if error.what == "tree_snapshot":
                return False
            raise
        return True

    def set_retention(self, versions: int | None, seconds: int | None) -> None:
        place = self._place("retention", durability=self._durability)
        self._caller.ask("PUT", place, {"versions": versions, "seconds": seconds})


def _time(modified_ns: int) -> str:
    seconds, fraction = divmod(modified_ns, 1_000_000_000)
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{fraction:09}Z"
