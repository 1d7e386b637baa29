"""The workloads of each system, with the figures that it publishes. A function a system; it yields rows."""

from __future__ import annotations

import importlib.metadata
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.serving import serving
from bench.systems import data
from bench.systems.rows import ROUNDS, Row, in_turns, percentile

COMMIT = "ours: every write fsynced before it returns"


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


# skeg: slice A, one process and one client.


def skeg(folder: Path, scale: dict[str, int]) -> Iterator[Row]:
    rows = scale["vectors"]
    given = data.passages(rows, scale["queries"])
    taken = _engines(folder, given, {"nuthatch": [0], "chroma": [0]}, ROUNDS)
    chroma = f"Chroma {version('chromadb')}" if version("chromadb") else "Chroma is not installed here"
    about = {
        "configuration": f"{rows:,} x {given.base.shape[1]}, {given.name}; k 10, one client, every default",
        "durability": COMMIT + "; Chroma: its SQLite",
        "peer_is": chroma,
    }
    on = "100,000 x 1,024, M1 Pro; skeg 0.0.5 pq128, l_search 300"
    figures = [
        ("p50 of a search", "p50_ms", "ms", False, 1.68),
        ("p99 of a search", "p99_ms", "ms", False, 2.36),
        ("searches", "qps", "1/s", True, 586.0),
        ("resident memory", "mib", "MiB", False, 63.0),
        ("building, with commits", "build_s", "s", False, 52.0),
    ]
    ours, theirs = taken["nuthatch", 0], taken.get(("chroma", 0), [])
    recall = f"published .9995; peer {_median(theirs, 'recall')}; ours {_median(ours, 'recall')}"
    for what, key, unit, higher, published in figures:
        yield Row(
            "skeg", what, unit, higher, published=published, published_on=on, recall=recall,
            peer=[one[key] for one in theirs], ours=[one[key] for one in ours], **about,
        )  # fmt: skip


# Theseon: vectors by ef, and YCSB on one node.


def theseon(folder: Path, scale: dict[str, int]) -> Iterator[Row]:
    rows = scale["vectors"]
    given = data.sift(rows, scale["queries"])
    efs = [16, 32, 64, 128, 256]
    taken = _engines(folder, given, {"nuthatch": [900, 950, 990], "faiss": efs}, 1)
    for wanted, ef, qps in ((0.9, 50, 1433.0), (0.95, 100, 831.0), (0.99, 500, 231.0)):
        ours = taken["nuthatch", round(1000 * wanted)]
        reach = [
            (ef, taken["faiss", ef])
            for ef in efs
            if ("faiss", ef) in taken and taken["faiss", ef][0]["recall"] >= wanted
        ]
        recall = f"published ef {ef}; ours {_median(ours, 'recall')}"
        if reach:
            recall += f"; peer {_median(reach[0][1], 'recall')} with ef {reach[0][0]}"
        yield Row(
            "Theseon", f"searches at recall {wanted}", "1/s", True,
            f"{rows:,} x 128, {given.name}; k 10, one thread; ours asked for this recall, the peer's first ef that has it",
            COMMIT + "; peer: in memory",
            published=qps, published_on="1,000,000 x 128 SIFT, M1; M 16, efConstruction 200",
            peer=[one["qps"] for one in reach[0][1]] if reach else [],
            peer_is=f"FAISS {version('faiss-cpu')} HNSW16" if reach else "FAISS is not installed here, or does not reach it",
            ours=[one["qps"] for one in ours], recall=recall,
        )  # fmt: skip
    for name, reads, published in (
        ("A (50 % reads)", 0.5, 497.0),
        ("B (95 %)", 0.95, 4670.0),
        ("C (reads alone)", 1.0, 430_000.0),
    ):
        yield Row(
            "Theseon", f"YCSB-{name}", "1/s", True,
            f"{scale['keys']:,} keys of 256 bytes, one thread in Python, {scale['seconds']} s a round, Zipf's distribution",
            COMMIT,
            published=published, published_on="2,000,000 x 256 bytes, M1, Go; fsync for each write",
            peer_is="its code is not public; Pebble, which it is compared with, needs Go: make bench-kv",
            ours=_ycsb(folder / f"kv-{reads}", scale, reads),
        )  # fmt: skip


