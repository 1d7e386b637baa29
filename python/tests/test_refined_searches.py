"""Searches that group their hits, or leave out those with a bad score: as a naive choice among all hits, page by page."""

from __future__ import annotations

import random

import pytest

import nuthatch

WAYS = (
    {"vector": [0.3, 0.9]},
    {"text": "fish", "mode": "text"},
    {"text": "fish", "vector": [0.3, 0.9]},
    {"text": "fish whale", "vector": [0.9, 0.1], "fusion": "weighted", "where": "n < 400"},
)


def test_misspelt_and_unfinished_words_find_what_was_meant(db, notes):
    texts = [
        "The kingfisher waits above clear water.",
        "The heron stands in the water.",
        "Invoice A2024",
        "Invoice A2025",
    ]
    notes.upsert(ids=["k", "h", "a", "b"], texts=texts)
    ids = lambda text, **how: [hit.id for hit in notes.search(text, mode="text", **how)]  # noqa: E731
    for indexed in (False, True):
        if indexed:
            notes.wait_until_indexed()
        assert ids("kingfihser") == [] and ids("kingfihser", fuzzy=True) == ["k"]
        assert ids("invoice A2024", fuzzy=True) == ["a", "b"]
        assert ids("hero") == [] and ids("hero", prefix=True) == ["h"]
        assert ids("hero ", prefix=True) == []
        assert ids("kingfihser wat", fuzzy=True, prefix=True)[0] == "k"
        with db.snapshot() as moment:
            assert [hit.id for hit in moment.collection("notes").search("heran", fuzzy=True, mode="text")] == ["h"]


def test_phrases_restrict_a_search_to_texts_that_have_them(db, notes):
    texts = ["The king of the birds.", "Birds of the king", "the King, of: the birds", "of the kings"]
    notes.upsert(ids=["a", "b", "c", "d"], texts=texts, vectors=[[1, n] for n in range(4)])
    ids = lambda **how: [hit.id for hit in notes.search(vector=[1, 0], **how)]  # noqa: E731
    for indexed in (False, True):
        if indexed:
            notes.wait_until_indexed()
        assert ids(phrases=["king of the birds"]) == ["a", "c"]
        assert ids(phrases=["of the", "king"]) == ["a", "b", "c"]
        assert ids(phrases=["king of the birds"], limit=1) == ["a"]
    with pytest.raises(nuthatch.InvalidError, match="no words"):
        ids(phrases=["?"])


@pytest.fixture
def shelf(db):
    """600 passages of 40 files: few long files that fill the first hits, and many short ones."""
    dice = random.Random(7)
    made = db.collection("shelf", dim=2, embedder="none")
    records = []
    for n in range(600):
        far = dice.random()
        # The first hits are nearly all of two files.
        path = f"f{n % 2}" if far < 0.75 else f"f{2 + n % 38}"
        payload: dict[str, object] = {"n": n, "path": path, "tags": [f"t{n % 5}", f"t{n % 7}"]}
        if n % 50 == 0:
            del payload["path"]
        words = "fish " * (1 + int(5 * (1 - far))) + ("whale" if n % 3 else "bird")
        records.append({"id": f"r{n}", "text": words, "vector": [0.3 + far, 0.9 - far / 2], "payload": payload})
    made.upsert(records[:400])
    made.optimize()
    made.upsert(records[400:])
    made.delete([f"r{n}" for n in range(0, 600, 11)])
    return made


def grouped(hits, field: str) -> list[str]:
    """The best hit of each group; no two share a value."""
    seen: set[object] = set()
    best = []
    for hit in hits:
        found = hit.payload.get(field)
        values = {None} if found is None or found == [] else set(found) if isinstance(found, list) else {found}
        if not values & seen:
            seen |= values
            best.append(hit.id)
    return best


@pytest.mark.parametrize("field", ["path", "tags"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way))
def test_groups_are_the_best_of_each_value_and_fill_the_limit_page_by_page(db, shelf, way, field):
    everything = grouped(shelf.search(**way, limit=1000), field)
    with db.snapshot() as moment, db.transaction() as transaction:
        for asked in (shelf, moment.collection("shelf"), transaction.collection("shelf")):
            for limit in (1, 7, 30, 100):
                found = [hit.id for hit in asked.search(**way, limit=limit, group_by=field)]
                assert found == everything[:limit], (way, field, limit)
    pages, cursor = [], None
    while True:
        page = shelf.search(**way, limit=6, cursor=cursor, group_by=field)
        pages += [hit.id for hit in page]
        if (cursor := page.cursor) is None:
            break
    assert pages == everything


def test_groups_past_ten_thousand_candidates_are_found(db):
    made = db.collection("one-large-file", dim=2, embedder="none")
    paths = ["large"] * 10_050 + [f"small{n}" for n in range(20)]
    made.upsert(
        ids=[str(n) for n in range(len(paths))],
        vectors=[[1.0, n / 50_000] for n in range(len(paths))],
        payloads=[{"path": path} for path in paths],
        durability="os",
    )
    found = made.search(vector=[1.0, 0.0], limit=15, group_by="path", exact=True)
    assert [hit.payload["path"] for hit in found] == ["large", *[f"small{n}" for n in range(14)]]
    after = made.search(vector=[1.0, 0.0], limit=15, group_by="path", exact=True, cursor=found.cursor)
    assert [hit.payload["path"] for hit in after] == [f"small{n}" for n in range(14, 20)]
    assert after.cursor is None


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way))
def test_a_threshold_leaves_out_what_scores_worse_and_nothing_else(shelf, way):
    everything = shelf.search(**way, limit=1000)
    for at in (0, 5, 60):
        threshold = everything[at].score
        expected = [hit.id for hit in everything if hit.score >= threshold]
        assert [hit.id for hit in shelf.search(**way, limit=1000, score_threshold=threshold)] == expected
        page = shelf.search(**way, limit=5, score_threshold=threshold)
        assert [hit.id for hit in page] == expected[:5]
        assert (page.cursor is None) == (len(expected) < 5)
    both = shelf.search(**way, limit=1000, score_threshold=everything[60].score, group_by="path")
    assert [hit.id for hit in both] == grouped([hit for hit in everything if hit.score >= everything[60].score], "path")


def test_of_distances_the_greater_ones_are_left_out(db):
    places = db.collection("places", dim=2, metric="l2", embedder="none")
    places.upsert(ids=["near", "far"], vectors=[[0, 1], [3, 4]])
    assert [hit.id for hit in places.search(vector=[0, 0], score_threshold=1.0)] == ["near"]
    assert len(places.search(vector=[0, 0], score_threshold=5.0)) == 2
    assert len(places.search(vector=[0, 0], score_threshold=0.5)) == 0


def test_a_wrong_wish_is_refused_with_its_name(shelf):
    for wish, named in (
        ({"group_by": "paht"}, "paht.*path"),
        ({"group_by": 5}, "group_by"),
        ({"score_threshold": "much"}, "score_threshold"),
        ({"score_threshold": float("inf")}, "score_threshold"),
    ):
        with pytest.raises(nuthatch.InvalidError, match=named):
            shelf.search("fish", mode="text", **wish)
