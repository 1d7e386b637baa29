"""The whole engine through its Python module: write, seal, merge; then one search a call as a program makes it.

Durability `commit`: every call of 1,000 records is fsynced before it returns. The default memory budget; `engine_mapped` maps what a graph
walk reads, for machines with memory to spare.
"""

import nuthatch

VERSION_OF = None
CONFIGS = {"engine": {"mapped": False}, "engine_mapped": {"mapped": True}}


def efforts(config):
    return [{"recall": recall} for recall in (0.9, 0.95, 0.98, 0.99, 0.995)]


def build(base, metric, folder, mapped):
    with nuthatch.connect(folder / "nuthatch") as database:
        rows = database.collection("bench", dim=base.shape[1], metric=metric, embedder="none")
        for start in range(0, len(base), 1_000):
            batch = base[start : start + 1_000]
            rows.upsert(ids=[str(start + number) for number in range(len(batch))], vectors=batch)
        rows.optimize()


class Searcher:
    def __init__(self, folder, metric, dim, mapped):
        self.database = nuthatch.connect(folder / "nuthatch", create=False, mapped=mapped)
        self.rows = self.database.collection("bench")

    def set(self, recall):
        self.recall = recall

    def search(self, vector, k):
        return [int(hit.id) for hit in self.rows.search(vector=vector, limit=k, include=(), recall=self.recall)]
