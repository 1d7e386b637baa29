"""Data folders of skeg: its log of keys, and its vector indexes on disk.

A folder has a part for each shard. ``NNNNNNNNNN.seg`` are records of keys: CRC32C, time, lengths, kind, key, value, padded to 128
bytes; the latest of a key counts, and a batch counts whole. ``vindex-NAME`` has ``graph.vmn`` (ids, after a header of 64 bytes),
``vectors.bin`` (their vectors, likewise) and ``delta.log`` (what came later: 0, id, vector, or 1 and the id of a deleted one).
Payloads are values of keys with the name and the id.
"""

from __future__ import annotations

import base64
import re
import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..arguments import StrPath, text
from ..database import Database
from ..errors import CorruptError, InvalidError
from . import _records
from ._importing import BATCH, Imported, Importing, OnProgress, counted

_RECORD = struct.Struct("<IQIIB")
_PADDING = 128
_SCALAR, _TOMBSTONE, _BATCH = 0, 1, 5
_PAYLOAD_MARK = b"\x00vp"
_TENANT_BYTES = 16
_HEADER = 64
_GRAPH, _VECTORS = 0x4E4D5647, 0x4E494256
_INSERT, _DELETE = 0, 1


@dataclass
class _Shard:
    folder: Path
    #: Where the value of each key is: time, segment, offset, length.
    keys: dict[bytes, tuple[int, Path, int, int]] = field(default_factory=dict)

    def value(self, key: bytes) -> bytes | None:
        found = self.keys.get(key)
        if found is None:
            return None
        _, file, offset, length = found
        with file.open("rb") as opened:
            opened.seek(offset)
            return opened.read(length)


def skeg(
    path: StrPath,
    db: Database,
    *,
    collections: Iterable[str] | None = None,
    keyspace: str = "skeg",
    batch: int = BATCH,
    on_progress: OnProgress = None,
) -> list[Imported]:
    """Imports the data folder of a skeg server (0.5 to 0.7) that is stopped: each vector index on disk becomes a collection,
    compared by cosine, and the keys become the keyspace ``keyspace``. ``collections`` names some of the indexes.

    Ids become texts. A payload of words like ``team=core year=2025`` becomes fields, and a field that is there twice a list; any
    other payload also becomes the text. Flat indexes are not on skeg's disk. An index of a tenant is named by the tenant's
    number in hexadecimal digits, a point, and its name; a tenant's keys begin with its 16 bytes.
    """
    place, size, keyspace = _records.existing(path), _records.batch_size(batch), text("keyspace", keyspace)
    shards = [_Shard(folder) for folder in _folders(place)]
    if not shards:
        raise InvalidError(f"{place} is no data folder of skeg: it has no segments (*.seg) and no vindexes.registry")
    names = sorted({index.name.removeprefix("vindex-") for shard in shards for index in shard.folder.glob("vindex-*")})
    with Importing(db, place, on_progress) as importing:
        left_out: Counter[str] = Counter()
        for shard in shards:
            _scan(shard, left_out)
        imported = [
            importing.collection(
                name.replace("::", "."), counted(_of_index(shards, name), size), metric="cosine", left_out=Counter()
            )
            for name in _records.chosen(collections, names, place)
        ]
        own = [(shard, key) for shard in shards for key in shard.keys if not _is_payload(key)]
        if own and collections is None:
            importing.keyspace(keyspace)
            kv = db.kv(keyspace)
            for part in counted(own, size):
                kv.put_many({key: shard.value(key) or b"" for shard, key in part})
                importing.tell(keyspace, len(part), len(own))
            imported.append(Imported(keyspace, len(own), dict(left_out), "keyspace"))
        return imported


def _folders(place: Path) -> list[Path]:
    found = [place, *(folder for folder in sorted(place.iterdir()) if folder.is_dir())] if place.is_dir() else []
    return [folder for folder in found if any(folder.glob("*.seg")) or (folder / "vindexes.registry").exists()]


def _scan(shard: _Shard, left_out: Counter[str]) -> None:
    """Notes where the latest value of each key is."""
    newest: dict[bytes, tuple[int, bool, Path, int, int]] = {}
    for file in sorted(shard.folder.glob("*.seg")):
        expected, batch = 0, list[tuple[bytes, tuple[int, bool, Path, int, int]]]()
        for at, kind, key, value, when in _records_in(file):
            if kind == _BATCH:
                expected, batch = int.from_bytes(value[:4], "little"), []
                continue
            if kind not in (_SCALAR, _TOMBSTONE):
                left_out["records that are neither keys nor payloads"] += 1
                continue
            batch.append((key, (when, kind == _TOMBSTONE, file, at, len(value))))
            # A batch that is not whole is as good as none.
            if len(batch) >= expected:
                for key, one in batch:
                    if key not in newest or newest[key][0] <= one[0]:
                        newest[key] = one
                expected, batch = 0, []
    for key, (when, is_deleted, file, at, length) in newest.items():
        if not is_deleted:
            shard.keys[key] = (when, file, at, length)