def _ycsb(folder: Path, scale: dict[str, int], reads: float) -> list[float]:
    import nuthatch

    dice = random.Random(7)
    keys = [f"user{at:012}".encode() for at in range(scale["keys"])]
    # The weights of YCSB's distribution.
    weights = np.cumsum(1 / np.arange(1, len(keys) + 1) ** 0.99)
    chosen = np.searchsorted(weights / weights[-1], np.random.default_rng(7).random(200_000)).tolist()
    order = dice.sample(range(len(keys)), len(keys))
    value = dice.randbytes(256)
    rates = []
    with nuthatch.connect(folder) as db:
        kv = db.kv("ycsb")
        for start in range(0, len(keys), 1000):
            kv.put_many({key: value for key in keys[start : start + 1000]})
        for _ in range(ROUNDS):
            done, began = 0, time.perf_counter()
            until = began + scale["seconds"]
            while time.perf_counter() < until:
                key = keys[order[chosen[done % len(chosen)]]]
                if dice.random() < reads:
                    kv.get(key)
                else:
                    kv.put(key, value)
                done += 1
            rates.append(done / (time.perf_counter() - began))
    return rates


# YAMS: its microbenchmarks of storing and of metadata.


def yams(folder: Path, scale: dict[str, int]) -> Iterator[Row]:
    import nuthatch

    dice = random.Random(7)
    absent = "YAMS is built from C++ sources with Conan, and no registry has it"
    on = "M4 Max, 16 cores"
    with nuthatch.connect(folder / "yams") as db:
        tree = db.tree("docs")
        for what, size, count, published in (
            ("Ingestion_SmallDocument", 1 << 10, scale["documents"], 5068.0),
            ("Ingestion_MediumDocument", 100 << 10, max(10, scale["documents"] // 10), 363.6),
        ):
            rates = []
            for at in range(ROUNDS):
                contents = [dice.randbytes(size) for _ in range(count)]
                began = time.perf_counter()
                for number, content in enumerate(contents):
                    tree.put(f"{what}/{at}/{number}.txt", content)
                rates.append(count / (time.perf_counter() - began))
            yield Row(
                "YAMS", what, "1/s", True, f"{count:,} documents of {size >> 10} KiB, one call each, kept bit for bit", COMMIT,
                published=published, published_on=on, peer_is=absent, ours=rates,
            )  # fmt: skip
        records = db.collection("meta", embedder="none")
        records.upsert([{"id": str(at), "text": f"document {at}"} for at in range(1000)])
        singles, bulks = [], []
        for at in range(ROUNDS):
            began = time.perf_counter()
            for number in range(100):
                records.update(str(number), set={"status": f"s{at}"})
            singles.append(100 / (time.perf_counter() - began))
            changes = [{"id": str(number), "set": {f"k{key}": at for key in range(5)}} for number in range(100)]
            began = time.perf_counter()
            records.update_many(changes)
            bulks.append(500 / (time.perf_counter() - began))
        for what, published, taken, how in (
            ("Metadata_SingleUpdate", 15_711.0, singles, "1,000 records, 100 updates of one field, one call each"),
            ("Metadata_BulkUpdate(500)", 234_048.0, bulks, "100 records x 5 fields in one call; a second is of fields"),
        ):
            yield Row(
                "YAMS", what, "1/s", True, how, COMMIT + "; YAMS: SQLite, synchronous NORMAL",
                published=published, published_on=on, peer_is=absent, ours=taken,
            )  # fmt: skip


# Longbow: Flight.


def longbow(folder: Path, scale: dict[str, int]) -> Iterator[Row]:
    absent = "Longbow's server is built from Go sources; the peer is a Flight server that only keeps the batches"
    if version("pyarrow") is None:
        yield Row(
            "Longbow", "Flight", "MB/s", True, "", "", published=103.0, published_on="10,000 x 128, M-series MacBook",
            peer_is="pyarrow is not installed here",
        )  # fmt: skip
        return
    import pyarrow as pa
    from pyarrow import flight

    from bench.flight import measure
    from bench.flight.__main__ import bare, create, drop

    rows, dim = scale["vectors"], 128
    vectors = np.random.default_rng(7).random((rows, dim), dtype="float32")
    made = []
    for start in range(0, rows, 2000):
        part = vectors[start : start + 2000]
        ids = pa.array([str(at) for at in range(start, start + len(part))])
        column = pa.FixedSizeListArray.from_arrays(pa.array(part.reshape(-1)), dim)
        made.append(pa.RecordBatch.from_pydict({"id": ids, "vector": column}))
    megabytes = measure.size(made) / 1e6
    path = flight.FlightDescriptor.for_path("docs")
    command = flight.FlightDescriptor.for_command(json.dumps({"collection": "docs"}).encode())
    ticket = json.dumps({"collection": "docs", "columns": ["id", "vector"]}).encode()
    with serving(folder / "longbow") as server, bare() as theirs, flight.connect(f"grpc://{server.http}") as mine:
        create(mine, "docs", dim)

        def put_ours() -> float:
            drop(mine, "docs")
            create(mine, "docs", dim)
            return megabytes / measure.put(mine, command, made)

        about = f"{rows:,} x {dim} uniform vectors in batches of 2,000, over loopback, one client"
        on = "10,000 x 128, M-series MacBook, 4 workers"
        put = in_turns(lambda: megabytes / measure.put(theirs, path, made), put_ours)
        yield Row("Longbow", "DoPut", "MB/s", True, about, COMMIT + "; Longbow: acknowledged before its disk", published=103.0,
                  published_on=on, peer_is=absent, **put)  # fmt: skip
        got = in_turns(
            lambda: megabytes / measure.get(theirs, b"docs", rows), lambda: megabytes / measure.get(mine, ticket, rows)
        )
        yield Row(
            "Longbow", "DoGet", "MB/s", True, about, "reads", published=1692.0, published_on=on, peer_is=absent, **got
        )
        import nuthatch

        with nuthatch.connect(f"http://{server.http}") as db:
            docs = db.collection("docs")
            asked = np.random.default_rng(8).random((scale["queries"], dim), dtype="float32")
            found: list[list[int]] = []

            def search() -> float:
                times = []
                found.clear()
                for question in asked:
                    began = time.perf_counter()
                    found.append([int(hit.id) for hit in docs.search(vector=question, limit=10, include=[])])
                    times.append(time.perf_counter() - began)
                return percentile(times, 0.5)

            p50 = [search() for _ in range(ROUNDS)]
            squares = (vectors**2).sum(axis=1)
            truth = np.stack([np.argsort(squares - 2 * (vectors @ question))[:10] for question in asked])
            yield Row(
                "Longbow", "p50 of a dense search", "ms", False, f"{rows:,} x {dim} uniform vectors, over HTTP, one client, k 10", "reads",
                published=14.0, published_on="100,000 x 128, one node; no recall is published", peer_is="as above",
                ours=p50, recall=f"published none; ours {data.recall(found, truth):.3f}",
            )  # fmt: skip


# mneme: its rows, through the same calls of the same interface.


def mneme(folder: Path, scale: dict[str, int]) -> Iterator[Row]:
    from nuthatch.compat.mneme import SemanticCache

    entries, dim = scale["answers"], 384
    vectors = np.random.default_rng(7).standard_normal((entries + 4000, dim)).astype("float32")

    class Embedder:
        fingerprint = "report"

        def __init__(self) -> None:
            self.dim = dim

        def embed(self, text: str) -> Any:
            return vectors[hash(text) % len(vectors)]

    peer = None
    peer_is = "mneme-cache is not installed here"
    if (found := version("mneme-cache")) is not None:
        import mneme as theirs

        peer, peer_is = theirs.SemanticCache, f"mneme-cache {found}"
    kinds: dict[str, tuple[Any, Path]] = {"ours": (SemanticCache, folder / "mneme-ours")}
    if peer is not None:
        kinds["peer"] = (peer, folder / "mneme-peer.db")
    caches = {}
    for whose, (kind, place) in kinds.items():
        cache = caches[whose] = kind(place, Embedder(), max_entries=entries + 3000)
        for at in range(entries):
            cache.put(f"question {at}", f"answer {at}" * 10, embedding=vectors[at])
    fresh = iter(range(entries, 1 << 40))

    def times(count: int, call: Callable[[int], object]) -> float:
        taken = []
        for at in range(count):
            began = time.perf_counter()
            call(at)
            taken.append(time.perf_counter() - began)
        return percentile(taken, 0.99)

    def exact(cache: Any) -> float:
        return times(1000, lambda at: cache.get(f"question {at % entries}"))

    def semantic(cache: Any) -> float:
        return times(100, lambda at: cache.get("never asked", embedding=vectors[entries + at]))

    def put(cache: Any) -> float:
        return times(200, lambda at: cache.put(f"new {next(fresh)}", "answer", embedding=vectors[at]))

    def throughput(cache: Any) -> float:
        done, began = 0, time.perf_counter()
        while time.perf_counter() - began < 1:
            asked = f"question {done % entries}" if done % 10 else "never asked"
            cache.get(asked, embedding=vectors[entries + done % 1000])
            done += 1
        return done / (time.perf_counter() - began)

    about = {
        "configuration": f"{entries:,} answers x {dim}, random vectors, one thread",
        "durability": "ours: each put fsynced before it returns; mneme: SQLite WAL, synchronous NORMAL (not fsynced)",
        "peer_is": peer_is,
    }
    on = "100,000 x 768, M4 Max"
    for what, unit, higher, published, where, call in (
        ("exact get, p99", "ms", False, 2.3, on, exact),
        ("semantic get, p99", "ms", False, 2.7, on, semantic),
        ("put, p99", "ms", False, 0.9, on, put),
        ("90 % hits, 10 % misses", "1/s", True, 5700.0, "10,000 x 384, M4 Max", throughput),
    ):
        both = in_turns(
            (lambda call=call: call(caches["peer"])) if "peer" in caches else None,
            lambda call=call: call(caches["ours"]),
        )
        yield Row("mneme", what, unit, higher, published=published, published_on=where, **about, **both)
    for cache in caches.values():
        cache.close()

    def opened(whose: str) -> float:
        kind, place = kinds[whose]
        began = time.perf_counter()
        kind(place, Embedder()).close()
        return 1e3 * (time.perf_counter() - began)

    both = in_turns((lambda: opened("peer")) if "peer" in kinds else None, lambda: opened("ours"))
    yield Row("mneme", "open and close", "ms", False, published=300.0, published_on=on, **about, **both)


SYSTEMS: dict[str, Callable[[Path, dict[str, int]], Iterator[Row]]] = {
    "skeg": skeg,
    "theseon": theseon,
    "yams": yams,
    "longbow": longbow,
    "mneme": mneme,
}


def _engines(
    folder: Path, given: data.Set, engines: dict[str, list[int]], rounds: int
) -> dict[tuple[str, int], list[dict[str, float]]]:
    """Each engine fills once and is asked `rounds` times, in processes of their own and in turns."""
    place = folder / f"set-{given.base.shape[1]}"
    place.mkdir()
    np.savez(place / "set.npz", base=given.base, queries=given.queries, truth=given.truth, metric=given.metric)
    packages = {"chroma": "chromadb", "faiss": "faiss-cpu"}
    there = {name: efforts for name, efforts in engines.items() if name not in packages or version(packages[name])}
    built = {name: _run(name, place, "build") for name in there}
    taken: dict[tuple[str, int], list[dict[str, float]]] = {}
    for _ in range(rounds):
        for name, efforts in there.items():
            for effort in efforts:
                told = _run(name, place, "search", str(effort)) | built[name]
                taken.setdefault((name, effort), []).append(told)
    shutil.rmtree(place)
    return taken


def _run(engine: str, place: Path, *arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.systems.searching", engine, str(place), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def _median(taken: list[dict[str, float]], key: str) -> str:
    return f"{sorted(one[key] for one in taken)[len(taken) // 2]:.3f}" if taken else "none"
