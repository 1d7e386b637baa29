"""zvec: HNSW over 8-bit rows in mapped files, refined with the exact ones."""

import zvec

VERSION_OF = "zvec"
CONFIGS = {"hnsw_i8": {"quantize": "INT8", "m": 32}}
METRIC = {"cosine": zvec.MetricType.COSINE, "l2": zvec.MetricType.L2}

zvec.init(query_threads=1, optimize_threads=1)


def efforts(config):
    return [{"ef": ef} for ef in (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 400)]


def build(base, metric, folder, quantize, m):
    index = zvec.HnswIndexParam(
        metric_type=METRIC[metric], m=m, ef_construction=200, quantize_type=getattr(zvec.QuantizeType, quantize)
    )
    vectors = zvec.VectorSchema("vector", zvec.DataType.VECTOR_FP32, base.shape[1], index_param=index)
    collection = zvec.create_and_open(str(folder / "zvec"), zvec.CollectionSchema(name="bench", vectors=vectors))
    for start in range(0, len(base), 1_000):
        rows = base[start : start + 1_000]
        collection.insert([zvec.Doc(id=str(start + n), vectors={"vector": row.tolist()}) for n, row in enumerate(rows)])
    collection.optimize()
    collection.flush()
    collection.close()


class Searcher:
    def __init__(self, folder, metric, dim, **_):
        self.collection = zvec.open(str(folder / "zvec"), zvec.CollectionOption(read_only=True, enable_mmap=True))

    def set(self, ef):
        # The exact rows refine what the codes found.
        self.param = zvec.HnswQueryParam(ef=ef, is_using_refiner=True)

    def search(self, vector, k):
        found = self.collection.query(zvec.Query(field_name="vector", vector=vector, param=self.param), topk=k)
        return [int(doc.id) for doc in found]
