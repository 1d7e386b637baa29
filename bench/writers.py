"""How much memory do concurrent writers take, and how much stays? `python -m bench.writers [WRITERS] [ROWS A CALL]`.

Data: made here, seeds 0 to 7: 24,000 records with a text of 60 words and a vector of 384 dimensions, written in equal parts by threads of
this process under a budget of 64 MiB. Each writer makes its next batch when the one before is written, so that callers hold a batch each.
"""

import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import nuthatch

ROWS = 24_000
DIM = 384
WORDS = 60
QUIET_SECONDS = 12
MIB = 1 << 20


def main(writers: int = 8, rows_a_call: int = 3_000) -> None:
    vocabulary = [
        f"{word}{number}" for word in ("stone", "river", "wood", "light", "moss", "fern") for number in range(256)
    ]
    with tempfile.TemporaryDirectory() as folder, nuthatch.connect(folder, memory_budget="64MiB") as db:
        notes = db.collection("notes", dim=DIM, embedder=None)
        print(f"when empty: {anonymous() // MIB} MiB of anonymous memory")
        peak = Peak()

        def write(writer: int) -> None:
            words, numbers = random.Random(writer), np.random.default_rng(writer)
            for first in range(0, ROWS // writers, rows_a_call):
                rows = range(first, min(first + rows_a_call, ROWS // writers))
                notes.upsert(
                    {
                        "id": f"{writer}-{row}",
                        "text": " ".join(words.choices(vocabulary, k=WORDS)),
                        "vector": numbers.standard_normal(DIM, dtype=np.float32),
                    }
                    for row in rows
                )

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
        began, cpu = time.monotonic(), time.process_time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds, cpu = time.monotonic() - began, time.process_time() - cpu
        print(
            f"{writers} writers, {rows_a_call} rows a call: {ROWS / seconds:.0f} rows/s, {cpu:.1f} s of processor time"
        )
        print(f"at most: {peak.end() // MIB} MiB")
        time.sleep(QUIET_SECONDS)
        memory = db.stats().memory
        print(f"{QUIET_SECONDS} s later: {anonymous() // MIB} MiB, of them {memory.heap_free_bytes // MIB} free")


def anonymous() -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("RssAnon"))


class Peak:
    """The most anonymous memory until `end`."""

    def __init__(self) -> None:
        self.most, self.ended = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self) -> None:
        while not self.ended.wait(0.005):
            self.most = max(self.most, anonymous())

    def end(self) -> int:
        self.ended.set()
        self.thread.join()
        return self.most


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
