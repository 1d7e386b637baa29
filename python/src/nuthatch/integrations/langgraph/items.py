"""The layout of items in a keyspace and, if they are embedded, in a collection.

Key: the labels of the namespace (see ``keys``), 00 00, the item's key. Value: JSON with ``value``, ``created_at``,
``updated_at``, ``ttl`` (minutes), ``revision`` and ``vectors``, how many records the collection has of it. A record's id is the
JSON list of labels, key, number and the item's revision; its payload has the prefixes of the namespace (``under``) and what
filters may look at (``value``). A record of a revision that the item has no longer does not count, and is never needed again.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from ...errors import InvalidError
from ..keys import pack, unpack

_KEY = b"\x00\x00"
#: Texts beyond are not looked at by the collection's filter but afterwards.
FILTERED_CHARS_MAX = 4096
_FILTERED_FIELDS_MAX = 512

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored item."""

    value: dict[str, Any]
    created_at: str
    updated_at: str
    ttl: float | None
    revision: str
    vectors: int

    def packed(self) -> bytes:
        """Its bytes."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        try:
            return json.dumps(parts, ensure_ascii=False).encode()
        except (TypeError, ValueError) as error:
            raise InvalidError(
                f"the value of an item is not JSON: {error}; give dicts, lists, texts and numbers"
            ) from None


def item_key(namespace: Namespace, key: str) -> bytes:
    """The key of an item."""
    return pack(*namespace) + _KEY + key.encode()


def prefix(namespace: Namespace) -> bytes:
    """The key prefix of a namespace and of the namespaces below it."""
    return pack(*namespace)


def after(namespace: Namespace) -> bytes:
    """The key after the items of this namespace, where those of the namespaces below it begin."""
    return pack(*namespace) + b"\x00\x01"


def named(packed: bytes) -> tuple[Namespace, str]:
    """Namespace and key of an item's key."""
    labels, _, key = packed.partition(_KEY)
    return tuple(unpack(labels)), key.decode()


def stored(packed: bytes) -> Stored:
    """An item from its bytes."""
    return Stored(**json.loads(packed))


def renewed(value: dict[str, Any], old: Stored | None, ttl: float | None, vectors: int) -> Stored:
    """An item with a new value; it keeps its creation time."""
    now = datetime.now(timezone.utc).isoformat()
    return Stored(value, old.created_at if old else now, now, ttl, uuid.uuid4().hex, vectors)


def record_ids(namespace: Namespace, key: str, item: Stored) -> list[str]:
    """The ids of the records with an item's vectors."""
    return [json.dumps([*namespace, key, number, item.revision], ensure_ascii=False) for number in range(item.vectors)]


def of_record(id: str) -> tuple[Namespace, str, str]:
    """The item of a record: namespace, key and revision."""
    *namespace, key, _, revision = json.loads(id)
    return tuple(namespace), key, revision


def payload(namespace: Namespace, item: Stored) -> dict[str, Any]:
    """The payload that the collection's filter can test."""
    value, is_whole = _filtered(item.value)
    found: dict[str, Any] = {
        "under": [label_path(namespace[: n + 1]) for n in range(len(namespace))],
        "value": value,
    }
    if not is_whole:
        found["partial"] = True
    if item.ttl is not None:
        found["expires"] = datetime.now(timezone.utc).timestamp() + item.ttl * 60
    return found


def label_path(namespace: Namespace) -> str:
    """A namespace as one text; labels have no dots."""
    return ".".join(namespace)


def is_name(name: object) -> bool:
    """Whether a payload may have a field of this name."""
    return isinstance(name, str) and bool(name) and "." not in name and len(name) <= 64


def _filtered(value: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Returns the plain top-level values, and whether a filter can need nothing else."""
    found: dict[str, Any] = {}
    is_whole = True
    for name, part in value.items():
        if not is_name(name) or part is None or isinstance(part, (dict, list, tuple)):
            continue  # filters on these are not asked of the collection
        plain = plain_value(part)
        if plain is None or len(found) == _FILTERED_FIELDS_MAX:
            is_whole = False
        else:
            found[name] = plain
    return found, is_whole


def plain_value(part: object) -> object:
    """The value in a form that the collection's filter can compare, or None."""
    if isinstance(part, str):
        return part if len(part) <= FILTERED_CHARS_MAX else None
    if isinstance(part, bool):
        return part
    if isinstance(part, int) and not -(1 << 63) <= part < 1 << 63:
        return float(part) if abs(part) < 1 << 1023 else None
    if isinstance(part, int):
        return part
    return part if isinstance(part, float) and math.isfinite(part) else None
