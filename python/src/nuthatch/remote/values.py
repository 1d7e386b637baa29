"""Values of answers, as the extension module gives them: bytes, vectors, payloads with datetimes, 32-bit scores."""

from __future__ import annotations

import array
import struct
import sys
from base64 import b64decode, b64encode
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .. import _core
from ..results import Leg, Legs, Pending, Results, facets

if TYPE_CHECKING:
    from ..nodes import EdgeParts, NodeParts
    from ..records import RecordParts
    from ..vectors import ReadValue

_FLOAT = struct.Struct("f")


def bytes_json(value: bytes) -> str | dict[str, str]:
    """Bytes for JSON: text where they are UTF-8.

    >>> bytes_json(b"a"), bytes_json(b"\\xff")
    ('a', {'base64': '/w=='})
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


def bytes_of(found: str | dict[str, str]) -> bytes:
    """Bytes from JSON."""
    return found.encode() if isinstance(found, str) else b64decode(found["base64"])


def vector(text: str | None) -> list[float] | None:
    """A vector from base64."""
    if text is None:
        return None
    floats = array.array("f", b64decode(text))
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tolist()


def record(found: dict[str, Any]) -> RecordParts:
    """A record."""
    return (
        found["id"],
        found["text"],
        _payload(found),
        found["context"],
        vector(found.get("vector")),
        _vectors(found),
    )


def answer(found: dict[str, Any]) -> Results:
    """The results of a search."""
    pending, next_offset, counted = found.get("pending"), found["next_offset"], found.get("facets")
    return Results(
        _core.hits_of_server(found["hits"]),
        None if next_offset is None else f"{_core.CURSOR}{next_offset}",
        found["degraded"],
        found.get("explain"),
        facets(counted) if counted else None,
        None if pending is None else Pending(pending["vectors"], pending["records"]),
    )


def carried(hit: dict[str, Any]) -> tuple[str | None, dict[str, Any], str | None, list[float] | None, dict[str, Any]]:
    """Text, payload, context, vector and vectors of a hit."""
    return hit["text"], _payload(hit), hit["context"], vector(hit.get("vector")), _vectors(hit)


def legs(hit: dict[str, Any]) -> Legs:
    """The places of a hit in the legs."""
    found = hit["legs"]
    by_field = {name: Leg(leg["rank"], _single(leg["score"])) for name, leg in found["vectors"].items()}
    return Legs(_leg(found["text"]), _leg(found["vector"]), by_field, _leg(found.get("rerank")))


def _leg(found: dict[str, Any] | None) -> Leg | None:
    return None if found is None else Leg(found["rank"], _single(found["score"]))


def _vectors(found: dict[str, Any]) -> dict[str, ReadValue]:
    return {name: _value(value) for name, value in found.get("vectors", {}).items()}


def _value(found: Any) -> ReadValue:
    if isinstance(found, dict):
        return dict(zip(found["indices"], map(_single, found["values"]), strict=True))
    if isinstance(found, list):
        return [vector(row) or [] for row in found]
    return vector(found) or []


def _single(score: float) -> float:
    """The 32-bit float that a score is: JSON has its shortest digits, which as 64 bits are another number."""
    rounded: float = _FLOAT.unpack(_FLOAT.pack(score))[0]
    return rounded


def node(found: dict[str, Any]) -> NodeParts:
    """A node of a graph."""
    return found["id"], found["type"], _payload(found, "properties")


def edge(found: dict[str, Any]) -> EdgeParts:
    """An edge of a graph."""
    return found["source"], found["type"], found["target"], float(found["weight"]), _payload(found, "properties")


def _payload(found: dict[str, Any], name: str = "payload") -> dict[str, Any]:
    payload: dict[str, Any] = found[name]
    for path in found.pop("datetimes", ()):  # once: it may be looked at twice
        *parents, last = path.split(".")
        place: Any = payload
        for step in parents:
            place = place[int(step)] if isinstance(place, list) else place[step]
        at = int(last) if isinstance(place, list) else last
        place[at] = moment(place[at])
    return payload


def moment(found: str | int) -> datetime | str:
    """A datetime; of years that Python's have not, text.

    >>> moment("2025-06-01T10:00:00.12Z")
    datetime.datetime(2025, 6, 1, 10, 0, 0, 120000, tzinfo=datetime.timezone.utc)
    """
    if isinstance(found, int):
        return str(found)
    seconds, _, fraction = found.removesuffix("Z").partition(".")
    try:
        made = datetime.fromisoformat(f"{seconds}+00:00")
    except ValueError:
        return found
    return made.replace(microsecond=int(fraction.ljust(6, "0")[:6])) if fraction else made


def info(found: dict[str, Any]) -> dict[str, Any]:
    """The options and contents of a collection, in the form of the extension module."""
    building = found["building"]
    return {
        **found,
        "building": None
        if building is None
        else (building["done"], building["total"], building["rows_per_second"], building["seconds_left"]),
        "vector_fields": {
            name: (field["dim"], field["metric"], field["elements"], field["vectors"], field["kind"])
            for name, field in found["vector_fields"].items()
        },
    }
