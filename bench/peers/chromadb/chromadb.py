"""Chroma: a persistent client over hnswlib, rows and their log in SQLite."""

import chromadb
from chromadb.api.shared_system_client import SharedSystemClient

VERSION_OF = "chromadb"
CONFIGS = {"hnsw": {}}
SPACE = {"cosine": "ip", "l2": "l2"}
SETTINGS = chromadb.Settings(anonymized_telemetry=False)


def efforts(config):
    return [{"ef": ef} for ef in (10, 32, 64, 128, 256)]


def build(base, metric, folder):
    client = chromadb.PersistentClient(str(folder / "chroma"), settings=SETTINGS)
    graph = {"space": SPACE[metric], "ef_construction": 200, "max_neighbors": 16, "num_threads": 1}
    collection = client.create_collection("bench", embedding_function=None, configuration={"hnsw": graph})
    for start in range(0, len(base), 5_000):
        rows = base[start : start + 5_000]
        collection.add(ids=[str(start + number) for number in range(len(rows))], embeddings=rows)


class Searcher:
    def __init__(self, folder, metric, dim):
        self.path = str(folder / "chroma")

    def set(self, ef):
        # Read when the collection is loaded, and never again.
        client = chromadb.PersistentClient(self.path, settings=SETTINGS)
        client.get_collection("bench", embedding_function=None).modify(configuration={"hnsw": {"ef_search": ef}})
        SharedSystemClient.clear_system_cache()
        client = chromadb.PersistentClient(self.path, settings=SETTINGS)
        self.collection = client.get_collection("bench", embedding_function=None)

    def search(self, vector, k):
        found = self.collection.query(query_embeddings=vector[None], n_results=k, include=[])
        return [int(name) for name in found["ids"][0]]
