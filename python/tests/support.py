"""What several tests need: processes, a toy embedder, and the promise that nothing changed."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import nuthatch

REPOSITORY = Path(__file__).resolve().parents[2]


def run_python(script: str, *arguments: str, **options: object) -> subprocess.Popen[str]:
    """A Python process of its own, with its output readable line by line.

    It hears interrupts, even where whoever started the tests does not.
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
