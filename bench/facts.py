"""What do facts cost to record, to find, to keep up and to ask as a network?

Question: how many facts a second does one writer record, with and without sources, one a call and many, alone and in batches with
their records, each call durable? How many edges of a graph? How long does a question about one subject take? How long do settling,
paths, ranks and communities take, and what does the folder hold for a fact?

Data: random facts between N entities, two for each passage of a collection of N/2 passages; relations by a power law, so that there
are hubs. Seed: 7.

    python -m bench.facts [N]          # default 50,000 facts
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import nuthatch
from nuthatch import Edge, Facts, NewFact

T = TypeVar("T")

RELATIONS = ["knows", "works_at", "cites", "part_of", "near"]
AT_ONCE = 1_000


def timed(what: str, call: Callable[[], T], each: int = 0) -> T:
    """Prints how long a call takes, and how many things a second that is."""
    began = time.perf_counter()
    answer = call()
    took = time.perf_counter() - began
    rate = f", {each / took:,.0f} a second" if each else ""
    print(f"{what:<46} {took * 1000:10,.1f} ms{rate}")
    return answer


def main() -> None:
    facts_count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    dice = random.Random(7)
    entities = facts_count // 5
    name = [f"entity {at}" for at in range(entities)]

    def one(at: int) -> NewFact:
        subject = name[int(entities * dice.random() ** 3)]
        return NewFact(
            subject,
            dice.choice(RELATIONS),
            name[dice.randrange(entities)],
            valid_from=f"20{dice.randrange(10, 26)}-01-01",
            sources=[("passages", str(at // 2))],
            extractor="bench:1",
        )

    with tempfile.TemporaryDirectory() as folder, nuthatch.connect(folder) as db:
        passages = db.collection("passages", embedder="none")
        passages.upsert({"id": str(at), "text": f"passage {at} says two things"} for at in range(facts_count // 2))
        facts = db.facts("bench")
        new = [one(at) for at in range(facts_count)]

        def record() -> None:
            for at in range(0, facts_count, AT_ONCE):
                facts.add_many(new[at : at + AT_ONCE])

        timed(f"record {facts_count:,} facts, {AT_ONCE:,} a call", record, facts_count)
        timed("record 200 facts, one a call", lambda: [facts.add("a", "b", str(at)) for at in range(200)], 200)

        alone = [NewFact(one.subject, one.predicate, one.object, valid_from=one.valid_from) for one in new]
        for size in (100, 1_000, 5_000):
            some = alone[: size * 4] if size < 1_000 else alone
            plain = db.facts(f"plain-{size}")

            def without_sources(plain: Facts = plain, some: list[NewFact] = some, size: int = size) -> None:
                for at in range(0, len(some), size):
                    plain.add_many(some[at : at + size])

            timed(f"record {len(some):,} without sources, {size:,} a call", without_sources, len(some))

        def in_batches() -> None:
            for at in range(0, facts_count // 5, AT_ONCE):
                with db.batch() as batch:
                    many = range(at, at + AT_ONCE)
                    batch.collection("passages").upsert({"id": f"b{one}", "text": f"batch {one}"} for one in many)
                    pending = batch.facts("batched")
                    pending.add_many(NewFact(f"b{one}", "is", "new", sources=[("passages", f"b{one}")]) for one in many)

        timed(f"{facts_count // 5:,} records with a fact each, in batches", in_batches, facts_count // 5)
        graph = db.graph("edges")
        edges = [Edge(one.subject, one.predicate, f"{one.object} {at}") for at, one in enumerate(alone)]
        for size in (1, 100, 1_000):
            some_edges = edges[:200] if size == 1 else edges

            def put(some: list[Edge] = some_edges, size: int = size) -> None:
                for at in range(0, len(some), size):
                    graph.put_edges(some[at : at + size])

            timed(f"put {len(some_edges):,} edges of a graph, {size:,} a call", put, len(some_edges))
        times = []
        for _ in range(500):
            subject = name[dice.randrange(entities)]
            began = time.perf_counter()
            facts.find(subject)
            times.append((time.perf_counter() - began) * 1000)
        times.sort()
        print(f"{'find one subject, p50 and p99':<46} {statistics.median(times):10.3f} and {times[494]:.3f} ms")
        timed("find the largest hub", lambda: facts.find(name[0], limit=10_000))
        timed("settle, nothing is gone", facts.settle, facts_count)
        passages.delete([str(at) for at in range(0, facts_count // 2, 10)])
        print(f"{'settle, a tenth of the passages is gone':<46} {timed('', facts.settle, facts_count):10,} ended")
        timed("path between two entities", lambda: facts.paths(name[1], name[entities - 1]))
        timed("5 paths, by strength", lambda: facts.paths(name[1], name[entities - 1], count=5, cost="strength"))
        timed("PageRank", facts.rank)
        timed("components", facts.groups)
        timed("communities", lambda: facts.groups("communities"))
        timed("extract links of all passages", lambda: facts.extract("passages"), facts_count // 2)
        timed("extract links again", lambda: facts.extract("passages"), facts_count // 2)
        db.reclaim()
        stored = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        print(f"{'on disk, passages included':<46} {stored / facts_count:10,.0f} bytes a fact")


if __name__ == "__main__":
    main()
