"""Helpers of several tests: processes, a toy embedder, and the promise that nothing changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import nuthatch

REPOSITORY = Path(__file__).resolve().parents[2]


def run_python(script: str, *arguments: str, **options: object) -> subprocess.Popen[str]:
    """A Python process of its own, with its output readable line by line.

    It receives interrupts, even if the process that started the tests does not.
    """

    def hear_interrupts() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return subprocess.Popen(
        [sys.executable, "-u", "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts if sys.platform != "win32" else None,
        **options,
    )


def toy_embed(texts: list[str]) -> list[list[float]]:
    """Counts words by their hash: the same words give the same vector."""
    vectors = []
    for text in texts:
        vector = [0.01] * 16
        for word in text.lower().split():
            vector[zlib.crc32(word.encode()) % 16] += 1.0
        vectors.append(vector)
    return vectors


@contextlib.contextmanager
def unchanged(collection: nuthatch.Collection) -> Iterator[None]:
    """Fails unless the collection afterwards holds exactly what it held before."""

    def everything() -> tuple[object, ...]:
        info = collection.info()
        return (
            list(collection.scan(include=("text", "payload", "vector"))),
            info.rows,
            info.vectors,
            info.dim,
            info.fields,
        )

    before = everything()
    yield
    assert everything() == before


#: A vocabulary like Llama's, of two letters.
STATIC_TOKENIZER = {
    "version": "1.0", "truncation": None, "padding": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
    "added_tokens": [
        {"id": 0, "content": "<unk>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": True}
    ],
    "normalizer": {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        ],
    },
    "model": {
        "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": False, "ignore_merges": False,
        "vocab": {"<unk>": 0, "\u2581": 1, "a": 2, "b": 3, "\u2581a": 4, "\u2581b": 5},
        "merges": ["\u2581 a", "\u2581 b"],
    },
}  # fmt: skip
STATIC_ROWS = [(1, 1), (1, 1), (1, 0), (0, 1), (1, 0), (0, 1)]


def write_static_model(folder: Path) -> Path:
    """Writes a static model of six tokens: an "a" points along the first axis, a "b" along the second."""
    folder.mkdir()
    files = {
        "table": ("table.f16", b"".join(struct.pack("<2e", *row) for row in STATIC_ROWS)),
        "tokenizer": ("tokenizer.json", json.dumps(STATIC_TOKENIZER).encode()),
    }
    manifest = {"format": 1, "kind": "static", "name": "wordllama-256", "dim": 2, "rows": 6, "max_tokens": 64}
    for part, (name, content) in files.items():
        (folder / name).write_bytes(content)
        manifest[part] = {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "model.json").write_text(json.dumps({**manifest, "empty_token": 0}))
    return folder
