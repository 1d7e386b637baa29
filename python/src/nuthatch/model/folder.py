"""A model folder: where it is, and whether it is whole. ``crates/embed/src/manifest.rs`` and
``static_manifest.rs`` draw the layouts."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from .models import DEFAULT, Model

FORMAT = 1
MANIFEST = "model.json"
PART_NAMES = (MANIFEST, "model.onnx", "weights.bin", "tokenizer.json", "table.f16")


class ModelError(Exception):
    """Installing or checking failed; the message says what to do."""


def default_dir(model: Model = DEFAULT) -> Path:
    """Inside this Python's environment, where ``nuthatch`` looks first."""
    return Path(sys.prefix) / "share" / "nuthatch" / "models" / model.name


def describe(path: Path) -> dict[str, Any]:
    """A file as the manifest records it."""
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)}


def write_manifest(folder: Path, model: Model, parts: dict[str, Path]) -> None:
    manifest = {
        "format": FORMAT,
        "name": model.name,
        **model.values,
        **{part: describe(parts[part]) for part in model.parts},
        "source": model.source,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def verify(folder: Path, model: Model = DEFAULT) -> list[str]:
    """Lists the defects of a folder, one line each; none if it is complete and of the version that this package installs."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        parts = {part: manifest[part] for part in model.parts}
        recorded = {
            part: (str(entry["name"]), int(entry["bytes"]), str(entry["sha256"])) for part, entry in parts.items()
        }
    except FileNotFoundError:
        return [f"{path}: is not there"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [f"{path}: is not a manifest of {model.name} ({type(error).__name__}: {error})"]
    wrong = []
    for name, length, digest in recorded.values():
        file = folder / name
        if not file.is_file():
            wrong.append(f"{file}: is not there")
        elif file.stat().st_size != length:
            wrong.append(f"{file}: has {file.stat().st_size} bytes where {length} were recorded")
        elif sha256(file) != digest:
            wrong.append(f"{file}: has changed since it was installed (its SHA-256 differs)")
    wrong += [
        f"{folder / recorded[part][0]}: is of another version than this Nuthatch installs"
        for part, digest in model.sha256.items()
        if recorded[part][2] != digest
    ]
    # A file with a pinned hash is checked above; where platforms differ, the version is.
    source = manifest.get("source", {})
    wrong += [
        f"{folder / recorded[part][0]}: is another version than {requirement}, which this Nuthatch installs"
        for part, requirement in model.source.items()
        if part not in model.sha256 and source.get(part) != requirement
    ]
    wrong += [
        f"{path}: says {key} {manifest.get(key)!r} where this Nuthatch installs {value!r}"
        for key, value in model.values.items()
        if manifest.get(key) != value
    ]
    return wrong


def is_part(path: Path) -> bool:
    """Whether a path, by its name, may be a piece of a model folder."""
    return path.is_file() and (path.name in PART_NAMES or "onnxruntime" in path.name)


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
