"""The keys to delete with checkpoints: theirs, their writes', and those of values that no remaining checkpoint uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from ...kv_reads import KeyReads
from . import layout
from .layout import BLOB, CHECKPOINT, CheckpointKey, StoredCheckpoint

#: A namespace of a thread.
Place = tuple[str, str]


def doomed_by_runs(kv: KeyReads, serde: SerializerProtocol, runs: set[str]) -> list[bytes]:
    """Returns the keys of everything that these runs stored."""
    going: dict[Place, set[str]] = defaultdict(set)
    for packed, value in kv.items(prefix=CHECKPOINT):
        key = layout.checkpoint_key(packed)
        if serde.loads_typed(layout.checkpoint(value).metadata).get("run_id") in runs:
            going[key.thread, key.namespace].add(key.id)
    found: list[bytes] = []
    for place, ids in going.items():
        blobs = _stored_blobs(kv, place)
        stored = _stored(kv, *place)
        found += _doomed(kv, serde, place, blobs, stored, set(stored) - ids)
    return found


def doomed_but_latest(kv: KeyReads, serde: SerializerProtocol, thread: str) -> list[bytes]:
    """Returns the keys of all checkpoints of a thread except the newest per namespace and those that rebuild it."""
    namespaces = {layout.checkpoint_key(packed).namespace for packed in kv.keys(prefix=layout.key(CHECKPOINT, thread))}
    found: list[bytes] = []
    for namespace in namespaces:
        place = (thread, namespace)
        blobs = _stored_blobs(kv, place)
        stored = _stored(kv, *place)
        found += _doomed(kv, serde, place, blobs, stored, _needed(kv, serde, place, stored, max(stored)))
    return found


def _stored_blobs(kv: KeyReads, place: Place) -> list[bytes]:
    """Returns the keys of channel values. Read them before the checkpoints: a concurrent checkpoint stores its own values."""
    return list(kv.keys(prefix=layout.key(BLOB, *place)))


def _stored(kv: KeyReads, thread: str, namespace: str) -> dict[str, StoredCheckpoint]:
    entries = kv.items(prefix=layout.key(CHECKPOINT, thread, namespace))
    return {layout.checkpoint_key(packed).id: layout.checkpoint(value) for packed, value in entries}


def _needed(
    kv: KeyReads, serde: SerializerProtocol, place: Place, stored: dict[str, StoredCheckpoint], latest: str
) -> set[str]:
    """The newest checkpoint, and those before it that a channel stored as changes goes back to.

    Such a channel is rebuilt from the nearest ancestor that has its value, and the writes since; the metadata names these channels.
    """
    kept = {latest}
    open_channels = set(serde.loads_typed(stored[latest].metadata).get("counters_since_delta_snapshot") or ())
    at = latest
    while True:
        open_channels -= {
            channel for channel, packed in _blobs(serde, place, stored[at]) if channel in open_channels and packed in kv
        }
        at = stored[at].parent
        if not open_channels or at not in stored:
            return kept
        kept.add(at)


def _doomed(
    kv: KeyReads,
    serde: SerializerProtocol,
    place: Place,
    blobs: list[bytes],
    stored: dict[str, StoredCheckpoint],
    kept: Iterable[str],
) -> list[bytes]:
    remaining = set(kept)
    used = {packed for id in remaining for _, packed in _blobs(serde, place, stored[id])}
    found: list[bytes] = []
    for id in stored.keys() - remaining:
        key = CheckpointKey(*place, id)
        found += [key.packed(), *kv.keys(prefix=key.writes())]
    return found + [packed for packed in blobs if packed not in used]


def _blobs(serde: SerializerProtocol, place: Place, stored: StoredCheckpoint) -> list[tuple[str, bytes]]:
    versions: dict[str, Any] = serde.loads_typed(stored.checkpoint)["channel_versions"]
    return [(channel, layout.key(BLOB, *place, channel, str(version))) for channel, version in versions.items()]
