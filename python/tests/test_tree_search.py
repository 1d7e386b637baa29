"""Searching trees: by words and by meaning, as of any moment, on a folder and over HTTP."""

from __future__ import annotations

import asyncio

import pytest

import nuthatch


@pytest.fixture
def tree(db: nuthatch.Database) -> nuthatch.Tree:
    """A tree that is searched by words alone."""
    tree = db.tree("notes", embedder="none")
    tree.put_many({"birds/osprey.md": "# Osprey\n\nOspreys dive for fish.\n", "plan.txt": "Feed the birds.\n"})
    tree.snapshot("v1")
    tree.put_many({"birds/osprey.md": "# Osprey\n\nOspreys nest on poles.\n", "copy.txt": "Feed the birds.\n"})
    return tree


def paths(results: nuthatch.Results) -> list[str]:
    return [hit.payload["path"] for hit in results]


def test_a_search_goes_back_to_any_moment(tree: nuthatch.Tree) -> None:
    assert paths(tree.search("fish")) == []
    assert paths(tree.search("fish", as_of="v1")) == ["birds/osprey.md"]
    assert paths(tree.search("fish", as_of=1)) == ["birds/osprey.md"]
    assert paths(tree.search("poles")) == ["birds/osprey.md"]
    assert paths(tree.search("poles", as_of="v1")) == []
    with pytest.raises(nuthatch.NotFoundError, match="v1"):
        tree.search("fish", as_of="v9")


def test_a_content_at_several_paths_is_one_hit(tree: nuthatch.Tree) -> None:
    [hit] = tree.search("feed")
    assert (hit.id, hit.payload["paths"]) == ("copy.txt#0", ["copy.txt", "plan.txt"])
    assert hit.payload["paths_count"] == 2
    [before] = tree.search("feed", as_of="v1")
    assert before.id == "plan.txt#0" and "paths" not in before.payload


def test_conditions_name_fields_of_files_and_of_passages(tree: nuthatch.Tree) -> None:
    assert paths(tree.search("birds osprey", where="path like 'birds/%'")) == ["birds/osprey.md"]
    assert paths(tree.search("birds osprey", below="birds")) == ["birds/osprey.md"]
    assert paths(tree.search("birds osprey", where="lang = 'markdown' or name = 'plan.txt'", limit=5)) == [
        "birds/osprey.md",
        "plan.txt",
    ]
    [hit] = tree.search("feed", where="name = 'plan.txt'")
    assert hit.id == "plan.txt#0"
    with pytest.raises(nuthatch.InvalidError, match="sequence"):
        tree.search("feed", where="pathh = 'x'")


def test_passages_are_made_ahead_and_once(tree: nuthatch.Tree) -> None:
    made = tree.make_passages()
    assert (made.contents, made.passages, made.unread) == (2, 2, ())
    assert tree.make_passages().contents == 0
    tree.put("logo.png", b"\x89PNG\r\n\x1a\n\0\0")
    [unread] = tree.make_passages().unread
    assert (unread.path, unread.is_error) == ("logo.png", False)


def test_what_is_erased_is_not_found_at_any_moment(tree: nuthatch.Tree) -> None:
    assert paths(tree.search("fish", as_of="v1")) == ["birds/osprey.md"]
    tree.erase("birds")
    assert paths(tree.search("fish", as_of="v1")) == []


def test_include_and_pages_work_as_in_a_collection(tree: nuthatch.Tree) -> None:
    first = tree.search("birds osprey", limit=1, include=["text"])
    assert first[0].payload == {} and first[0].text
    second = tree.search("birds osprey", limit=1, cursor=first.cursor)
    assert {first[0].id, second[0].id} == {"birds/osprey.md#0", "copy.txt#0"}


def test_a_search_is_awaited(db: nuthatch.Database, tree: nuthatch.Tree, address: str) -> None:
    if address == ":memory:":
        pytest.skip("each connection has a memory of its own")

    async def search() -> list[str]:
        async with nuthatch.connect_async(address) as other:
            awaited = await other.tree("notes", embedder="none")
            await awaited.make_passages()
            return paths(await awaited.search("fish", as_of="v1"))

    assert asyncio.run(search()) == ["birds/osprey.md"]


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_an_embedder_of_the_caller_finds_by_meaning(db: nuthatch.Database) -> None:
    lengths = nuthatch.embedders.function(
        lambda texts: [[1.0, float(text.count("fish")), float(text.count("birds"))] for text in texts],
        name="counts",
        dim=3,
    )
    tree = db.tree("meaning", embedder=lengths)
    tree.put_many({"a.txt": "fish fish fish", "b.txt": "birds birds birds"})
    assert paths(tree.search("birds", mode="vector", limit=1)) == ["b.txt"]
    assert paths(tree.search(like="a.txt#0", limit=1)) == ["b.txt"]


def test_a_snapshot_of_the_database_is_not_searched_by_trees(db: nuthatch.Database, tree: nuthatch.Tree) -> None:
    with db.snapshot() as snapshot:
        assert not hasattr(snapshot.tree("notes"), "search")
