"""Public sets of questions for the benches of the cache: read from a folder that the caller fills, and never kept in the repository.

kmemo/{near-miss,validation,held-out}-corpus.json   NaCode-Studios/kmemo, kmemo-core/src/test/resources (Apache-2.0)
langcache/chatgpt.csv                               redislabsdev/langcache-customer-data-eval, dataset (MIT)
meancache/new_claude.json                           warisgill/MeanCache, dataset_contextual_queries (MIT)
banking77/{train,test}.csv                          PolyAI-LDN/task-specific-datasets, banking_data (CC BY 4.0)
clinc150/data_full.json                             clinc/oos-eval, data (CC BY 3.0)
pairs/qqp.jsonl.gz                                  Quora's question pairs (non-commercial): to measure with, never to fit on
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """A stored prompt, an asked one, and whether the answer to the one is right for the other."""

    known: str
    asked: str
    right: bool


def kmemo(folder: Path, part: str) -> list[Pair]:
    pairs = json.loads((folder / "kmemo" / f"{part}-corpus.json").read_text())["pairs"]
    return [Pair(pair["a"], pair["b"], pair["shouldMatch"]) for pair in pairs]


def langcache(folder: Path, half: int) -> list[Pair]:
    """One half of the pairs, by a hash of the stored prompt. The marks round swapped words would tell the label."""
    with open(folder / "langcache" / "chatgpt.csv", newline="") as file:
        rows = [
            (row["sentence1"].replace("**", ""), row["sentence2"].replace("**", ""), row["label"])
            for row in csv.DictReader(file)
        ]
    return [Pair(known, asked, label == "1") for known, asked, label in rows if _half(known) == half]


def meancache(folder: Path) -> list[Pair]:
    """Questions and their paraphrases; those of other conversations are wrong."""
    rows = json.loads((folder / "meancache" / "new_claude.json").read_text())
    turns = [(row.get(turn), row.get(f"{turn}_duplicate")) for row in rows for turn in ("u0", "u1")]
    return [Pair(known, asked, True) for known, asked in turns if known and asked]


def banking77(folder: Path) -> list[tuple[str, str | None]]:
    """Questions to a bank with their intents."""
    found: list[tuple[str, str | None]] = []
    for part in ("train", "test"):
        with open(folder / "banking77" / f"{part}.csv", newline="") as file:
            found += [(row["text"].strip(), row["category"]) for row in csv.DictReader(file)]
    return found


def clinc150(folder: Path) -> list[tuple[str, str | None]]:
    """Questions to an assistant with their intents; `None` for those that have none."""
    parts = json.loads((folder / "clinc150" / "data_full.json").read_text())
    return [(text, None if intent == "oos" else intent) for rows in parts.values() for text, intent in rows]


def qqp(folder: Path) -> list[Pair]:
    with gzip.open(folder / "pairs" / "qqp.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [Pair(row["a"], row["b"], row["label"] == 1) for row in rows]


def _half(text: str) -> int:
    return hashlib.blake2b(text.encode()).digest()[0] & 1
