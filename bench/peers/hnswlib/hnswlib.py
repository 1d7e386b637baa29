"""hnswlib: the graph of Malkov and Yashunin with float32 rows next to the links, all in RAM."""

import hnswlib

VERSION_OF = "hnswlib"
CONFIGS = {"M16": {"m": 16, "ef_construction": 200}}
SPACE = {"cosine": "ip", "l2": "l2"}


def efforts(config):
    return [{"ef": ef} for ef in (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 400, 600)]


def build(base, metric, folder, m, ef_construction):
    index = hnswlib.Index(space=SPACE[metric], dim=base.shape[1])
    index.init_index(max_elements=len(base), M=m, ef_construction=ef_construction, random_seed=1)
    index.set_num_threads(1)
    for start in range(0, len(base), 10_000):
        index.add_items(base[start : start + 10_000])
    index.save_index(str(folder / "index.bin"))


class Searcher:
    def __init__(self, folder, metric, dim, **_):
        self.index = hnswlib.Index(space=SPACE[metric], dim=dim)
        self.index.load_index(str(folder / "index.bin"))
        self.index.set_num_threads(1)

    def set(self, ef):
        self.index.set_ef(ef)

    def search(self, vector, k):
        return self.index.knn_query(vector, k)[0][0]
