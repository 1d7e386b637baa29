"""The values that trees return: entries, differences, snapshots, and outcomes of writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Literal, NamedTuple, TypeAlias

from .kv_entries import Bytes

EntryKind: TypeAlias = Literal["file", "folder", "link", "gone"]
ChangeKind: TypeAlias = Literal["added", "removed", "modified", "mode", "renamed"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class PutReport(NamedTuple):
    """The outcome of a write to a tree."""

    #: Of the newest write to any tree; it works as ``as_of``.
    sequence: int
    #: Paths that were not there.
    added: int
    #: Paths that were there with something else.
    changed: int
    #: Paths that were there in the same way; nothing was written for them.
    unchanged: int
    #: Paths that are gone now.
    gone: int


class TreeErased(NamedTuple):
    """The outcome of an erasure."""

    #: Paths of which nothing is left.
    paths: int
    #: Versions that are gone, also those that snapshots showed.
    versions: int


class SkippedPath(NamedTuple):
    """Something on disk that was not read or not written."""

    path: str
    why: str


class AddedFolder(NamedTuple):
    """The outcome of ``Tree.add``."""

    #: Files, folders and links that the tree did not have.
    added: int
    #: Those that it had otherwise.
    changed: int
    #: Those that it had in the same way.
    unchanged: int
    #: Those that it has no longer.
    gone: int
    #: Bytes of the files that were read.
    bytes_read: int
    #: What was not read; the tree keeps what it had there.
    skipped: tuple[SkippedPath, ...]


class UnreadFile(NamedTuple):
    """A file that gave no passages."""

    path: str
    #: The reason, and what to do about it.
    why: str
    #: False for what is passed over by design, such as binaries.
    is_error: bool


class TreePassages(NamedTuple):
    """The outcome of ``Tree.make_passages``."""

    #: Contents that were read.
    contents: int
    #: Passages that were made of them.
    passages: int
    #: Of these, passages whose text was there before: their vectors were kept.
    reused: int
    #: Passages of all trees whose vectors are still to come; their words are found already.
    pending: int
    #: Files that gave none.
    unread: tuple[UnreadFile, ...]


class RestoredFiles(NamedTuple):
    """The entries that ``Tree.restore`` wrote, or would write."""

    #: Paths in the tree, in the order of their bytes.
    paths: tuple[str, ...]
    #: Of these, files.
    files: int
    folders: int
    links: int
    #: Of the files.
    bytes: int
    #: What could not be written.
    skipped: tuple[SkippedPath, ...]


@dataclass(frozen=True, slots=True)
class PutFile:
    """A file to put: ``data`` is bytes, or a string, which is stored as UTF-8; ``modified`` as of ``Tree.put``."""

    path: str
    data: Bytes
    mode: int = 0o644
    modified: datetime | int | None = None


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A version of a path in a tree."""

    #: Relative, with ``/`` between its parts.
    path: str
    #: "gone" only in ``versions``.
    kind: EntryKind
    #: Of a file.
    bytes: int
    #: The BLAKE3 hash of a file's bytes, 64 hexadecimal digits.
    content: str | None
    #: The target of a link.
    target: str | None
    #: Permission bits.
    mode: int
    #: When it was changed last, in nanoseconds since 1970, as its writer said.
    modified_ns: int
    #: The write that made this version; it works as ``as_of``.
    sequence: int
    #: When that was, in milliseconds since 1970.
    recorded_ms: int
    #: Tags, and what else callers said of it, as JSON has them: a datetime is text.
    fields: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def modified(self) -> datetime:
        """When it was changed last, to the microsecond."""
        return _EPOCH + timedelta(microseconds=self.modified_ns // 1000)

    @property
    def recorded(self) -> datetime:
        """When this version was written."""
        return _EPOCH + timedelta(milliseconds=self.recorded_ms)


class TreeChange(NamedTuple):
    """A difference between two states of a tree."""

    #: "mode" when only the mode differs; "renamed" when the same content is at another path.
    kind: ChangeKind
    #: In the later state where that has it.
    path: str
    #: None for what was added.
    before: TreeEntry | None
    #: None for what was removed.
    after: TreeEntry | None


class TreeSnapshot(NamedTuple):
    """A named snapshot of a tree."""

    name: str
    #: The last write that it shows.
    sequence: int
    created_ms: int

    @property
    def created(self) -> datetime:
        """When it was made."""
        return _EPOCH + timedelta(milliseconds=self.created_ms)


class TreeRoot(NamedTuple):
    """The root of a tree, or of a folder in it: one hash over paths, modes, targets of links and contents."""

    #: A BLAKE3 hash, 64 hexadecimal digits.
    root: str
    files: int
    #: Folders that were put for themselves.
    folders: int
    links: int
    #: Of the files, as they were put.
    bytes: int


class DamagedFile(NamedTuple):
    """A path of a tree whose file is not what was put."""

    #: Empty where the list of the files itself cannot be read to its end.
    path: str
    why: str


class TreeVerified(NamedTuple):
    """The findings of ``Tree.verify``."""

    #: None when the list of the files is damaged.
    root: TreeRoot | None
    #: Files that were read.
    files: int
    #: Of these, as they were put.
    bytes: int
    damaged: tuple[DamagedFile, ...]

    @property
    def ok(self) -> bool:
        """Whether every file is what was put."""
        return not self.damaged


class TreeRetention(NamedTuple):
    """How long versions are kept that are no longer current and that no snapshot shows: a version goes when both allow it."""

    #: Versions of a path, the current one included; None keeps all.
    versions: int | None
    #: Versions that were current within this many seconds; None keeps all.
    seconds: int | None


class TreeTotals(NamedTuple):
    """The storage of all trees: a content that several files or versions have is stored once."""

    contents: int
    #: Of the contents, as they were put.
    content_bytes: int
    chunks: int
    #: Of the chunks, before they are compressed.
    chunk_bytes: int


@dataclass(frozen=True, slots=True)
class TreeInfo:
    """A tree, and what it holds."""

    name: str
    created_ms: int
    retention: TreeRetention
    #: Files as the tree is now.
    files: int
    #: Of these, as they were put.
    bytes: int
    #: Versions of all paths, those included that say that a path is gone.
    versions: int
    #: Named snapshots.
    snapshots: int
    #: Of all trees.
    together: TreeTotals

    @property
    def created(self) -> datetime:
        """When its first file came."""
        return _EPOCH + timedelta(milliseconds=self.created_ms)


def optional_entry(parts: dict[str, Any] | None) -> TreeEntry | None:
    """An entry, from the parts that the extension module and a server have of it."""
    return None if parts is None else TreeEntry(**parts)


def _skipped(parts: dict[str, Any]) -> tuple[SkippedPath, ...]:
    return tuple(SkippedPath(**skipped) for skipped in parts["skipped"])


def added_folder(parts: dict[str, Any]) -> AddedFolder:
    """Builds the outcome of storing a folder from its parts."""
    counts = {name: parts[name] for name in ("added", "changed", "unchanged", "gone", "bytes_read")}
    return AddedFolder(**counts, skipped=_skipped(parts))


def passages(parts: dict[str, Any]) -> TreePassages:
    """Builds the outcome of making passages from its parts."""
    counts = {name: parts[name] for name in ("contents", "passages", "reused", "pending")}
    return TreePassages(**counts, unread=tuple(UnreadFile(**unread) for unread in parts["unread"]))


def restored_files(parts: dict[str, Any]) -> RestoredFiles:
    """Builds the outcome of a restore from its parts."""
    counts = {name: parts[name] for name in ("files", "folders", "links", "bytes")}
    return RestoredFiles(paths=tuple(parts["paths"]), **counts, skipped=_skipped(parts))


def change(parts: dict[str, Any]) -> TreeChange:
    """A difference, from its parts."""
    before, after = optional_entry(parts["before"]), optional_entry(parts["after"])
    return TreeChange(parts["kind"], parts["path"], before, after)


def info(parts: dict[str, Any]) -> TreeInfo:
    """A tree, from its parts."""
    retention, together = TreeRetention(**parts["retention"]), TreeTotals(**parts["together"])
    return TreeInfo(**{**parts, "retention": retention, "together": together})
