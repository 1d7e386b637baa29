"""Vector search against brute force: recall@10 on real vectors, and that it is the indexes that answered."""

from __future__ import annotations

import pytest

import nuthatch

numpy = pytest.importorskip("numpy")


def fill(collection: nuthatch.Collection, vectors, batch: int = 20_000) -> None:
    for start in range(0, len(vectors), batch):
        rows = vectors[start : start + batch]
        collection.upsert(ids=[str(start + at) for at in range(len(rows))], vectors=rows)
    assert collection.wait_until_indexed()


def test_recall_on_50000_texts_is_at_least_99_percent(folder, data):
    """all-MiniLM vectors, cosine; the first 300 of the 1,000 questions with ground truth."""
    vectors = numpy.load(data / "text" / "docs50k_vec_f16.npy")
    questions = numpy.load(data / "text" / "queries1k_vec_f16.npy")[:300]
    truth = numpy.load(data / "text" / "queries1k_gt100_ids.npy")[:300, :10]
    with nuthatch.connect(folder) as db:
        texts = db.collection("texts", dim=384, metric="cosine", embedder="none")
        fill(texts, vectors)
        plan = texts.search(vector=questions[0], explain=True).explain["vector"]
        assert plan["segment_rows"] == len(vectors)
        found = [{int(hit.id) for hit in texts.search(vector=question, include=[])} for question in questions]
        recall = numpy.mean(
            [len(ids & set(expected.tolist())) / 10 for ids, expected in zip(found, truth, strict=True)]
        )
        print(f"recall@10 on {len(vectors)} texts: {recall:.4f}; plan {plan['plan']}, {plan['segments']} segments")
        assert recall >= 0.99


def test_recall_on_200000_sift_descriptors_is_at_least_99_percent(folder, data):
    """128 dimensions, L2; 200 questions, half from photos of the base and half from others; brute force here, in integers."""
    vectors = numpy.load(data / "sift" / "base_0.npy", mmap_mode="r")[:200_000]
    questions = numpy.concatenate(
        [numpy.load(data / "sift" / "query.npy", mmap_mode="r")[part] for part in (slice(0, 100), slice(-100, None))]
    )
    base = vectors.astype("f4")
    norms = (base * base).sum(axis=1)
    with nuthatch.connect(folder) as db:
        sift = db.collection("sift", dim=128, metric="l2", embedder="none")
        fill(sift, vectors)
        plan = sift.search(vector=questions[0], explain=True).explain["vector"]
        assert plan["segment_rows"] == len(vectors)
        right = 0
        for question in questions.astype("f4"):
            # Exact: every sum stays below 2^24.
            distances = norms - 2 * (base @ question) + question @ question
            tenth = numpy.partition(distances, 9)[9]
            found = [int(hit.id) for hit in sift.search(vector=question, include=[])]
            assert len(set(found)) == 10
            right += int((distances[found] <= tenth).sum())
        recall = right / (10 * len(questions))
        print(
            f"recall@10 on {len(vectors)} descriptors: {recall:.4f}; plan {plan['plan']}, {plan['segments']} segments"
        )
        assert recall >= 0.99


@pytest.mark.parametrize(("metric", "dim"), [("cosine", 7), ("dot", 64), ("l2", 33), ("cosine", 4096), ("l2", 2)])
def test_small_collections_agree_with_brute_force_for_every_metric_and_odd_dimensions(db, metric, dim):
    rng = numpy.random.default_rng(11)
    vectors = rng.standard_normal((600, dim)).astype("f4")
    points = db.collection("points", dim=dim, metric=metric, embedder="none")
    fill(points, vectors)
    for question in rng.standard_normal((20, dim)).astype("f4"):
        scores = {
            "cosine": vectors @ question / numpy.linalg.norm(vectors, axis=1),
            "dot": vectors @ question,
            "l2": -numpy.linalg.norm(vectors - question, axis=1),
        }[metric]
        best = set(numpy.argsort(-scores)[:10].tolist())
        assert {int(hit.id) for hit in points.search(vector=question)} == best
