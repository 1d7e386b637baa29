"""The layout of checkpoints in a keyspace: three kinds of keys, ordered by thread, namespace, and the rest.

``c`` thread, namespace, checkpoint: its parent, the checkpoint without the values of its channels, its metadata.
``b`` thread, namespace, channel, version: a channel's value. Checkpoints between which it did not change share it.
``w`` thread, namespace, checkpoint, task, index: a write of a task that has not become a checkpoint yet.
"""

from __future__ import annotations

from typing import NamedTuple

from ..frames import join, split
from ..keys import pack, unpack

CHECKPOINT, BLOB, WRITE = b"c", b"b", b"w"
KINDS = (CHECKPOINT, BLOB, WRITE)

#: A value as the serializer gives it: its type and its bytes.
Typed = tuple[str, bytes]


class CheckpointKey(NamedTuple):
    """The identity of a checkpoint."""

    thread: str
    namespace: str
    id: str

    def packed(self) -> bytes:
        """Its key."""
        return key(CHECKPOINT, *self)

    def writes(self) -> bytes:
        """The key prefix of its writes."""
        return key(WRITE, *self)


class StoredCheckpoint(NamedTuple):
    """The stored form of a checkpoint, without its channels."""

    parent: str
    checkpoint: Typed
    metadata: Typed

    def packed(self) -> bytes:
        """Returns the stored form."""
        return join(self.parent.encode(), *_framed(self.checkpoint), *_framed(self.metadata))


class StoredWrite(NamedTuple):
    """A write of a task."""

    task_path: str
    task_id: str
    number: int
    channel: str
    value: Typed

    def packed(self) -> bytes:
        """Returns the stored form."""
        head = (self.task_path, self.task_id, str(self.number), self.channel)
        return join(*(part.encode() for part in head), *_framed(self.value))


def key(kind: bytes, *parts: str) -> bytes:
    """Returns a key or a key prefix."""
    return kind + pack(*parts)


def checkpoint_key(packed: bytes) -> CheckpointKey:
    """The key of a checkpoint from its bytes."""
    return CheckpointKey(*unpack(packed[1:]))


def checkpoint(packed: bytes) -> StoredCheckpoint:
    """A checkpoint from its bytes."""
    parent, *rest = split(packed, 5)
    return StoredCheckpoint(parent.decode(), (rest[0].decode(), rest[1]), (rest[2].decode(), rest[3]))


def write(packed: bytes) -> StoredWrite:
    """A write from its bytes."""
    path, task, index, channel, kind, value = split(packed, 6)
    return StoredWrite(path.decode(), task.decode(), int(index), channel.decode(), (kind.decode(), value))


def typed(packed: bytes) -> Typed:
    """A channel's value from its bytes."""
    kind, value = split(packed, 2)
    return kind.decode(), value


def packed_typed(value: Typed) -> bytes:
    """A channel's value as it is stored."""
    return join(*_framed(value))


def _framed(value: Typed) -> tuple[bytes, bytes]:
    return value[0].encode(), value[1]
