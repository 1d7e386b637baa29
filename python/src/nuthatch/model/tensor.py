"""One tensor's bytes out of a safetensors file, with nothing but the standard library."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from .folder import ModelError


def read(path: Path, name: str) -> bytes:
    """Header length (u64), JSON header, then the tensors, little-endian."""
    data = path.read_bytes()
    try:
        (header_bytes,) = struct.unpack_from("<Q", data)
        begin = 8 + header_bytes
        start, end = json.loads(data[8:begin])[name]["data_offsets"]
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path.name} holds no tensor {name!r} ({type(error).__name__}: {error})") from error
    return data[begin + start : begin + end]
