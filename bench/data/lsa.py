"""1,024-dimensional vectors of real text: TF-IDF, then truncated SVD (latent semantic analysis), unit length.

Deerwester et al., Indexing by Latent Semantic Analysis, 1990. A stand-in for a neural model of that width: the vectors come from real
prose and have its neighbourhoods, but they are not a neural model's. The first 1,000 passages of `passages.jsonl.gz` are held back; a
query is one sentence of such a passage (700) or the heading above it (300). The vocabulary and the decomposition are fitted on the
60,000 passages after them, and every set is the first rows of one sequence, so the small set is a prefix of the large one. Only the
large one reaches `passages-more.jsonl.gz` with its overlapping passages, and then `passages-dictionaries.jsonl.gz`; those
that hold a query's sentence are left out of them.
"""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from bench.data import passages, truth

DIM = 1024
FITTED_ON = 60_000
VOCABULARY = 80_000
QUERIES, HEADINGS = 1_000, 300
BATCH = 8_192
SEED = 1


def make(folder: Path, rows: int) -> None:
    """The first `rows` passages as vectors, with queries and ground truth, into `folder`."""
    source = passages.write(folder.parent)
    queries, first = held_back(source)
    model = Model(folder.parent / "lsa-model", source, first)
    folder.mkdir(parents=True, exist_ok=True)
    asked = model.vectors(queries)
    asked = asked[has_direction(asked)]
    np.save(folder / "query.npy", asked)
    stored = np.lib.format.open_memmap(folder / "base.part.npy", mode="w+", dtype=np.float32, shape=(rows, DIM))
    texts = sequence(folder.parent, first, set(queries))
    filled = 0
    while filled < rows and (batch := list(islice(texts, min(BATCH, rows - filled)))):
        vectors = model.vectors(batch)
        vectors = vectors[has_direction(vectors)]
        stored[filled : filled + len(vectors)] = vectors
        filled += len(vectors)
        print(f"{filled} of {rows} vectors", file=sys.stderr, end="\r", flush=True)
    if filled < rows:
        raise SystemExit(f"the packages have {filled} passages only, {rows} were asked for")
    stored.flush()
    (folder / "base.part.npy").rename(folder / "base.npy")
    truth.write(folder, "cosine")
    about = {
        "metric": "cosine",
        "made_of": f"TF-IDF + SVD to {DIM} dimensions of {rows:,} passages",
        "queries": f"{len(asked)} sentences and headings of passages that are not in the base",
        "singular_values": [round(float(value), 2) for value in model.singular_values[:: DIM // 8]],
    }
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n")


def has_direction(vectors: np.ndarray) -> np.ndarray:
    """Tells which rows are not zero. A text without a known word is all zeros, and is left out."""
    return np.linalg.norm(vectors, axis=1) > 0.5


def sequence(folder: Path, first: int, held: set[str]) -> Iterator[str]:
    for _, _, text in islice(passages.read(passages.write(folder)), first, None):
        yield text
    for write in (passages.write_more, passages.write_dictionaries):
        for _, _, text in passages.read(write(folder)):
            if held.isdisjoint(passages.SENTENCE.split(text)):
                yield text


def held_back(source: Path) -> tuple[list[str], int]:
    """The queries, and the number of passages that they were taken from."""
    sentences, headings = [], {}
    for number, (_, heading, text) in enumerate(passages.read(source)):
        candidates = [part for part in passages.SENTENCE.split(text) if 40 <= len(part) <= 200]
        if len(sentences) < QUERIES - HEADINGS and candidates:
            sentences.append(candidates[number % len(candidates)])
        elif len(headings) < HEADINGS and 3 <= len(heading.split()) <= 12:
            headings[heading] = True
        if len(sentences) + len(headings) == QUERIES:
            return [*sentences, *headings], number + 1
    raise SystemExit("too few passages for the queries")


class Model:
    """The vocabulary and the 1,024 right singular vectors; fitted once, kept in a folder."""

    def __init__(self, folder: Path, source: Path, first: int) -> None:
        texts = [text for _, _, text in islice(passages.read(source), first, first + FITTED_ON)]
        self.words = TfidfVectorizer(
            sublinear_tf=True,
            min_df=2,
            max_df=0.25,
            max_features=VOCABULARY,
            token_pattern=r"(?u)\b[^\W\d]\w+\b",
            stop_words="english",
            dtype=np.float32,
        )
        counted = self.words.fit_transform(texts)
        kept = folder / f"svd-{DIM}-{FITTED_ON}-{len(self.words.vocabulary_)}.npz"
        if not kept.exists():
            print(f"decomposing {counted.shape[0]} x {counted.shape[1]}", file=sys.stderr, flush=True)
            _, singular, right = randomized_svd(
                counted, DIM, n_oversamples=32, n_iter=3, power_iteration_normalizer="QR", random_state=SEED
            )
            folder.mkdir(parents=True, exist_ok=True)
            np.savez(kept, singular=singular.astype(np.float32), right=right.astype(np.float32))
        arrays = np.load(kept)
        self.singular_values = arrays["singular"]
        self.projection = np.ascontiguousarray(arrays["right"].T)

    def vectors(self, texts: list[str]) -> np.ndarray:
        counted: sparse.csr_matrix = self.words.transform(texts)
        return np.ascontiguousarray(normalize(counted @ self.projection), dtype=np.float32)
