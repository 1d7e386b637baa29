"""The awaited API: the same calls, the same answers."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import threading

import pytest
from support import toy_embed

import nuthatch


def public(cls):
    return {name for name in dir(cls) if not name.startswith("_")}


def test_every_public_method_exists_in_both_with_the_same_arguments():
    for sync, awaited in ((nuthatch.Database, nuthatch.AsyncDatabase), (nuthatch.Collection, nuthatch.AsyncCollection)):
        assert public(awaited) - {"sync"} == public(sync)
        for name in public(sync):
            one, other = getattr(sync, name), getattr(awaited, name)
            if isinstance(one, property):
                # The holder of the folder must be asked of another process.
                assert isinstance(other, property) or name == "holder", name
                continue
            mine, theirs = inspect.signature(one).parameters, inspect.signature(other).parameters
            assert [(p.name, p.kind, p.default) for p in mine.values()] == [
                (p.name, p.kind, p.default) for p in theirs.values()
            ], name
            # These are begun by ``async with``, or awaited when there is something to begin.
            assert inspect.iscoroutinefunction(other) or name in ("batch", "snapshot", "transaction"), name
    mine, theirs = inspect.signature(nuthatch.connect), inspect.signature(nuthatch.connect_async)
    assert mine.parameters == theirs.parameters


def test_every_call_answers_as_its_counterpart(tmp_path):
    (tmp_path / "note.md").write_text("# Keys\n\nUnder the blue pot.\n")

    async def main():
        sizes = {"memory_budget": "64MiB", "build_memory": "1GiB", "build_threads": 1}
        async with nuthatch.connect_async(":memory:", mapped=True, **sizes) as db:
            notes = await db.collection("notes", dim=2, metric="l2", embedder="none")
            assert await notes.upsert([{"id": "a", "text": "red fish", "vector": [1, 0], "payload": {"n": 1}}]) == (
                1,
                0,
            )
            assert await notes.upsert(ids=["b"], vectors=[[0, 1]], payloads=[{"n": 2}]) == (1, 0)
            sync = notes.sync
            assert await notes.get("a") == sync.get("a")
            assert await notes.get(["b", "x"], include=["vector"]) == sync.get(["b", "x"], include=["vector"])
            asked = {"vector": [1, 0], "where": "n > 0", "explain": True}
            assert (await notes.search("fish", **asked)).to_dicts() == sync.search("fish", **asked).to_dicts()
            assert list(await notes.scan(limit=1)) == list(sync.scan(limit=1))
            assert [record async for record in notes] == list(sync)
            assert await notes.count("n = 2") == 1
            assert await notes.wait_until_indexed(30)
            assert await notes.optimize(30)
            asked = {"like": "a", "exact": True, "timeout": 30}
            assert (await notes.search(**asked)).to_dicts() == sync.search(**asked).to_dicts()
            many = await notes.search_many(["fish", "x"], vectors=[[1, 0], [0, 1]], ef=10)
            assert [found.to_dicts() for found in many] == [
                found.to_dicts() for found in sync.search_many(["fish", "x"], vectors=[[1, 0], [0, 1]], ef=10)
            ]
            assert await notes.search_ids([[1, 0]], limit=1) == sync.search_ids([[1, 0]], limit=1)
            with pytest.raises(nuthatch.UnavailableError):
                await notes.search(like="a", timeout=1e-9)
            with pytest.raises(nuthatch.InvalidError, match="ef and exact"):
                await notes.search_many(["x"], ef=5, exact=True)
            assert await notes.info() == sync.info()
            assert notes.name == "notes"
            assert await notes.delete(where="n = 2") == 1
            documents = await db.collection("documents", embedder="none")
            told = []
            report = await db.add(tmp_path, documents, on_progress=told.append)
            assert report.files_added == 1
            await asyncio.sleep(0)
            assert told[-1].files_done == 1
            assert len(await documents.files()) == 1
            assert await documents.remove_files(tmp_path) == 1
            assert [info.name for info in await db.collections()] == ["documents", "notes"]
            assert (await db.stats()).collections == await db.collections()
            assert (await db.doctor()).is_well
            assert await db.drop_collection("notes") is True
            assert repr(db).startswith("AsyncDatabase(")
            assert repr(documents).startswith("AsyncCollection('documents'")
            for handle in (db, documents):
                with pytest.raises(TypeError, match="cannot be pickled"):
                    pickle.dumps(handle)
        with pytest.raises(nuthatch.ClosedError):
            await db.stats()

    asyncio.run(main())


def test_connecting_may_be_awaited_and_entered_later(folder):
    async def main():
        db = await nuthatch.connect_async(folder)
        async with db:
            with pytest.raises(nuthatch.ConflictError):
                await nuthatch.connect_async(folder, exclusive=True)
        with pytest.raises(nuthatch.ClosedError):
            async with db:
                pass

    asyncio.run(main())


def test_the_event_loop_runs_on_while_the_engine_works():
    """Embedding is held until the loop has moved: if a call blocked the loop, this would wait for ever."""
    moved = threading.Event()

    def embed(texts):
        assert moved.wait(30), "the event loop stood still"
        return toy_embed(texts)

    async def main():
        async with nuthatch.connect_async(":memory:") as db:
            notes = await db.collection("notes", embedder=nuthatch.embedders.function(embed, name="toy", dim=16))
            writing = asyncio.create_task(notes.upsert([{"id": "a", "text": "x"}]))
            await asyncio.sleep(0.01)
            moved.set()
            assert await writing == (1, 0)

    asyncio.run(main())


def test_many_searches_may_be_awaited_at_once():
    async def main():
        async with nuthatch.connect_async(":memory:") as db:
            notes = await db.collection("notes", embedder="none")
            await notes.upsert([{"id": str(n), "text": f"word{n}"} for n in range(50)])
            answers = await asyncio.gather(*(notes.search(f"word{n}") for n in range(50)))
            assert [answer[0].id for answer in answers] == [str(n) for n in range(50)]

    asyncio.run(main())


def test_cancelling_an_add_stops_it_between_batches(tmp_path):
    for n in range(600):
        (tmp_path / f"{n}.txt").write_text(f"note number {n}\n")
    started = threading.Event()
    release = threading.Event()

    def embed(texts):
        started.set()
        assert release.wait(30)
        return toy_embed(texts)

    async def main():
        async with nuthatch.connect_async(":memory:") as db:
            notes = await db.collection("documents", embedder=nuthatch.embedders.function(embed, name="toy", dim=16))
            adding = asyncio.create_task(db.add(tmp_path, notes))
            await asyncio.to_thread(started.wait, 30)
            adding.cancel()
            await asyncio.sleep(0)
            release.set()
            with pytest.raises(asyncio.CancelledError):
                await adding
            assert 0 < len(await notes.files()) < 600
            assert (await db.add(tmp_path, notes)).files_added > 0
            assert len(await notes.files()) == 600

    asyncio.run(main())


@pytest.mark.parametrize("many", [False, True])
def test_cancelling_a_search_ends_it_and_leaves_nothing_running(many):
    """The search is held while it embeds; cancelled meanwhile, it finds nothing any more once it goes on."""
    started = threading.Event()
    release = threading.Event()
    ended = []

    def embed(texts):
        started.set()
        assert release.wait(30)
        return toy_embed(texts)

    async def main():
        async with nuthatch.connect_async(":memory:") as db:
            notes = await db.collection("notes", embedder=nuthatch.embedders.function(embed, name="toy", dim=16))
            release.set()
            await notes.upsert([{"id": "a", "text": "x"}])
            release.clear()
            started.clear()
            core = notes.sync._core

            class Watched:
                """Stands between the collection and the engine, to see what a search came to."""

                def __getattr__(self, name):
                    def call(*arguments):
                        try:
                            return getattr(core, name)(*arguments)
                        except nuthatch.NuthatchError as error:
                            ended.append(error)
                            raise

                    return call

            notes.sync._core = Watched()
            searching = asyncio.create_task(notes.search_many(["x"] * 3) if many else notes.search("x"))
            await asyncio.to_thread(started.wait, 30)
            searching.cancel()
            await asyncio.sleep(0)
            assert not searching.done()
            release.set()
            with pytest.raises(asyncio.CancelledError):
                await searching
            assert len(ended) == 1
            assert isinstance(ended[0], nuthatch.UnavailableError)
            assert [hit.id for hit in notes.sync.search("x")] == ["a"]

    asyncio.run(main())
