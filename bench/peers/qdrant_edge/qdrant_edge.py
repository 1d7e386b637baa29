"""Qdrant Edge: HNSW over 2-bit TurboQuant codes in mapped files, originals cold on disk for the re-rank."""

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeOptimizersConfig,
    EdgeShard,
    EdgeVectorParams,
    HnswIndexConfig,
    Memory,
    Point,
    QuantizationSearchParams,
    Query,
    SearchParams,
    SearchRequest,
    TurboQuantBitSize,
    TurboQuantQuantizationConfig,
    UpdateOperation,
)

VERSION_OF = "qdrant-edge-py"
CONFIGS = {"tq2_disk": {"bits": "Bits2"}, "tq4_disk": {"bits": "Bits4"}}
DISTANCE = {"cosine": Distance.Cosine, "l2": Distance.Euclid}


def efforts(config):
    pairs = [
        (16, 2),
        (32, 2),
        (32, 4),
        (48, 2),
        (48, 4),
        (64, 2),
        (64, 4),
        (64, 8),
        (96, 3),
        (96, 4),
        (128, 3),
        (128, 6),
        (200, 4),
        (256, 8),
        (400, 12),
    ]
    return [{"ef": ef, "oversampling": oversampling} for ef, oversampling in pairs]


def build(base, metric, folder, bits):
    vectors = EdgeVectorParams(
        size=base.shape[1],
        distance=DISTANCE[metric],
        memory=Memory.Cold,
        hnsw_config=HnswIndexConfig(
            m=16, ef_construct=128, full_scan_threshold=10_000, max_indexing_threads=1, memory=Memory.Cached
        ),
        quantization_config=TurboQuantQuantizationConfig(bits=getattr(TurboQuantBitSize, bits), memory=Memory.Cached),
    )
    one_segment = EdgeOptimizersConfig(default_segment_number=1, max_segment_size=1 << 40, indexing_threshold=1_000)
    path = folder / "shard"
    path.mkdir()
    shard = EdgeShard.create(
        str(path), EdgeConfig(vectors=vectors, optimizers=one_segment, max_search_threads=1, wal_enabled=False)
    )
    for start in range(0, len(base), 1_000):
        rows = base[start : start + 1_000]
        points = [Point(start + number, row.tolist()) for number, row in enumerate(rows)]
        shard.update(UpdateOperation.upsert_points(points))
    shard.optimize()
    shard.flush()
    shard.close()


class Searcher:
    def __init__(self, folder, metric, dim, bits):
        self.shard = EdgeShard.load(str(folder / "shard"))

    def set(self, ef, oversampling):
        quantized = QuantizationSearchParams(rescore=True, oversampling=float(oversampling))
        self.params = SearchParams(hnsw_ef=ef, quantization=quantized)

    def search(self, vector, k):
        request = SearchRequest(Query.Nearest(vector.tolist()), k, params=self.params)
        return [point.id for point in self.shard.search(request)]
