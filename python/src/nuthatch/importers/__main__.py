"""``python -m nuthatch.importers KIND PATH``: what ``nuthatch import --from KIND PATH`` runs."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import connect, importers
from ..errors import (
    ClosedError,
    ConflictError,
    CorruptError,
    ExhaustedError,
    InvalidError,
    NotFoundError,
    NuthatchError,
    UnavailableError,
)
from ..transfer import TransferProgress
from . import Imported

#: The functions by the names that ``nuthatch import --from`` has for them.
KINDS: dict[str, Callable[..., list[Imported]]] = {
    name.replace("_", "-"): getattr(importers, name) for name in importers.__all__ if name != "Imported"
}

#: As the command ends, which says so in ``nuthatch --help``.
_CODES: tuple[tuple[type[NuthatchError], int], ...] = (
    (InvalidError, 2),
    (NotFoundError, 3),
    (ConflictError, 4),
    (UnavailableError, 5),
    (CorruptError, 6),
    (ExhaustedError, 7),
    (ClosedError, 8),
    (NuthatchError, 9),
)
_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    importer = KINDS[options.kind]
    try:
        given = _given(options.kind, importer, options)
        limits = {
            "memory_budget": options.memory_budget,
            "mapped": options.mapped,
            "build_memory": options.build_memory,
        }
        with connect(options.data_dir, **limits, build_threads=options.build_threads) as whole:
            db = whole if options.tenant is None else whole.tenant(options.tenant)
            began = time.monotonic()
            progress = None if options.quiet or not sys.stderr.isatty() else _Progress()
            imported = importer(options.path, db, **given, on_progress=progress)
            if progress is not None:
                progress.end()
            _show(imported, time.monotonic() - began, as_json=options.json)
    except NuthatchError as error:
        print(f"error: {error}", file=sys.stderr)
        return next(code for kind, code in _CODES if isinstance(error, kind))
    except KeyboardInterrupt:
        print("Interrupted. Nothing of it was kept.", file=sys.stderr)
        return _INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m nuthatch.importers", description=__doc__)
    parser.add_argument("kind", choices=sorted(KINDS), help="the program that wrote it")
    parser.add_argument("path", type=Path, help="its folder or file")
    parser.add_argument("--data-dir", required=True, help="the data folder to import into")
    parser.add_argument("--tenant", help="import into the data of this tenant")
    parser.add_argument("--collection", action="append", help="only this collection or table; may be repeated")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an argument of the importer")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--memory-budget", type=int)
    parser.add_argument("--build-memory", type=int)
    parser.add_argument("--build-threads", type=int)
    parser.add_argument("--mapped", type=lambda text: text == "true")
    return parser


def _given(kind: str, importer: Callable[..., list[Imported]], options: argparse.Namespace) -> dict[str, Any]:
    """The importer's arguments by name, of ``--collection`` and ``--set``."""
    known = inspect.signature(importer).parameters
    takes = [name for name in known if name not in ("path", "db", "on_progress")]
    given: dict[str, Any] = {}
    if options.collection:
        several = next((name for name in ("collections", "tables") if name in known), None)
        if several is not None:
            given[several] = options.collection
        elif "name" in known and len(options.collection) == 1:
            given["name"] = options.collection[0]
        else:
            raise InvalidError(f"{kind} has no collections to choose from; leave --collection out")
    for one in options.set:
        name, sign, value = one.partition("=")
        if not sign or name not in takes:
            raise InvalidError(f"--set {one}: {kind} takes {', '.join(takes)}, each as NAME=VALUE")
        given[name] = _converted(name, value, str(known[name].annotation))
    return given


def _converted(name: str, value: str, annotation: str) -> object:
    kinds: dict[str, Callable[[str], object]] = {"int": int, "float": float}
    for kind, convert in kinds.items():
        if annotation.startswith(kind):
            try:
                return convert(value)
            except ValueError:
                raise InvalidError(f"--set {name}={value}: {value!r} is not a number") from None
    return value.split(",") if annotation.startswith("Iterable") else value


class _Progress:
    """One line on the terminal that is written over."""

    def __init__(self) -> None:
        self._shown = 0.0

    def __call__(self, progress: TransferProgress) -> None:
        now = time.monotonic()
        if now - self._shown >= 0.1:
            self._shown = now
            of = f" of {progress.total:,}" if progress.total else ""
            print(f"\r\x1b[K{progress.name}: {progress.done:,}{of}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _show(imported: list[Imported], seconds: float, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"imported": [one._asdict() for one in imported], "seconds": seconds}, indent=2))
        return
    nouns = {"collection": "records", "keyspace": "keys", "cache": "answers"}
    for one in imported:
        print(f"imported  {one.target} {one.name}  {one.records:,} {nouns[one.target]}")
        for what, count in one.left_out.items():
            print(f"left out  {count:,} {what}")


if __name__ == "__main__":
    sys.exit(main())
