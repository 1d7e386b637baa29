"""How checkpoints lie in a keyspace: three kinds of keys, each in the order thread, namespace, and what follows.

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
    """What a checkpoint is found by."""

    thread: str
    namespace: str
    id: str

    def packed(self) -> bytes:
        """Its key."""
        return key(CHECKPOINT, *self)

    def writes(self) -> bytes:
        """What the keys of its writes begin with."""
        return key(WRITE, *self)


class StoredCheckpoint(NamedTuple):
    """What is stored of a checkpoint beside its channels."""

    parent: str
    checkpoint: Typed
    metadata: Typed

    def packed(self) -> bytes:
        """As it is stored."""
        return join(self.parent.encode(), *_framed(self.checkpoint), *_framed(self.metadata))


class StoredWrite(NamedTuple):
    """A write of a task."""

    task_path: str
    task_id: str
    number: int
    channel: str
    value: Typed

    def packed(self) -> bytes:
        """As it is stored."""
        head = (self.task_path, self.task_id, str(self.number), self.channel)
        return join(*(part.encode() for part in head), *_framed(self.value))


def key(kind: bytes, *parts: str) -> bytes:
    """A key, or what keys begin with."""
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
