"""Records of other engines as ours."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timezone
from pathlib import Path
from typing import Any, NamedTuple

from ..arguments import StrPath, whole
from ..database import Database, Metric
from ..errors import InvalidError, NotFoundError, UnavailableError

#: Records read and stored at a time.
BATCH = 1000


class Imported(NamedTuple):
    """A collection that was imported."""

    collection: str
    records: int


def package(name: str, extra: str) -> Any:
    """The other engine's package."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnavailableError(
            f'reading this folder needs the package {name} ({error}); install it with `pip install "nuthatch[{extra}]"`'
        ) from error


def existing(path: StrPath) -> Path:
    """The folder: their packages would make a missing one."""
    folder = Path(os.fspath(path)).expanduser()
    if not folder.exists():
        raise NotFoundError(f"{folder} does not exist; give the other engine's data folder")
    return folder


def chosen(asked: Iterable[str] | None, names: list[str], folder: Path) -> list[str]:
    """The collections to import: all, or those asked for, which must be there."""
    wanted = names if asked is None else [asked] if isinstance(asked, str) else list(asked)
    for name in wanted:
        if name not in names:
            raise NotFoundError(f"{folder} has no collection {name!r}; there are: {', '.join(names) or 'none'}")
    return wanted


def batch_size(batch: int) -> int:
    """A number of records from 1 up."""
    if (found := whole("batch", batch)) == 0:
        raise InvalidError("batch=0; give 1 or more")
    return found


def store(
    db: Database, name: str, metric: Metric, batches: Iterable[list[dict[str, Any]]], dim: int | None = None
) -> Imported:
    """Stores batches of records in a collection of that name, which must be new or empty."""
    collection = db.collection(name, dim=dim, metric=metric, embedder="none")
    if len(collection):
        raise InvalidError(f"collection {name!r} exists and is not empty; drop it first, or use another data folder")
    records = 0
    for batch in batches:
        if batch:
            collection.upsert(batch)
            records += len(batch)
    return Imported(name, records)


def payload(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A payload that can be stored. A dot in a name means inside: ``{"a.b": 1}`` becomes ``{"a": {"b": 1}}``, which ``where`` asks
    for under the same name.

    >>> payload({"a.b": 1, "n": 2}, "record 'x'")
    {'a': {'b': 1}, 'n': 2}
    """
    made: dict[str, Any] = {}
    for name, value in values.items():
        *outer, last = str(name).split(".")
        inside = made
        for part in outer:
            inside = inside.setdefault(part, {})
            if not isinstance(inside, dict):
                raise InvalidError(
                    f"{where}: its fields {part!r} and {name!r} cannot both be stored; rename one of them there"
                )
        if last in inside:
            raise InvalidError(
                f"{where}: its field {name!r} cannot be stored next to another of that name; rename one of them there"
            )
        inside[last] = _value(value, where)
    return made


def _value(value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return payload(value, where)
    if isinstance(value, (list, tuple)):
        return [_value(one, where) for one in value]
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
    if isinstance(value, date):
        return datetime.combine(value, time(), timezone.utc)
    if isinstance(value, (bytes, bytearray, memoryview)):
        from base64 import b64encode

        return b64encode(bytes(value)).decode()
    return value
