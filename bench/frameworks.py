"""What do the frameworks pay for a store? frameworks.py

Question: how long do a checkpoint (put, put_writes, get_tuple) and a thousand texts with given vectors (add_texts) take here, and in the
stores that the same frameworks bring along or people use first?
Data: made up, seed 7. Checkpoints: a channel of 20 messages (4 KB) that changes, a channel of 16 KB that does not, one thread,
300 steps. Texts: 1,000 of 60 words with vectors of 384 dimensions and two metadata fields, one call; five rounds, each in a new folder.
Durability: ours "commit" and "interval"; SqliteSaver as it sets itself up (WAL, synchronous=FULL: a sync a commit); InMemorySaver none;
Chroma's PersistentClient as it comes.
Command: PYTHON bench/frameworks.py, in an environment with langgraph, langgraph-checkpoint-sqlite, langchain-core, langchain-chroma.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nuthatch

STEPS = 300
TEXTS = 1000
DIM = 384
ROUNDS = 5
DICE = random.Random(7)


def main() -> None:
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
    print("\n| checkpointer | put p50 | put p99 | put_writes p50 | get_tuple p50 | ms")
    for name, make in savers().items():
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, make(folder) as saver:
            puts, writes, gets = checkpoints(saver)
        p99 = sorted(puts)[int(len(puts) * 0.99)]
        figures = (statistics.median(puts), p99, statistics.median(writes), statistics.median(gets))
        print(f"| {name} | " + " | ".join(f"{figure * 1e3:.3f}" for figure in figures) + " |")
    print(f"load average {os.getloadavg()[0]:.1f}")
    print(f"\n| vector store | add_texts of {TEXTS:,}, median of {ROUNDS} | fastest | similarity_search p50 | ms")
    texts, vectors = data()
    for name, make in stores(dict(zip(texts, vectors, strict=True))).items():
        adds, asks = [], []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, make(folder) as store:
                metadatas = [{"n": n, "team": "core"} for n in range(TEXTS)]
                adds.append(timed(lambda: store.add_texts(texts, metadatas)))  # noqa: B023 (called at once)
                asks += [timed(lambda: store.similarity_search(texts[n], k=5)) for n in range(50)]  # noqa: B023
        figures = (statistics.median(adds), min(adds), statistics.median(asks))
        print(f"| {name} | " + " | ".join(f"{figure * 1e3:.1f}" for figure in figures) + " |")
    print(f"load average {os.getloadavg()[0]:.1f}")


def timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def savers() -> dict[str, Any]:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.checkpoint.sqlite import SqliteSaver
    from nuthatch.integrations.langgraph import NuthatchSaver

    @contextmanager
    def ours(folder: str, durability: Any) -> Iterator[Any]:
        with NuthatchSaver.from_path(f"{folder}/memory", durability=durability) as saver:
            yield saver

    @contextmanager
    def in_memory(_: str) -> Iterator[Any]:
        yield InMemorySaver()

    return {
        "Nuthatch, commit": lambda folder: ours(folder, "commit"),
        "Nuthatch, interval": lambda folder: ours(folder, "interval"),
        "SqliteSaver (a sync a commit)": lambda folder: SqliteSaver.from_conn_string(f"{folder}/checkpoints.sqlite"),
        "InMemorySaver (nothing on disk)": in_memory,
    }


def checkpoints(saver: Any) -> tuple[list[float], list[float], list[float]]:
    from langgraph.checkpoint.base import empty_checkpoint

    puts, writes, gets = [], [], []
    at: Any = {"configurable": {"thread_id": "one", "checkpoint_ns": ""}}
    latest: Any = {"configurable": {"thread_id": "one", "checkpoint_ns": ""}}
    messages = [{"role": "user", "content": words(30)} for _ in range(20)]
    context = words(2600)
    for step in range(STEPS):
        messages = [*messages[1:], {"role": "user", "content": words(30)}]
        versions = {"messages": f"{step:032}", "context": f"{0:032}"}
        new = versions if step == 0 else {"messages": versions["messages"]}
        values = {"messages": messages, "context": context}
        checkpoint = {
            **empty_checkpoint(),
            "id": f"{step:08}",
            "channel_values": values,
            "channel_versions": versions,
        }
        started = time.perf_counter()
        at = saver.put(at, checkpoint, {"source": "loop", "step": step, "parents": {}}, new)
        puts.append(time.perf_counter() - started)
        written = [("messages", messages[-1]), ("branch:to:next", None)]
        writes.append(timed(lambda: saver.put_writes(at, written, f"task {step}")))  # noqa: B023 (called at once)
        gets.append(timed(lambda: saver.get_tuple(latest)))
    return puts, writes, gets


def stores(by_text: dict[str, list[float]]) -> dict[str, Any]:
    from langchain_chroma import Chroma
    from langchain_core.embeddings import Embeddings
    from nuthatch.integrations.langchain import NuthatchVectorStore

    class Given(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [by_text[text] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return by_text[text]

    @contextmanager
    def ours(folder: str, durability: Any) -> Iterator[Any]:
        with nuthatch.connect(f"{folder}/memory") as db:
            docs = db.collection("docs", dim=DIM, embedder="none")
            yield NuthatchVectorStore(docs, Given(), durability=durability)

    @contextmanager
    def chroma(folder: str) -> Iterator[Any]:
        yield Chroma("docs", Given(), persist_directory=folder, collection_metadata={"hnsw:space": "cosine"})

    return {
        "Nuthatch, commit": lambda folder: ours(folder, "commit"),
        "Nuthatch, interval": lambda folder: ours(folder, "interval"),
        "Chroma, PersistentClient": chroma,
    }


def data() -> tuple[list[str], list[list[float]]]:
    return [words(60) for _ in range(TEXTS)], [[DICE.gauss(0, 1) for _ in range(DIM)] for _ in range(TEXTS)]


def words(count: int) -> str:
    return " ".join(f"word{DICE.randrange(5000)}" for _ in range(count))


if __name__ == "__main__":
    main()
