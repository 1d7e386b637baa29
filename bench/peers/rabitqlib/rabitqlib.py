"""RaBitQ library: SymphonyQG (graph blocks with 1-bit codes of the neighbours) and inverted lists of multi-bit codes."""

import rabitqlib

VERSION_OF = "rabitqlib"
CONFIGS = {
    "symqg32": {"degree": 32, "bits": 0},
    "symqg32_q8": {"degree": 32, "bits": 8},
    "ivf_b5": {"bits": 5},
}
METRIC = {"cosine": "ip", "l2": "l2"}
FITTED_ON = 100_000


def efforts(config):
    if "degree" in config:
        return [{"ef": ef} for ef in (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 400, 600)]
    return [{"probes": probes} for probes in (4, 8, 16, 32, 64, 128, 256)]


def build(base, metric, folder, bits, degree=None):
    dim = base.shape[1]
    if degree:
        index = rabitqlib.SymqgIndex(dim, degree, METRIC[metric], bits)
        index.build(base, 200, 1)
    else:
        lists = 1 << round(4 * len(base) ** 0.5).bit_length() - 1
        clusters = rabitqlib.QGKMeans(dim, lists, num_threads=1)
        clusters.train(base)
        index = rabitqlib.IvfIndex(dim, len(base), lists, bits, METRIC[metric])
        index.build(base, clusters.centroids, clusters.assignments, 1)
    index.save(str(folder / "index.rabitq"))


class Searcher:
    def __init__(self, folder, metric, dim, bits, degree=None):
        kind = rabitqlib.SymqgIndex if degree else rabitqlib.IvfIndex
        self.index = kind.load(str(folder / "index.rabitq"))

    def set(self, ef=None, probes=None):
        self.effort = ef or probes

    def search(self, vector, k):
        return self.index.search(vector[None], k, self.effort)[0][0]
