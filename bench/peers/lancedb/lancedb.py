"""LanceDB: inverted lists of product codes, re-ranked from columns on disk."""

import lancedb
import pyarrow

VERSION_OF = "lancedb"
CONFIGS = {"ivf_pq": {"kind": "IVF_PQ"}, "ivf_rq": {"kind": "IVF_RQ"}}


def efforts(config):
    return [{"probes": probes, "refine": refine} for probes in (4, 8, 16, 32, 64) for refine in (4, 10)]


def build(base, metric, folder, kind):
    dim = base.shape[1]

    def batches():
        for start in range(0, len(base), 10_000):
            rows = base[start : start + 10_000]
            vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.reshape(-1)), dim)
            ids = pyarrow.array(range(start, start + len(rows)), pyarrow.int64())
            yield pyarrow.record_batch([ids, vectors], names=["id", "vector"])

    fields = [("id", pyarrow.int64()), ("vector", pyarrow.list_(pyarrow.field("item", pyarrow.float32()), dim))]
    database = lancedb.connect(str(folder / "lance"))
    table = database.create_table("bench", batches(), schema=pyarrow.schema(fields))
    lists = 1 << round(len(base) ** 0.5).bit_length() - 1
    quantiser = {"num_sub_vectors": dim // 8} if kind == "IVF_PQ" else {"num_bits": 1}
    table.create_index(metric=metric, num_partitions=lists, index_type=kind, **quantiser)


class Searcher:
    def __init__(self, folder, metric, dim, kind):
        self.table = lancedb.connect(str(folder / "lance")).open_table("bench")
        self.metric = metric

    def set(self, probes, refine):
        self.probes, self.refine = probes, refine

    def search(self, vector, k):
        query = self.table.search(vector).distance_type(self.metric).nprobes(self.probes).refine_factor(self.refine)
        return query.select(["id", "_distance"]).limit(k).to_arrow()["id"].to_pylist()
