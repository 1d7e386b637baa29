"""DiskANN (C++): product codes in RAM, one disk sector for each vertex with its exact row and its edges."""

import diskannpy
import numpy as np

VERSION_OF = "diskannpy"
CONFIGS = {"disk_pq": {"degree": 64, "code_bytes": None}}


def efforts(config):
    return [{"complexity": complexity} for complexity in (12, 16, 24, 32, 48, 64, 96, 128, 200)]


def build(base, metric, folder, degree, code_bytes):
    # Rows of unit length are in the same order by distance as by cosine.
    budget_gb = len(base) * (code_bytes or base.shape[1] // 8) / (1 << 30)
    diskannpy.build_disk_index(
        data=np.ascontiguousarray(base),
        distance_metric="l2",
        index_directory=str(folder),
        complexity=100,
        graph_degree=degree,
        search_memory_maximum=budget_gb,
        build_memory_maximum=8.0,
        num_threads=1,
        pq_disk_bytes=0,
    )
    # A copy of the input, which no search reads.
    (folder / "ann_vectors.bin").unlink()


class Searcher:
    def __init__(self, folder, metric, dim, **_):
        # One search at a time uses one of them; with one alone, opening waits for ever.
        self.index = diskannpy.StaticDiskIndex(str(folder), num_threads=2, num_nodes_to_cache=0)

    def set(self, complexity):
        self.complexity = complexity

    def search(self, vector, k):
        return self.index.search(vector, k, self.complexity, beam_width=4).identifiers
