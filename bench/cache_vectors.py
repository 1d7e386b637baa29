"""Vectors of texts for the benches of the cache: made once by the installed model, kept among the large data."""

from __future__ import annotations

import json

import numpy as np
import nuthatch

from .paths import CACHE

AT_ONCE = 2_000


def vectors_of(name: str, texts: list[str]) -> np.ndarray:
    """One row of unit length for each text, float32. `name` is that of the files; other texts under the same name are embedded again."""
    folder = CACHE / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    file, listed = folder / f"{name}.npy", folder / f"{name}.json"
    if file.exists() and listed.exists() and json.loads(listed.read_text()) == texts:
        return np.load(file)
    print(f"embedding {len(texts)} texts into {file}", flush=True)
    with nuthatch.connect(":memory:") as db:
        made = [part for at in range(0, len(texts), AT_ONCE) for part in _embed(db, at, texts[at : at + AT_ONCE])]
    vectors = np.asarray(made, dtype=np.float32)
    np.save(file, vectors)
    listed.write_text(json.dumps(texts))
    return vectors


def _embed(db: nuthatch.Database, at: int, texts: list[str]) -> list[list[float]]:
    """A collection embeds each text by itself, as a cache does."""
    notes = db.collection(f"texts-{at}")
    notes.upsert([{"id": str(number), "text": text} for number, text in enumerate(texts)])
    notes.wait_until_embedded()
    ids = [str(number) for number in range(len(texts))]
    return [record.vector for record in notes.get(ids, include=["vector"])]
