"""What do the calls of a cache cost, by how many answers its scope has?

    python bench/cache.py 1000 10000 100000

Answers of 210 bytes, prompts of one scope, vectors of 384 components that the caller brings, durability "os". Vectors are random, so a
lookup by meaning finds nothing; the first one of a scope reads its vectors into memory. Seed 7. Times are of the call from Python; the
processor time is of the whole process, user and system.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable

import nuthatch

DIM = 384
LOOKUPS = 2000
MEANINGS = 300


def main() -> None:
    print("answers  call       p50 µs    p99 µs    CPU µs  load")
    for count in map(int, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder, nuthatch.connect(f"{folder}/memory") as db:
            measure(db.cache("answers", budget=0.05, durability="os"), count)


def measure(cache: nuthatch.Cache, count: int) -> None:
    chance = random.Random(7)

    def vector() -> list[float]:
        return [chance.gauss(0, 1) for _ in range(DIM)]

    vectors = [vector() for _ in range(300)]

    def prompt(at: int) -> str:
        return f"what does part number {at} of the machine do"

    def store(at: int) -> None:
        cache.store(prompt(at), "answer " * 30, vector=vectors[at % len(vectors)])

    def look(at: int, form: Callable[[str], str], tier: str) -> None:
        hit = cache.check(form(prompt(at)))
        assert hit is not None
        assert hit.tier == tier

    timed("store", count, store, range(count))
    some = [chance.randrange(count) for _ in range(LOOKUPS)]
    timed("exact", count, lambda at: look(at, str, "exact"), some)
    timed("canonical", count, lambda at: look(at, lambda text: text.capitalize() + "?", "canonical"), some)
    asked = [vector() for _ in range(MEANINGS)]

    def look_near(at: int) -> None:
        assert cache.check(f"quite another question {at}", vector=asked[at]) is None

    timed("first", count, look_near, range(1))
    timed("semantic", count, look_near, range(1, MEANINGS))


def timed(name: str, count: int, call: Callable[[int], object], numbers: range | list[int]) -> None:
    took = []
    cpu = time.process_time()
    for number in numbers:
        begun = time.perf_counter()
        call(number)
        took.append((time.perf_counter() - begun) * 1e6)
    cpu = (time.process_time() - cpu) / len(took) * 1e6
    took.sort()
    p50, p99 = (took[int(len(took) * share)] for share in (0.5, 0.99))
    print(f"{count:>7}  {name:<9} {p50:>8.0f}  {p99:>8.0f}  {cpu:>8.0f}  {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
