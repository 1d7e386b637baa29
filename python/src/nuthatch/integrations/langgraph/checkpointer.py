"""A keyspace as LangGraph's checkpointer."""

from __future__ import annotations

import builtins
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

import nuthatch

from ...arguments import Durability
from ...database import Database
from ...errors import InvalidError
from ...kv_reads import KeyReads
from ..given import waiting
from . import layout
from .awaited import Awaited
from .layout import BLOB, CHECKPOINT, KINDS, WRITE, CheckpointKey, StoredCheckpoint, StoredWrite
from .pruning import doomed_but_latest, doomed_by_runs

#: Checkpoints that a listing reads at once.
_PAGE = 50


class NuthatchSaver(Awaited):
    """Checkpoints in the keyspace ``keyspace`` of a database. Each call is one atomic write, on disk when it returns.

    ``durability`` is "commit" unless you say "interval" or "os", which return sooner and survive less.
    """

    def __init__(
        self,
        database: Database,
        *,
        keyspace: str = "checkpoints",
        serde: SerializerProtocol | None = None,
        durability: Durability | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._database = waiting("database", database, Database)
        self._durability: Durability | None = durability
        self._kv = database.kv(keyspace, durability=durability)

    @classmethod
    @contextmanager
    def from_path(cls, path: str, **options: Any) -> Iterator[NuthatchSaver]:
        """A checkpointer in the folder ``path``, for a ``with`` block."""
        with nuthatch.connect(path) as database:
            yield cls(database, **options)

    # Reading.

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns the checkpoint that ``config`` names, or the newest of its thread and namespace."""
        thread, namespace = _thread(config), _namespace(config)
        if id := get_checkpoint_id(config):
            key = CheckpointKey(thread, namespace, id)
            value = self._kv.get(key.packed())
            return None if value is None else self._tuple(key, layout.checkpoint(value))
        page = self._kv.scan(prefix=layout.key(CHECKPOINT, thread, namespace), reverse=True, limit=1)
        for packed, value in page:
            return self._tuple(layout.checkpoint_key(packed), layout.checkpoint(value))
        return None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Lists checkpoints, newest first: of the thread or namespace in ``config``, or of all threads."""
        left = limit
        id = get_checkpoint_id(config) if config else None
        limit_id = get_checkpoint_id(before) if before else None
        keys = [
            key
            for key in self._keys(config)
            if (id is None or key.id == id) and (limit_id is None or key.id < limit_id)
        ]
        for at in range(0, len(keys), _PAGE):
            page = keys[at : at + _PAGE]
            for key, value in zip(page, self._kv.get_many([key.packed() for key in page]), strict=True):
                if left is not None and left <= 0:
                    return
                if value is None:
                    continue  # deleted since the keys were read
                stored = layout.checkpoint(value)
                if filter and not self._matches(stored, filter):
                    continue
                if left is not None:
                    left -= 1
                yield self._tuple(key, stored)

    # Writing: one call is one atomic batch.

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint and those of its channels that have a new version."""
        key = CheckpointKey(_thread(config), _namespace(config), checkpoint["id"])
        plain: dict[str, Any] = dict(checkpoint)
        values = plain.pop("channel_values")
        entries = [
            (
                layout.key(BLOB, key.thread, key.namespace, channel, str(version)),
                layout.packed_typed(self.serde.dumps_typed(values[channel])),
            )
            for channel, version in new_versions.items()
            if channel in values
        ]
        stored = StoredCheckpoint(
            get_checkpoint_id(config) or "",
            self.serde.dumps_typed(plain),
            self.serde.dumps_typed(get_checkpoint_metadata(config, metadata)),
        )
        self._kv.put_many([*entries, (key.packed(), stored.packed())])
        return _config(key)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores the writes of a task. Earlier writes with the same index stay, except errors and interrupts."""
        key = CheckpointKey(_thread(config), _namespace(config), str(get_checkpoint_id(config)))
        entries = []
        for at, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, at)
            stored = StoredWrite(task_path, task_id, index, channel, self.serde.dumps_typed(value))
            entries.append((layout.key(WRITE, *key, task_id, str(index)), stored, index))
        there = self._kv.get_many([packed for packed, _, _ in entries])
        new = [
            (packed, stored.packed())
            for (packed, stored, index), old in zip(entries, there, strict=True)
            if old is None or index < 0
        ]
        if new:
            self._kv.put_many(new)

    def delete_thread(self, thread_id: str) -> None:
        """Deletes all data of a thread."""
        self._database.transact(
            lambda now: self._delete(now, _keys_of(now.kv(self._kv.name), thread_id)), durability=self._durability
        )

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints of these runs in all threads, with their writes and the values that only they use."""
        wanted = set(run_ids)
        if wanted:
            self._database.transact(
                lambda now: self._delete(now, doomed_by_runs(now.kv(self._kv.name), self.serde, wanted)),
                durability=self._durability,
            )

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all data of a thread to another thread."""
        source = (str(source_thread_id), str(target_thread_id))

        def copy(now: Any) -> None:
            kv = now.kv(self._kv.name)
            for kind in KINDS:
                old, new = (layout.key(kind, thread) for thread in source)
                entries = [(new + packed[len(old) :], value) for packed, value in kv.items(prefix=old)]
                if entries:
                    kv.put_many(entries)

        self._database.transact(copy, durability=self._durability)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keeps the newest checkpoint of each namespace and the ones that rebuild its channels; "delete" removes all."""
        if strategy not in ("keep_latest", "delete"):
            raise InvalidError(f"strategy={strategy!r}; there are 'keep_latest' and 'delete'")
        threads = [str(thread) for thread in thread_ids]

        def prune(now: Any) -> None:
            kv = now.kv(self._kv.name)
            for thread in threads:
                everything = strategy == "delete"
                self._delete(now, _keys_of(kv, thread) if everything else doomed_but_latest(kv, self.serde, thread))

        if threads:
            self._database.transact(prune, durability=self._durability)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Returns a version above ``current`` that no other branch of the thread uses for another value."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():.16f}"

    def _delete(self, now: Any, doomed: builtins.list[bytes]) -> None:
        if doomed:
            now.kv(self._kv.name).delete(doomed)

    def _keys(self, config: RunnableConfig | None) -> builtins.list[CheckpointKey]:
        """Keys of a listing, newest first."""
        parts: builtins.list[str] = []
        if config:
            parts.append(_thread(config))
            if (namespace := config["configurable"].get("checkpoint_ns")) is not None:
                parts.append(namespace)
        found = [layout.checkpoint_key(packed) for packed in self._kv.keys(prefix=layout.key(CHECKPOINT, *parts))]
        return sorted(found, key=lambda key: key.id, reverse=True)

    def _matches(self, stored: StoredCheckpoint, filter: dict[str, Any]) -> bool:
        metadata = self.serde.loads_typed(stored.metadata)
        return all(name in metadata and metadata[name] == wanted for name, wanted in filter.items())

    def _tuple(self, key: CheckpointKey, stored: StoredCheckpoint) -> CheckpointTuple:
        plain = self.serde.loads_typed(stored.checkpoint)
        versions = plain["channel_versions"]
        blobs = self._kv.get_many(
            [
                layout.key(BLOB, key.thread, key.namespace, channel, str(version))
                for channel, version in versions.items()
            ]
        )
        values = {
            channel: self.serde.loads_typed(layout.typed(blob))
            for channel, blob in zip(versions, blobs, strict=True)
            if blob is not None
        }
        # By path, task and index: the order in which the tasks' writes are applied.
        writes = sorted(
            (layout.write(value) for value in self._kv.values(prefix=key.writes())), key=lambda write: write[:3]
        )
        return CheckpointTuple(
            config=_config(key),
            checkpoint=cast("Checkpoint", {**plain, "channel_values": values}),
            metadata=self.serde.loads_typed(stored.metadata),
            parent_config=_config(key._replace(id=stored.parent)) if stored.parent else None,
            pending_writes=[(write.task_id, write.channel, self.serde.loads_typed(write.value)) for write in writes],
        )


def _thread(config: RunnableConfig) -> str:
    return str(config["configurable"]["thread_id"])


def _namespace(config: RunnableConfig) -> str:
    return str(config["configurable"].get("checkpoint_ns", ""))


def _config(key: CheckpointKey) -> RunnableConfig:
    named = {"thread_id": key.thread, "checkpoint_ns": key.namespace, "checkpoint_id": key.id}
    return {"configurable": named}


def _keys_of(kv: KeyReads, thread: str) -> builtins.list[bytes]:
    return [packed for kind in KINDS for packed in kv.keys(prefix=layout.key(kind, str(thread)))]