def _records_in(file: Path) -> Iterator[tuple[int, int, bytes, bytes, int]]:
    """Offset of the value, kind, key, value and time. They end, as for skeg, with the first that is not whole."""
    with file.open("rb") as opened:
        start = 0
        while len(head := opened.read(_RECORD.size)) == _RECORD.size:
            crc, when, key_bytes, value_bytes, kind = _RECORD.unpack(head)
            length = _RECORD.size + key_bytes + value_bytes
            padded = -(-length // _PADDING) * _PADDING
            body = opened.read(padded - _RECORD.size)
            rest = body[: key_bytes + value_bytes]
            if len(body) < padded - _RECORD.size or _crc32c(head[4:] + rest) != crc:
                return
            yield start + _RECORD.size + key_bytes, kind, rest[:key_bytes], rest[key_bytes:], when
            start += padded


def _of_index(shards: list[_Shard], name: str) -> Iterator[dict[str, Any]]:
    for shard in shards:
        folder = shard.folder / f"vindex-{name}"
        if not folder.is_dir():
            continue
        # A name of a tenant begins with its number, the payload's key with the same 16 bytes.
        tenant, _, _ = name.rpartition("::")
        prefix = (bytes.fromhex(tenant) if tenant else bytes(_TENANT_BYTES)) + _PAYLOAD_MARK + name.encode()
        for id, vector in _vectors(folder):
            record: dict[str, Any] = {"id": str(id), "vector": vector}
            blob = shard.value(prefix + struct.pack("<Q", id))
            yield record | _payload(blob, record["id"]) if blob is not None else record


def _vectors(folder: Path) -> Iterator[tuple[int, Any]]:
    ids, dim = _ids(folder / "graph.vmn")
    row_bytes = 4 * dim
    # The last change of each id: where its vector is in the log, or that it was deleted.
    changed: dict[int, int | None] = {}
    log = (folder / "delta.log").read_bytes() if (folder / "delta.log").exists() else b""
    at = 0
    while at < len(log):
        if log[at] == _INSERT and at + 9 + row_bytes <= len(log):
            changed[int.from_bytes(log[at + 1 : at + 9], "little")] = at + 9
            at += 9 + row_bytes
        elif log[at] == _DELETE and at + 9 <= len(log):
            changed[int.from_bytes(log[at + 1 : at + 9], "little")] = None
            at += 9
        else:
            break  # cut by a crash: skeg, too, reads no further
    file = folder / "vectors.bin"
    with file.open("rb") as opened:
        head = opened.read(_HEADER)
        if len(head) < _HEADER or struct.unpack_from("<IIII", head) != (_VECTORS, 1, len(ids), dim):
            raise CorruptError(f"{file} is not the vectors of {folder / 'graph.vmn'}; give a whole copy", file)
        for id in ids:
            packed = opened.read(row_bytes)
            if len(packed) < row_bytes:
                raise CorruptError(f"{file} is not whole; give a whole copy", file)
            if id not in changed:
                yield id, array("f", packed)
    for id, offset in changed.items():
        if offset is not None:
            yield id, array("f", log[offset : offset + row_bytes])


def _ids(file: Path) -> tuple[Any, int]:
    """The ids of an index's rows, and the components of its vectors."""
    with file.open("rb") as opened:
        head = opened.read(_HEADER)
        if len(head) < _HEADER or struct.unpack_from("<II", head) != (_GRAPH, 1):
            raise CorruptError(f"{file} is no graph of skeg of a version that is known here; give a whole copy", file)
        rows, dim = struct.unpack_from("<II", head, 8)
        packed = opened.read(8 * rows)
    if len(packed) < 8 * rows:
        raise CorruptError(f"{file} is not whole; give a whole copy", file)
    return array("Q", packed), dim


def _payload(blob: bytes, id: str) -> dict[str, Any]:
    try:
        said = blob.decode()
    except UnicodeDecodeError:
        return {"payload": {"payload_base64": base64.b64encode(blob).decode()}}
    fields: dict[str, list[Any]] = {}
    words = said.split()
    for name, sign, value in (word.partition("=") for word in words):
        if sign and name:
            fields.setdefault(name, []).append(int(value) if re.fullmatch(r"-?\d{1,18}", value) else value)
    flat = {name: values[0] if len(values) == 1 else values for name, values in fields.items()}
    found: dict[str, Any] = {"payload": _records.payload(flat, f"record {id!r}")}
    if sum(map(len, fields.values())) < len(words):
        found["text"] = said
    return found


def _is_payload(key: bytes) -> bool:
    return key[_TENANT_BYTES : _TENANT_BYTES + 3] == _PAYLOAD_MARK and len(key) > _TENANT_BYTES + 3 + 8


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _table()


def _crc32c(data: bytes) -> int:
    """Castagnoli's sum.

    >>> hex(_crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
