"""Several vectors a record: what is stored, searched, exported and refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

import numpy
import pytest

import nuthatch

FIELDS: dict[str, nuthatch.VectorField] = {
    "title": {"dim": 4, "metric": "l2"},
    "image": {"dim": 3, "metric": "dot", "elements": "f16"},
    "bits": {"dim": 8, "elements": "binary"},
}


@pytest.fixture
def docs(db: nuthatch.Database) -> nuthatch.Collection:
    return db.collection("docs", vectors=FIELDS, dim=2, embedder="none")


def fill(docs: nuthatch.Collection, count: int = 40) -> numpy.ndarray:
    dice = numpy.random.default_rng(1)
    titles = dice.standard_normal((count, 4)).astype("float32")
    docs.upsert(
        ids=[f"r{at}" for at in range(count)],
        vectors={"title": titles, "bits": dice.integers(0, 2, (count, 8)), "": dice.standard_normal((count, 2))},
        payloads=[{"n": at} for at in range(count)],
    )
    return titles


def test_records_carry_their_vectors_in_part_or_whole(docs: nuthatch.Collection) -> None:
    docs.upsert(
        [
            {"id": "a", "vector": [1, 2], "vectors": {"title": [1, 0, 0, 0], "image": numpy.array([0.25, 0.5, 1])}},
            {"id": "b", "text": "words", "vectors": {"bits": numpy.eye(8)[1].astype(bool)}},
            nuthatch.Record("c", vectors={"title": [0.0, 0.0, 0.0, 2.0]}),
        ]
    )
    a, b, c = docs.get(["a", "b", "c"], include=["vector"])
    assert a is not None and b is not None and c is not None
    assert (a.vector, a.vectors) == ([1, 2], {"title": [1, 0, 0, 0], "image": [0.25, 0.5, 1]})
    assert (b.vector, b.vectors) == (None, {"bits": [0, 1, 0, 0, 0, 0, 0, 0]})
    assert {record.id: record.vectors for record in docs.scan(include=["vector"])}["c"] == c.vectors
    assert docs.get("a") == nuthatch.Record("a")
    assert a.to_dict()["vectors"] == a.vectors and "vectors" not in nuthatch.Record("x").to_dict()

    docs.upsert([a])  # as it came; replaced with what it has now
    assert docs.get("a", include=["vector"]) == a
    docs.upsert([{"id": "a", "vectors": {"title": [9, 9, 9, 9]}}])
    replaced = docs.get("a", include=["vector"])
    assert replaced is not None and (replaced.vector, replaced.vectors) == (None, {"title": [9, 9, 9, 9]})
    counted = {name: field.vectors for name, field in docs.info().vector_fields.items()}
    assert counted == {"title": 2, "image": 0, "bits": 1}
    assert docs.info().vector_fields["image"][:3] == (3, "dot", "f16")


def test_every_way_of_searching_takes_the_name_of_a_field(docs: nuthatch.Collection) -> None:
    titles = fill(docs)
    for _ in ("fresh", "sealed"):
        for how in ({}, {"recall": 0.95}, {"ef": 50}, {"exact": True}, {"timeout": 60.0}):
            asked = titles[7] + 0.001
            found = docs.search(vector=asked, using="title", limit=3, explain=True, **how)  # type: ignore[arg-type]
            assert found[0].id == "r7" and found.explain is not None
            assert found.explain["vector"]["using"] == "title"
        nearest = sorted(range(10, 40), key=lambda at: float(numpy.linalg.norm(titles[at] - titles[7])))
        assert [hit.id for hit in docs.search(vector=titles[7], using="title", where="n >= 10", limit=5)] == [
            f"r{at}" for at in nearest[:5]
        ]
        assert "r7" not in [hit.id for hit in docs.search(like="r7", using="title", limit=40)]
        many = docs.search_many(vectors=titles[:20], using="title", limit=1)
        assert [answer[0].id for answer in many] == [f"r{at}" for at in range(20)]
        assert len(docs.search(vector=[1, 0, 0], using="image")) == 0
        hit = docs.search(vector=titles[3], using="title", include=["vector"])[0]
        assert set(hit.vectors) == {"title", "bits"} and hit.to_dict()["vectors"] == hit.vectors
        assert docs.wait_until_indexed()


def test_legs_of_several_fields_are_fused(docs: nuthatch.Collection) -> None:
    docs.upsert(
        [
            {"id": "a", "text": "a red bird", "vectors": {"title": [1, 0, 0, 0], "image": [0, 2, 0]}},
            {"id": "b", "text": "a blue boat", "vectors": {"title": [0, 1, 0, 0]}},
            {"id": "c", "vectors": {"image": [0, 9, 0]}},
        ]
    )
    hit = docs.search("red", vectors={"title": [1, 0, 0, 0], "image": [0, 1, 0]})[0]
    assert hit.id == "a" and hit.legs.text is not None and hit.legs.vector is None
    assert {name: leg.rank for name, leg in hit.legs.vectors.items()} == {"title": 1, "image": 2}
    assert hit.to_dict()["legs"]["vectors"]["image"] == {"rank": 2, "score": 2.0}
    both = docs.search(vector=[1, 0, 0, 0], using="title", vectors={"image": [0, 1, 0]}, explain=True)
    assert both[0].id == "a" and both.explain is not None
    assert both.explain["fusion"] == "rrf" and list(both.explain["vectors"]) == ["image"]
    pytest.importorskip("pyarrow")
    table = both.to_arrow()
    assert table["vector.image_rank"].to_pylist()[0] == 2
    with_vectors = docs.search(like="a", using="title", include=["vector"]).to_arrow()
    assert with_vectors["vector.title"].to_pylist() == [[0, 1, 0, 0]]


def test_fields_are_added_later_and_agree(db: nuthatch.Database) -> None:
    docs = db.collection("docs", embedder="none", dim=2)
    docs.upsert([{"id": "old", "vector": [1, 0]}])
    docs = db.collection("docs", vectors={"late": {"dim": 3}})
    assert docs.search(vector=[1, 0, 0], using="late") == [] or len(docs.search(vector=[1, 0, 0], using="late")) == 0
    docs.upsert([{"id": "new", "vectors": {"late": [1, 0, 0]}}])
    assert [hit.id for hit in docs.search(vector=[1, 1, 0], using="late")] == ["new"]
    assert db.collection("docs", vectors={"late": {}}).info().vector_fields["late"].dim == 3
    with pytest.raises(nuthatch.InvalidError, match="'late'|\"late\".*has dim 3, but 4"):
        db.collection("docs", vectors={"late": {"dim": 4}})
    with pytest.raises(nuthatch.InvalidError, match="needs its dimension"):
        db.collection("docs", vectors={"other": {"metric": "dot"}})


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (
            {"vectors": {"titel": [1, 2, 3, 4]}},
            'vector field "titel" does not exist; the collection has: "bits", "image", "title"',
        ),
        ({"vectors": {"title": [1, 2, 3]}}, 'vector field "title" has 4 dimensions, but the vector has 3'),
        ({"vectors": {"title": [1, 2, 3, float("nan")]}}, 'vector field "title": element 3'),
        ({"vectors": {"bits": [0.5] * 8}}, 'vector field "bits": element 0 of the vector is 0.5, which binary'),
        ({"vectors": {"title": "abcd"}}, "its vectors 'title' is of type str"),
        ({"vectors": {1: [1, 2, 3, 4]}}, "names a vector field 1; names are strings"),
        ({"vectors": [1, 2]}, "did you mean 'vector'"),
    ],
)
def test_what_is_wrong_with_a_vector_is_said_by_its_field(
    docs: nuthatch.Collection, record: dict[str, object], said: str
) -> None:
    fill(docs)
    with pytest.raises(nuthatch.InvalidError) as refused:
        docs.upsert([{"id": "fine", "text": "x"}, {"id": "r1", **record}])
    assert said in str(refused.value) and "r1" in str(refused.value)
    assert docs.count() == 40 and docs.get("fine") is None


def test_what_is_wrong_with_a_search_is_said(db: nuthatch.Database) -> None:
    docs = db.collection("docs", vectors=FIELDS, embedder="none")
    docs.upsert([{"id": "a", "vectors": {"title": [1, 2, 3, 4]}}])
    wrong: list[tuple[dict[str, object], str]] = [
        ({"vector": [1, 2, 3, 4], "using": "x"}, 'vector field "x" does not exist'),
        ({"vector": [1, 2], "using": "title"}, 'vector field "title" has 4 dimensions'),
        ({"text": "words", "using": "title"}, '`using` names vector field "title"'),
        ({"like": "a", "using": "image"}, 'no vector of field "image"'),
        ({"vectors": {"title": [1]}}, 'vector field "title" has 4 dimensions'),
        ({"vectors": [[1, 2]]}, "vectors is of type list"),
    ]
    for asked, said in wrong:
        with pytest.raises(nuthatch.InvalidError) as refused:
            docs.search(**asked)  # type: ignore[arg-type]
        assert said in str(refused.value), asked
    options: list[tuple[object, str]] = [
        ({"title": 4}, "vectors['title'] is of type int"),
        ({"title": {"dims": 4}}, "unknown key 'dims'"),
        (["title"], "vectors is of type list"),
    ]
    for given, said in options:
        with pytest.raises(nuthatch.InvalidError) as refused:
            db.collection("docs", vectors=given)  # type: ignore[arg-type]
        assert said in str(refused.value)


def test_batches_transactions_and_asyncio_take_them(address: str) -> None:
    with nuthatch.connect(address) as db:
        docs = db.collection("docs", vectors=FIELDS, embedder="none")
        with db.batch() as batch:
            batch.collection("docs").upsert([{"id": "a", "vectors": {"title": [1, 0, 0, 0]}}])
        with db.transaction() as transaction:
            inside = transaction.collection("docs")
            inside.upsert(ids=["b"], vectors={"title": [[0, 1, 0, 0]]})
            seen = inside.get("b", include=["vector"])
            assert seen is not None and seen.vectors == {"title": [0, 1, 0, 0]}
        assert [hit.id for hit in docs.search(vector=[0, 1, 0, 0], using="title")] == ["b", "a"]
        with db.snapshot() as snapshot:
            docs.delete("b")
            kept = snapshot.collection("docs").search(vector=[0, 1, 0, 0], using="title")
            assert [hit.id for hit in kept] == ["b", "a"]

    async def main() -> list[str]:
        async with nuthatch.connect_async(address) as db:
            db.sync.drop_collection("docs")
            docs = await db.collection("docs", vectors=FIELDS, embedder="none")
            await docs.upsert([{"id": "a", "vectors": {"title": [1, 0, 0, 0], "image": [1, 0, 0]}}])
            one = await docs.search(vector=[1, 0, 0, 0], using="title")
            two = await docs.search(vectors={"title": [1, 0, 0, 0], "image": [1, 0, 0]})
            many = await docs.search_many(vectors=[[1, 0, 0, 0]], using="title")
            return [one[0].id, two[0].id, many[0][0].id]

    assert asyncio.run(main()) == ["a", "a", "a"]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_exports_carry_them(tmp_path: Path, format: Literal["jsonl", "parquet"]) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    with nuthatch.connect(tmp_path / "data") as db:
        docs = db.collection("docs", vectors=FIELDS, embedder="none")
        fill(docs)
        docs.upsert([{"id": "r3", "vectors": {"image": [1, 2, 3]}}])
        before = list(docs.scan(include=["text", "payload", "vector"]))
        db.export_to(tmp_path / "export", format=format)
    with nuthatch.connect(":memory:") as db:
        db.import_from(tmp_path / "export")
        docs = db.collection("docs")
        assert list(docs.scan(include=["text", "payload", "vector"])) == before
        assert docs.info().vector_fields["image"] == (3, "dot", "f16", 1, "dense")
        assert docs.search(vector=[1, 2, 3], using="image")[0].id == "r3"
