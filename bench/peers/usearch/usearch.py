"""usearch: HNSW over float32 or 8-bit rows in one file."""

from usearch.index import Index

VERSION_OF = "usearch"
CONFIGS = {"f32": {"dtype": "f32"}, "i8": {"dtype": "i8"}}
METRIC = {"cosine": "cos", "l2": "l2sq"}


def efforts(config):
    return [{"expansion": ef} for ef in (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 400)]


def scaled(rows, metric, dtype):
    # usearch reads 8-bit rows of anything but cosine as they are; unit range is what it expects of a float.
    return rows / 256 if dtype == "i8" and metric == "l2" else rows


def build(base, metric, folder, dtype):
    index = Index(ndim=base.shape[1], metric=METRIC[metric], dtype=dtype)
    for start in range(0, len(base), 10_000):
        rows = scaled(base[start : start + 10_000], metric, dtype)
        index.add(range(start, start + len(rows)), rows, threads=1)
    index.save(str(folder / "index.usearch"))


class Searcher:
    def __init__(self, folder, metric, dim, dtype):
        self.index = Index.restore(str(folder / "index.usearch"))
        self.scale = lambda vector: scaled(vector, metric, dtype)

    def set(self, expansion):
        self.index.expansion_search = expansion

    def search(self, vector, k):
        return self.index.search(self.scale(vector), k, threads=1).keys
