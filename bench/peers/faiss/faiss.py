"""faiss: HNSW over float32 and over 8-bit rows, and inverted lists of RaBitQ codes with an 8-bit re-rank."""

import faiss

VERSION_OF = "faiss-cpu"
CONFIGS = {
    "HNSW32": {"factory": "HNSW32,Flat"},
    "HNSW32_SQ8": {"factory": "HNSW32,SQ8"},
    "IVFRaBitQfs_R8": {"factory": "IVF{lists},RaBitQfs,Refine(SQ8)"},
}
METRIC = {"cosine": faiss.METRIC_INNER_PRODUCT, "l2": faiss.METRIC_L2}
FITTED_ON = 100_000

faiss.omp_set_num_threads(1)


def efforts(config):
    if "IVF" not in config["factory"]:
        return [{"ef": ef} for ef in (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 400)]
    probes = (4, 8, 16, 32, 64, 128, 256)
    return [{"probes": probe, "refine": refine} for probe in probes for refine in (4, 10, 20)]


def build(base, metric, folder, factory):
    # Four times the square root of the rows, as faiss advises.
    lists = 1 << round(4 * len(base) ** 0.5).bit_length() - 1
    index = faiss.index_factory(base.shape[1], factory.format(lists=lists), METRIC[metric])
    if "HNSW" in factory:
        index.hnsw.efConstruction = 200
    index.train(base[:FITTED_ON])
    for start in range(0, len(base), 10_000):
        index.add(base[start : start + 10_000])
    faiss.write_index(index, str(folder / "index.faiss"))


class Searcher:
    def __init__(self, folder, metric, dim, factory):
        self.index = faiss.read_index(str(folder / "index.faiss"))

    def set(self, ef=None, probes=None, refine=None):
        if ef:
            self.index.hnsw.efSearch = ef
        else:
            self.index.k_factor = refine
            faiss.extract_index_ivf(self.index.base_index).nprobe = probes

    def search(self, vector, k):
        return self.index.search(vector[None], k)[1][0]
