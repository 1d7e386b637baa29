"""Records of other engines as ours."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timezone
from pathlib import Path
from typing import Any

from ..arguments import StrPath, whole
from ..errors import InvalidError, NotFoundError, UnavailableError


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


def existing_file(path: StrPath) -> Path:
    """The file: opening a missing one may make it."""
    file = existing(path)
    if not file.is_file():
        raise InvalidError(f"{file} is not a file; give the file that the other program wrote")
    return file


def chosen(asked: Iterable[str] | None, names: list[str], folder: Path) -> list[str]:
    """The collections to import: all, or those asked for, which must be there."""
    wanted = names if asked is None else [asked] if isinstance(asked, str) else list(asked)
    for name in wanted:
        if name not in names:
            raise NotFoundError(f"{folder} has no {name!r}; there are: {', '.join(names) or 'none'}")
    return wanted


def batch_size(batch: int) -> int:
    """A number of records from 1 up."""
    if (found := whole("batch", batch)) == 0:
        raise InvalidError("batch=0; give 1 or more")
    return found


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
