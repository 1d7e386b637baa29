"""Backups in a place: listing, checking, deleting, restoring. ``Database.backup`` makes them.

>>> import nuthatch, pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     place = pathlib.Path(folder, "backups")
...     with nuthatch.connect(pathlib.Path(folder, "data")) as db:
...         _ = db.collection("notes", embedder="none").upsert([{"id": "a", "text": "hello"}])
...         first = db.backup(place)
...         second = db.backup(place)
...     restored = nuthatch.restore(place, pathlib.Path(folder, "again"))
...     with nuthatch.connect(pathlib.Path(folder, "again")) as again:
...         text = again.collection("notes").get("a").text
...     len(nuthatch.backups.list(place)), second.backup.rows, restored.rows, text
(2, 1, 1, 'hello')
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from . import _core, arguments
from .arguments import StrPath
from .errors import InvalidError


class BackupProgress(NamedTuple):
    """The progress of a backup, a check or a restore."""

    #: 0 where it is not known before (a check).
    files_total: int
    bytes_total: int
    bytes_done: int
    elapsed_seconds: float


@dataclass(frozen=True, slots=True)
class Backup:
    """One backup."""

    id: str
    #: UTC, RFC 3339.
    created: str
    #: The data folder that was backed up.
    folder: str
    format: int
    #: Names; of a tenant other than the default one, ``tenant/name``.
    collections: builtins.list[str]
    #: The same.
    keyspaces: builtins.list[str]
    #: The same.
    graphs: builtins.list[str]
    #: Names of all tenants in it.
    tenants: builtins.list[str]
    #: The one tenant that it is of; None: the whole folder.
    only: str | None
    #: Records over all collections.
    rows: int
    files: int
    bytes: int
    #: Of these, bytes that no earlier backup there had.
    new_bytes: int
    #: Indexes that are not in it, and why.
    left_out: builtins.list[str]
    #: Why it cannot be restored, when its manifest is damaged.
    damaged: str | None


@dataclass(frozen=True, slots=True)
class BackupReport:
    """The result of a backup."""

    backup: Backup
    files: int
    #: Of these, files that were not read because the backup before has them.
    files_unchanged: int
    read_bytes: int
    #: Objects that were not there yet, and their bytes.
    new_objects: int
    new_bytes: int
    elapsed_seconds: float


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The result of a restore."""

    backup: Backup
    folder: Path
    collections: builtins.list[str]
    rows: int
    files: int
    bytes: int
    elapsed_seconds: float


class DamagedObject(NamedTuple):
    """An object of a backup folder that is missing or damaged."""

    path: Path
    what: str
    #: Files that cannot be restored because of it, with the backup's id in front.
    files: builtins.list[str]


@dataclass(frozen=True, slots=True)
class BackupCheck:
    """The result of a check."""

    backups: int
    objects: int
    bytes: int
    damage: builtins.list[DamagedObject]

    @property
    def is_well(self) -> bool:
        """True when every byte is intact."""
        return not self.damage


class BackupsDeleted(NamedTuple):
    """The result of deleting backups."""

    backups: builtins.list[str]
    objects: int
    bytes: int


def list(place: StrPath) -> builtins.list[Backup]:
    """Lists all backups in a folder, oldest first."""
    return [backup(parts) for parts in _core.list_backups(folder("place", place))]


def verify(
    place: StrPath,
    ids: str | Iterable[str] = (),
    *,
    on_progress: Callable[[BackupProgress], object] | None = None,
) -> BackupCheck:
    """Reads every object of these backups (of all, when none is named) and compares it with its
    hash.
    """
    asked = arguments.ids(ids)
    backups, objects, read, damage = _core.verify_backups(folder("place", place), asked, telling(on_progress))
    return BackupCheck(backups, objects, read, [DamagedObject(Path(path), what, files) for path, what, files in damage])


def delete(place: StrPath, ids: str | Iterable[str] = (), *, keep: int | None = None) -> BackupsDeleted:
    """Deletes backups and the objects that only they need.

    Give their ids, or ``keep`` to delete all but the newest ones of each data folder.
    """
    asked = arguments.ids(ids)
    if bool(asked) == (keep is not None):
        raise InvalidError("delete got neither or both of ids and keep; give one of them")
    return BackupsDeleted(*_core.delete_backups(folder("place", place), asked, arguments.optional_whole("keep", keep)))


def restore(
    source: StrPath,
    target: StrPath,
    *,
    backup: str | None = None,
    tenant: str | None = None,
    collection: str | None = None,
    indexes: bool = True,
    on_progress: Callable[[BackupProgress], object] | None = None,
) -> RestoreReport:
    """Restores a backup in ``source`` into a new data folder: the newest, or the one named.

    ``target`` must be new or empty. It appears only after everything was copied, checked and made
    durable. ``tenant`` restores one tenant alone, under its own name; ``collection`` one collection
    of it, or of the default tenant. ``indexes=False`` skips the backup's indexes; the new folder
    rebuilds them.

    Raises InvalidError when ``target`` is not empty; NotFoundError for an unknown backup or
    collection; CorruptError, naming the object, when the backup is damaged.
    """
    parts = _core.restore(
        folder("source", source),
        folder("target", target),
        (
            arguments.optional_text("backup", backup),
            arguments.optional_text("tenant", tenant),
            arguments.optional_text("collection", collection),
        ),
        arguments.flag("indexes", indexes),
        telling(on_progress),
    )
    return RestoreReport(**{**parts, "backup": _backup(parts["backup"]), "folder": Path(parts["folder"])})


def backup(parts: dict[str, Any]) -> Backup:
    """From what the extension module gives."""
    return Backup(**parts)


_backup = backup


def report(parts: dict[str, Any]) -> BackupReport:
    """From what the extension module gives."""
    return BackupReport(**{**parts, "backup": backup(parts["backup"])})


def telling(on_progress: Callable[[BackupProgress], object] | None) -> Callable[..., object] | None:
    """The callback as the extension module calls it."""
    tell = on_progress
    return None if tell is None else lambda *parts: tell(BackupProgress(*parts))


def folder(name: str, path: StrPath) -> str:
    """A folder, with ``~`` resolved."""
    given = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(given, str) or not given:
        raise InvalidError(f"{name}={path!r} names no folder; give one")
    if "://" in given:
        raise InvalidError(f"{name}={given!r} is an address; this version keeps backups in folders only")
    return os.path.expanduser(given)  # noqa: PTH111 (the text is kept as given)
