"""Retrieval quality, pinned: a change of ranking is a visible difference of a checked-in file.

``NUTHATCH_UPDATE_BASELINES=1`` writes ``quality_baseline.json`` anew. ``NUTHATCH_LONG=1`` embeds the collections with
judgements itself instead of taking the stored vectors of their documents.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import defaultdict
from pathlib import Path

import pytest
from ranking import mean, ndcg_at_10
from support import REPOSITORY

import nuthatch

numpy = pytest.importorskip("numpy")

BASELINE = Path(__file__).with_name("quality_baseline.json")
LONG = os.environ.get("NUTHATCH_LONG") == "1"
MODES = ("text", "vector", "hybrid")
#: BM25 is arithmetic; the quantised model may round differently on another processor.
TOLERANCE = {"text": 0.001, "vector": 0.01, "hybrid": 0.01}


def pinned(name: str, measured: dict[str, float]) -> None:
    """Compares with the checked-in figures, or writes them."""
    print(name, {mode: round(figure, 4) for mode, figure in measured.items()})
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    if os.environ.get("NUTHATCH_UPDATE_BASELINES") == "1":
        baseline[name] = {mode: round(figure, 4) for mode, figure in measured.items()}
        BASELINE.write_text(json.dumps(baseline, indent=2, sort_keys=True) + "\n")
    for mode, figure in measured.items():
        assert figure == pytest.approx(baseline[name][mode], abs=TOLERANCE[mode]), (
            f"{name}, {mode}: nDCG@10 is {figure:.4f}, the baseline {baseline[name][mode]:.4f}; "
            "if the change is meant, run with NUTHATCH_UPDATE_BASELINES=1 and say why in the changelog"
        )


def files_of(results: nuthatch.Results, root: Path) -> list[str]:
    """The files of the passages found, best first, each once."""
    return list(dict.fromkeys(str(Path(hit.payload["path"]).relative_to(root)) for hit in results))


def corpus_figures(db: nuthatch.Database, modes: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """By kind of question (keyword, paraphrase, code) and over all of them, per mode."""
    root = (REPOSITORY / "examples" / "corpus").resolve()
    lines = (REPOSITORY / "examples" / "corpus-queries.jsonl").read_text().splitlines()
    documents = db.collection("documents")
    figures: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for question in map(json.loads, lines):
        for mode in modes:
            found = files_of(documents.search(question["query"], limit=50, mode=mode), root)
            figure = ndcg_at_10(found, question["relevant"])
            for kind in (question["kind"], "all"):
                figures[kind][mode].append(figure)
    return {kind: {mode: mean(of_mode) for mode, of_mode in of_kind.items()} for kind, of_kind in figures.items()}


def test_the_sample_corpus_is_ranked_by_words_as_well_as_before(db):
    db.add(REPOSITORY / "examples" / "corpus", db.collection("documents", embedder="none"))
    pinned("corpus, all by words", corpus_figures(db, ("text",))["all"])


@pytest.mark.usefixtures("default_model")
def test_the_sample_corpus_is_ranked_as_well_as_before_for_every_kind_of_question(db):
    db.add(REPOSITORY / "examples" / "corpus", wait=True)
    figures = corpus_figures(db, MODES)
    for kind, of_kind in sorted(figures.items()):
        pinned(f"corpus, {kind}", of_kind)
        assert of_kind["hybrid"] >= of_kind["text"]
    keyword = figures["keyword"]
    assert keyword["hybrid"] >= max(keyword["text"], keyword["vector"])


def load(folder: Path) -> tuple[list[dict[str, str]], dict[str, str], dict[str, dict[str, int]]]:
    """Documents, questions by id, judgements by question."""
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    questions = {
        question["_id"]: question["text"]
        for question in map(json.loads, (folder / "queries_test.jsonl").read_text(encoding="utf-8").splitlines())
    }
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels_test.tsv").read_text().splitlines()[1:]:
        question, document, score = line.split("\t")
        judged[question][document] = int(score)
    return documents, questions, judged


def beir_figures(db: nuthatch.Database, folder: Path, embedder: str = "default") -> dict[str, float]:
    documents, questions, judged = load(folder)
    collection = db.collection(folder.name, embedder=embedder)
    vectors = None if LONG or embedder != "default" else numpy.load(folder / "corpus_vec_f16.npy")
    for start in range(0, len(documents), 1000):
        batch = documents[start : start + 1000]
        collection.upsert(
            ids=[document["_id"] for document in batch],
            texts=[f"{document['title']} {document['text']}" for document in batch],
            vectors=None if vectors is None else vectors[start : start + 1000],
        )
    collection.wait_until_indexed()
    return {
        mode: mean(
            ndcg_at_10([hit.id for hit in collection.search(questions[question], mode=mode, include=[])], judgements)
            for question, judgements in judged.items()
        )
        for mode in MODES
    }


@pytest.mark.usefixtures("default_model")
def test_scifact_is_ranked_at_least_as_well_as_published(db, data):
    figures = beir_figures(db, data / "beir" / "scifact")
    pinned("scifact, embedded here" if LONG else "scifact", figures)
    assert figures["text"] >= 0.675
    assert figures["hybrid"] >= 0.70
    assert figures["hybrid"] >= max(figures["text"], figures["vector"])


@pytest.mark.usefixtures("default_model")
def test_cranfield_is_ranked_at_least_as_well_as_the_reference_fusion(db, data):
    figures = beir_figures(db, data / "beir" / "cranfield")
    pinned("cranfield, embedded here" if LONG else "cranfield", figures)
    assert figures["hybrid"] >= 0.40
    assert figures["hybrid"] >= max(figures["text"], figures["vector"])


@pytest.mark.usefixtures("installed_static_model")
def test_the_static_model_is_ranked_as_well_as_before(db, data):
    for name in ("scifact", "cranfield"):
        pinned(f"{name}, static", beir_figures(db, data / "beir" / name, "static"))


@pytest.mark.usefixtures("installed_static_model")
def test_the_static_model_ranks_the_sample_corpus_as_well_as_before(db):
    db.add(REPOSITORY / "examples" / "corpus", db.collection("documents", embedder="static"))
    for kind, of_kind in sorted(corpus_figures(db, MODES).items()):
        pinned(f"corpus, {kind}, static", of_kind)
