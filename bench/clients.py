"""The cost of a server for a Python program: clients.py FOLDER

The question: how much longer is a search, and a batch of 1,000 records of 384 components, over HTTP than in the process, and how much of
that is the client's own? For comparison, the same requests by ``http.client`` with bodies made beforehand and answers not read further: what
any client has to pay; with vectors as base64, and as numbers.

Data: vectors of a normal distribution, seed 7. Half of the times and 90 % of them, in milliseconds. FOLDER: new; it lies on the disk whose fsync
counts (durability ``os`` leaves it out).
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import statistics
import subprocess
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import numpy
import nuthatch

ROWS, DIM, BATCHES, SEARCHES, GETS = 10_000, 384, 20, 400, 400


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    matrix = numpy.random.default_rng(7).standard_normal((ROWS, DIM)).astype("f4")
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}, {os.cpu_count()} CPUs")
    print(f"{'':44} {'half':>8} {'90 %':>8}")
    with nuthatch.connect(folder / "embedded") as db:
        measure("embedded", db, matrix)
    server = Server(folder / "served")
    try:
        with nuthatch.connect(server.url) as db:
            measure("over HTTP", db, matrix)
        raw(server.url, matrix)
    finally:
        server.stop()
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


def measure(face: str, db: nuthatch.Database, matrix: numpy.ndarray) -> None:
    points = db.collection("points", metric="l2", embedder="none")
    batches = batches_of(matrix)
    shown(f"{face}: upsert 1,000 x {DIM}", batches, lambda part: points.upsert(**part, durability="os"))
    points.optimize()
    questions = matrix[:SEARCHES] + numpy.float32(0.01)
    shown(f"{face}: search, 10 hits", questions, lambda question: points.search(vector=question, include=["payload"]))
    hundred = [questions[at : at + 100] for at in range(0, SEARCHES, 100)]
    shown(f"{face}: 100 searches at once", hundred, lambda some: points.search_many(vectors=some, include=["payload"]))
    kv = db.kv("keys", durability="os")
    shown(f"{face}: put a key of 100 bytes", range(GETS), lambda at: kv.put(str(at), b"x" * 100))
    shown(f"{face}: get it", range(GETS), lambda at: kv[str(at)])
    shown(f"{face}: a snapshot, taken and ended", range(GETS), lambda _: db.snapshot().close())
    shown(f"{face}: a transaction that reads and writes it", range(GETS), lambda _: db.transact(again, durability="os"))


def again(transaction: nuthatch.Transaction) -> None:
    keys = transaction.kv("keys")
    keys["0"] = keys["0"]


def raw(url: str, matrix: numpy.ndarray) -> None:
    connection = http.client.HTTPConnection(urlsplit(url).netloc)

    def ask(method: str, path: str, body: bytes | None = None) -> bytes:
        connection.request(method, path, body, {"content-type": "application/json"} if body else {})
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status < 300, said
        return said

    forms: dict[str, Callable[[numpy.ndarray], object]] = {
        "base64": lambda row: base64.b64encode(row.tobytes()).decode(),
        "numbers": lambda row: row.tolist(),
    }
    for form, written in forms.items():
        name = f"raw-{form}"
        ask("PUT", f"/v1/collections/{name}", b'{"embedder": "none", "metric": "l2"}')
        bodies = [
            json.dumps(
                {
                    "records": [
                        {"id": id, "vector": written(row), "payload": payload}
                        for id, row, payload in zip(part["ids"], part["vectors"], part["payloads"], strict=True)
                    ]
                }
            ).encode()
            for part in batches_of(matrix)
        ]
        print(f"{f'a batch in {form}: {len(bodies[0]) / 1e6:.2f} MB':44}")
        place = f"/v1/collections/{name}"
        shown(
            f"raw, {form}: upsert",
            bodies,
            lambda body, place=place: ask("POST", f"{place}/records?durability=os", body),
        )
        ask("POST", f"{place}/optimize", b"{}")
        questions = [
            json.dumps({"vector": written(row), "include": ["payload"]}).encode()
            for row in matrix[:SEARCHES] + numpy.float32(0.01)
        ]
        shown(
            f"raw, {form}: search, 10 hits", questions, lambda body, place=place: ask("POST", f"{place}/search", body)
        )
    shown("raw: get a key of 100 bytes", range(GETS), lambda at: ask("GET", f"/v1/keyspaces/keys/keys/{at}"))


def batches_of(matrix: numpy.ndarray) -> list[dict[str, object]]:
    starts = [at * 1000 % ROWS for at in range(BATCHES)]
    return [
        {
            "ids": [f"r{at}" for at in range(start, start + 1000)],
            "vectors": matrix[start : start + 1000],
            "payloads": [{"n": at} for at in range(start, start + 1000)],
        }
        for start in starts
    ]


def shown(what: str, given: object, call: Callable[..., object]) -> None:
    times = []
    for each in given:  # type: ignore[attr-defined]
        started = time.perf_counter()
        call(each)
        times.append((time.perf_counter() - started) * 1000)
    deciles = statistics.quantiles(times, n=10)
    print(f"{what:44} {statistics.median(times):8.2f} {deciles[8]:8.2f}", flush=True)


class Server:
    """``nuthatch serve`` of a folder."""

    def __init__(self, folder: Path) -> None:
        command = Path(sysconfig.get_path("scripts"), "nuthatch")
        flags = ["--data-dir", str(folder), "--listen", "127.0.0.1:0", "--log-format", "json"]
        self._process = subprocess.Popen([command, "serve", *flags], stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if "listening at " in line:
                self.url = line.partition("listening at ")[2].partition('"')[0]
            if '"ready"' in line:
                break
        # Nobody reads a line a request.
        subprocess.Popen(["cat"], stdin=self._process.stderr, stdout=subprocess.DEVNULL)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


if __name__ == "__main__":
    main()
