"""Trees: files bit for bit, versions, snapshots, differences, searches; over every face, and awaited."""

from __future__ import annotations

import asyncio
import copy
import inspect
import io
import os
import pickle
import random
from datetime import datetime, timedelta, timezone

import pytest

import nuthatch
from nuthatch import GrepMatch, PutFile, PutReport, TreeErased, TreeRetention, aio_tree


@pytest.fixture
def tree(db):
    return db.tree("test")


def paths(entries):
    return [entry.path for entry in entries]


def noise(size):
    return random.Random(7).randbytes(size)


def test_a_file_comes_back_bit_for_bit_with_its_mode_and_time(tree):
    every = bytes(range(256))
    moment = datetime(2025, 6, 1, 10, 0, 0, 123456, tzinfo=timezone.utc)
    report = tree.put("deep/er/ü %.bin", every, mode=0o755, modified=moment)
    assert (report.added, report.changed, report.unchanged, report.gone) == (1, 0, 0, 0)
    assert tree.get("deep/er/ü %.bin") == every
    entry = tree.entry("deep/er/ü %.bin")
    assert (entry.kind, entry.bytes, entry.mode, entry.modified) == ("file", 256, 0o755, moment)
    assert (entry.sequence, len(entry.content), entry.target) == (report.sequence, 64, None)
    assert datetime.now(timezone.utc) - entry.recorded < timedelta(hours=1)
    nanoseconds = 1_700_000_000_123_456_789
    tree.put("b", "grün", modified=nanoseconds)
    assert (tree.get("b"), tree.entry("b").modified_ns) == ("grün".encode(), nanoseconds)
    assert tree.put("b", "grün", modified=nanoseconds).unchanged == 1
    for kind in (bytearray, memoryview):
        tree.put("c", kind(b"x"))
        assert tree.get("c") == b"x"
    tree.put("before", b"", modified=-1)
    assert (tree.get("before"), tree.entry("before").modified_ns) == (b"", -1)
    assert "b" in tree
    assert "deep" not in tree, "a folder that nobody put is no entry"
    assert tree.entry("deep") is None


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "todo.md").write_text("- write\n")
    (folder / "sub" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "sub" / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("todo.md")
    (folder / ".hidden").write_text("h")
    return folder


def refuses_folders(tree, notes):
    """Whether it is a server's, which sees no folder of its caller."""
    try:
        tree.add(notes)
    except nuthatch.InvalidError as error:
        assert "not available over HTTP" in str(error)
        with pytest.raises(nuthatch.InvalidError, match="not available over HTTP"):
            tree.restore(notes)
        return True
    return False


def test_a_folder_is_stored_and_written_out_again(tree, notes, tmp_path):
    if refuses_folders(tree, notes):
        return
    assert paths(tree) == ["link", "sub", "sub/run.sh", "todo.md"]
    tree.snapshot("v1")
    (notes / "todo.md").write_text("- sleep\n")
    (notes / "link").unlink()
    added = tree.add(notes, hidden=True)
    assert (added.added, added.changed, added.gone, added.skipped) == (1, 1, 1, ())
    assert tree.add(notes, below="copy", keep_missing=True).added == 3
    (notes / "todo.md").unlink()
    assert tree.add(notes, hidden=True, keep_missing=True).gone == 0
    restored = tree.restore(tmp_path / "out", as_of="v1")
    assert (restored.files, restored.folders, restored.links, restored.skipped) == (2, 1, 1, ())
    assert (tmp_path / "out" / "link").readlink().name == "todo.md"
    assert (tmp_path / "out" / "todo.md").read_text() == "- write\n"
    assert (tmp_path / "out" / "sub" / "run.sh").stat().st_mode & 0o777 == 0o755
    with pytest.raises(nuthatch.ConflictError, match="has something in it"):
        tree.restore(tmp_path / "out")
    only = tree.restore(tmp_path / "new", globs="*.md", dry_run=True)
    assert (only.paths, (tmp_path / "new").exists()) == (("copy/todo.md", "todo.md"), False)
    assert asyncio.run(aio_tree.AsyncTree(tree).add(notes, hidden=True)).gone > 0
    with pytest.raises(nuthatch.NotFoundError):
        tree.add(tmp_path / "nowhere")
    with pytest.raises(nuthatch.InvalidError, match="hidden"):
        tree.add(notes, hidden="yes")


def test_the_tree_is_made_by_its_first_file_and_goes_when_it_is_dropped(db):
    tree = db.tree("made")
    assert db.trees() == []
    with pytest.raises(nuthatch.NotFoundError) as caught:
        tree.info()
    assert (caught.value.what, caught.value.name) == ("tree", "made")
    with pytest.raises(nuthatch.NotFoundError):
        db.tree("made", create=False)
    tree.put("a", "one")
    info = db.tree("made", create=False).info()
    assert (info.name, info.files, info.bytes, info.versions, info.snapshots) == ("made", 1, 3, 1, 0)
    assert info.retention == TreeRetention(10, 30 * 24 * 3600)
    assert info.together.contents == 1
    assert datetime.now(timezone.utc) - info.created < timedelta(hours=1)
    assert db.trees() == ["made"]
    assert (db.drop_tree("made"), db.drop_tree("made"), db.trees()) == (True, False, [])


def test_a_missing_file_and_a_path_that_leads_out_are_refused(tree):
    tree.put("a/b", "x")
    for call in (tree.get, tree.open):
        with pytest.raises(nuthatch.NotFoundError) as caught:
            call("a")
        assert (caught.value.what, caught.value.name) == ("file", "a")
    for path in ("", "/etc", "a//b", "a/../b", "..", "a/", "a\0b"):
        for call in (lambda path: tree.put(path, "x"), tree.entry, tree.get, tree.versions):
            with pytest.raises(nuthatch.InvalidError):
                call(path)
    for call in (tree.remove, tree.erase):
        with pytest.raises(nuthatch.InvalidError, match="drop the tree"):
            call("")
    with pytest.raises(nuthatch.NotFoundError):
        tree.get("a/b", as_of="never")
    assert paths(tree) == ["a/b"]


def test_what_is_wrong_with_an_argument_is_said(db, tree):
    tree.put("a", "x")
    naive = datetime(2025, 6, 1)
    for call, said in (
        (lambda: db.tree("no name"), "name"),
        (lambda: tree.put("a", 5), "data"),
        (lambda: tree.put("a", "x", mode=0o10000), "mode"),
        (lambda: tree.put("a", "x", modified=naive), "modified"),
        (lambda: tree.put("a", "x", modified="now"), "modified"),
        (lambda: tree.get("a", start=-1), "start"),
        (lambda: tree.get("a", as_of=1.5), "as_of"),
        (lambda: tree.get("a", as_of=naive), "as_of"),
        (lambda: tree.put_many("a"), "files"),
        (lambda: tree.put_many([{"path": "a"}]), "files"),
        (lambda: tree.put_many(["a"]), "files"),
        (lambda: tree.grep(5), "patterns"),
        (lambda: tree.grep("x", word=1), "word"),
        (lambda: tree.grep("("), "regex"),
        (lambda: tree.grep("x", types="none"), "none"),
        (lambda: tree.set_retention(versions=0, days=None), "versions"),
        (lambda: tree.set_retention(versions=None, days=-1), "days"),
    ):
        with pytest.raises(nuthatch.InvalidError, match=said):
            call()
    assert tree.get("a") == b"x"


def test_parts_of_a_file_are_those_of_its_bytes(tree):
    data = noise(3_000_000)
    tree.put("noise", data)
    for start, end in ((0, 1), (5, 5), (1000, 2_500_000), (2_999_999, None), (0, 9_999_999), (9_999_999, None)):
        assert tree.get("noise", start=start, end=end) == data[start:end], (start, end)


def test_an_opened_file_reads_seeks_and_stays_the_version_that_it_was(tree):
    data = noise(2_500_000)
    tree.put("noise", data)
    with tree.open("noise") as file:
        assert file.read(10) == data[:10]
        tree.put("noise", b"something else")
        assert file.seek(-7, os.SEEK_END) == len(data) - 7
        assert file.read() == data[-7:]
        assert (file.seek(1_000_000), file.read(1_200_000)) == (1_000_000, data[1_000_000:2_200_000])
        assert (file.seek(5, os.SEEK_CUR), file.read(1)) == (2_200_005, data[2_200_005:2_200_006])
        assert (file.seek(len(data) + 5), file.read(1)) == (len(data) + 5, b"")
        assert file.readable()
        assert file.seekable()
        assert not file.writable()
        with pytest.raises(ValueError, match="before"):
            file.seek(-1)
    with pytest.raises(ValueError, match="closed"):
        file.read(1)
    assert tree.get("noise") == b"something else"
    tree.put("lines", "grün\nzwei\n")
    assert list(io.TextIOWrapper(tree.open("lines"), encoding="utf-8")) == ["grün\n", "zwei\n"]


def test_an_opened_file_says_when_its_version_is_gone(tree):
    data = noise(2_500_000)
    tree.put("noise", data)
    with tree.open("noise") as file:
        assert file.read(1) == data[:1]
        tree.erase("noise")
        file.seek(2_000_000)
        with pytest.raises(nuthatch.NotFoundError, match="gone") as caught:
            file.read(1)
        assert (caught.value.what, caught.value.name) == ("file", "noise")


def test_a_file_of_many_parts_is_put_and_comes_back(tree):
    data = noise(20_000_001)
    assert tree.put("large", data).added == 1
    assert tree.get("large") == data
    assert tree.get("large", start=19_999_999) == data[19_999_999:]
    tree.put("copy", data)
    assert tree.info().together.contents == 1, "the same bytes are stored once"


@pytest.mark.not_over("http", "a server bounds what one request carries")
def test_large_files_are_put_together(tree):
    data = noise(90_000_000)
    report = tree.put_many({"a": data[:45_000_000], "b": data[45_000_000:], "c": "small"})
    assert report.added == 3
    assert {entry.sequence for entry in tree} == {report.sequence}
    assert tree.get("b") == data[45_000_000:]


def test_several_files_are_put_and_removed_together_or_not_at_all(tree):
    tree.put("old", "x")
    files = [PutFile("a", "one", 0o600), {"path": "b", "data": b"\xff", "modified": 5}]
    report = tree.put_many(files, remove=["old", "never"])
    assert report == PutReport(report.sequence, added=2, changed=0, unchanged=0, gone=1)
    assert (paths(tree), tree.get("b"), tree.entry("a").mode) == (["a", "b"], b"\xff", 0o600)
    for wrong in ([PutFile("new", ""), PutFile("new", "")], [PutFile("new", ""), PutFile("x/../y", "")]):
        with pytest.raises(nuthatch.InvalidError):
            tree.put_many(wrong)
    assert "new" not in tree
    assert tree.put_many({}).added == 0


def test_files_are_listed_by_path_and_below_a_folder(tree):
    tree.put_many({f"f{at:04}": str(at) for at in range(2500)})
    tree.put_many({"d/a": "1", "d/b/c": "2", "dd": "3"})
    assert paths(tree.list("d")) == ["d/a", "d/b/c"]
    assert paths(tree.list("d/a")) == ["d/a"]
    assert paths(tree.list("nothing")) == []
    everything = list(tree)
    assert len(everything) == 2503
    assert paths(everything) == sorted(paths(everything))
    assert everything[-1].bytes == 4


def test_versions_snapshots_and_moments_show_a_tree_as_it_was(tree):
    first = tree.put("a", "one")
    named = tree.snapshot("v1")
    assert (named.name, named.sequence, tree.snapshots()) == ("v1", first.sequence, [named])
    assert datetime.now(timezone.utc) - named.created < timedelta(hours=1)
    with pytest.raises(nuthatch.ConflictError):
        tree.snapshot("v1")
    tree.put("a", "two")
    tree.put("b", "three")
    assert tree.remove("b") == 1
    for as_of in ("v1", first.sequence, str(first.sequence)):
        assert tree.get("a", as_of=as_of) == b"one"
        assert paths(tree.list(as_of=as_of)) == ["a"]
    assert tree.get("a", as_of=datetime.now(timezone.utc) + timedelta(days=1)) == b"two"
    with pytest.raises(nuthatch.NotFoundError):
        tree.get("a", as_of="2001-01-01T00:00:00Z")
    assert [version.kind for version in tree.versions("b")] == ["gone", "file"]
    assert [version.bytes for version in tree.versions("a")] == [3, 3]
    assert (tree.drop_snapshot("v1"), tree.drop_snapshot("v1")) == (True, False)


def test_removing_keeps_versions_and_erasing_keeps_nothing(tree):
    tree.put_many({"d/a": "1", "d/b": "2", "e": "3"})
    tree.snapshot("v1")
    assert tree.remove("d") == 2
    assert (paths(tree), tree.get("d/a", as_of="v1")) == (["e"], b"1")
    assert tree.erase("d") == TreeErased(paths=2, versions=2)
    with pytest.raises(nuthatch.NotFoundError):
        tree.get("d/a", as_of="v1")
    assert tree.versions("d/a") == []
    assert tree.remove("nothing") == 0


def test_retention_says_which_versions_stay(tree):
    tree.set_retention(versions=2, days=0)
    for at in range(4):
        tree.put("a", str(at))
    assert len(tree.versions("a")) == 2
    assert tree.info().retention == TreeRetention(2, 0)
    tree.set_retention(versions=None, days=timedelta(days=1.5))
    assert tree.info().retention == TreeRetention(None, 129_600)


def test_a_diff_tells_what_changed(db, tree):
    tree.put_many({"same": "s", "changed": "1", "gone": "g", "old name": "moved", "mode": "m"})
    tree.snapshot("v1")
    tree.put_many(
        [
            PutFile("changed", "2"),
            PutFile("new", "n"),
            PutFile("new name", "moved"),
            PutFile("mode", "m", 0o755),
            PutFile("same", "s", modified=5),
        ],
        remove=["gone", "old name"],
    )
    kinds = {change.path: change.kind for change in tree.diff("v1")}
    assert kinds == {"changed": "modified", "gone": "removed", "mode": "mode", "new": "added", "new name": "renamed"}
    [renamed] = tree.diff("v1", below="new name", renames=False)
    assert (renamed.kind, renamed.before, renamed.after) == ("added", None, tree.entry("new name"))
    [change] = tree.diff("v1", None, below="changed")
    assert (change.before.bytes, change.after) == (1, tree.entry("changed"))
    assert tree.diff(None, None) == []
    assert {change.kind for change in tree.diff(None, "v1")} == {"modified", "added", "mode", "removed", "renamed"}
    other = db.tree("other")
    other.put("same", "s")
    assert [change.path for change in tree.diff(None, to_tree="other", below="same")] == []


def test_a_search_finds_what_ripgrep_finds(tree):
    tree.put_many({"a.rs": "fn one() {}\nfn two() {}\n", "b/c.py": "def one():\n  pass\n", "d.txt": "grün One\nnone"})
    found = list(tree.grep("one"))
    assert found[:2] == [
        GrepMatch("a.rs", 1, "fn one() {}", ((3, 6),)),
        GrepMatch("b/c.py", 1, "def one():", ((4, 7),)),
    ]
    assert found[2] == GrepMatch("d.txt", 2, "none", ((1, 4),))
    [match] = tree.grep("one", ignore_case=True, word=True, globs="*.txt")
    assert match.line[slice(*match.spans[0])] == "One", "spans are characters, not bytes"
    assert [match.line for match in tree.grep("one()", fixed_strings=True, types=["rust"])] == ["fn one() {}"]
    assert [match.path for match in tree.grep("one", types_not="rust", below="b")] == ["b/c.py"]
    context = [(match.line, match.is_match, match.spans) for match in tree.grep("two", before_context=1)]
    assert context == [("fn one() {}", False, ()), ("fn two() {}", True, ((3, 6),))]
    [several] = tree.grep(r"\{\}\nfn", multiline=True)
    assert (several.line_number, several.line) == (1, "fn one() {}\nfn two() {}")
    assert len(list(tree.grep(["two", "pass"]))) == 2
    assert len(list(tree.grep("fn", max_count=1))) == 1
    assert list(tree.grep("absent")) == []


def test_a_search_of_old_states_and_of_all_versions(tree):
    first = tree.put("a", "needle one\n")
    tree.snapshot("v1")
    second = tree.put("a", "needle two\n")
    tree.put("a", "nothing\n")
    assert [match.line for match in tree.grep("needle", as_of="v1")] == ["needle one"]
    assert list(tree.grep("needle")) == []
    found = [(match.path, match.line, match.sequence) for match in tree.grep("needle", history=True)]
    assert found == [("a", "needle two", second.sequence), ("a", "needle one", first.sequence)]


def test_the_index_rules_files_out_and_changes_no_match(tree):
    tree.put_many({f"f{at}": f"line {at}\nshared words\n" for at in range(300)})
    tree.put("rare", "a Rare_Word\n")
    assert tree.index().pending > 0
    state = tree.index(wait=True)
    assert (state.indexed, state.pending) == (301, 0)
    assert state.index_bytes > 0
    asked = {"ignore_case": True}
    found = tree.grep("rare_word", index="always", **asked)
    assert [match.path for match in found] == ["rare"]
    assert (found.read.scanned, found.read.files, found.read.candidates, found.searched) == (None, 1, 1, 1)
    every = tree.grep("rare_word", index="never", **asked)
    assert [match.path for match in every] == ["rare"]
    assert (every.read.files, every.read.scanned is None) == (301, False)
    tree.erase("rare")
    assert list(tree.grep("rare_word", index="always", **asked)) == []
    with pytest.raises(nuthatch.InvalidError):
        tree.grep("x", index="sometimes")


def test_a_search_shows_bytes_that_are_no_text_and_says_what_it_left_out(tree):
    tree.put_many({"latin": b"gr\xfcn one\n", "large": b"\n" * ((16 << 20) + 1)})
    found = tree.grep("one", globs="latin")
    assert [(match.line, match.spans) for match in found] == [("gr\ufffdn one", ((5, 8),))]
    assert (found.searched, found.cut) == (1, [])
    found = tree.grep("one", multiline=True)
    assert [match.path for match in found] == ["latin"]
    assert [(cut.path, "16777217" in cut.why) for cut in found.cut] == [("large", True)]
    assert (found.searched, found.has_ended) == (2, True)


def test_a_search_of_many_pages_shows_one_moment(tree):
    text = ("x" * 99 + "\n") * 60_000
    tree.put_many({str(at): text for at in range(3)})
    found = tree.grep("x+", max_count=20_000)
    first = next(found)
    tree.remove("2")
    assert (first.path, first.line_number) == ("0", 1)
    assert 1 + sum(1 for _ in found) == 60_000


def test_a_snapshot_of_the_database_shows_trees_as_they_were(db, tree):
    tree.put("a", "one")
    with db.snapshot() as snapshot:
        tree.put("a", "two")
        tree.put("b", "two")
        then = snapshot.tree("test")
        assert (then.name, then.get("a"), paths(then), "b" in then) == ("test", b"one", ["a"], False)
        assert [match.line for match in then.grep("o")] == ["one"]
        assert (then.info().files, len(then.versions("a")), then.snapshots()) == (1, 1, [])
        with then.open("a") as file:
            assert file.read() == b"one"
        with pytest.raises(nuthatch.NotFoundError):
            snapshot.tree("never").info()
        with pytest.raises(nuthatch.InvalidError):
            snapshot.tree("no name")
        assert not hasattr(then, "put")


def test_trees_of_tenants_are_apart(db):
    db.create_tenant("amber").tree("t").put("a", "of amber")
    assert db.trees() == []
    assert db.create_tenant("birch").trees() == []
    assert db.tenant("amber").tree("t").get("a") == b"of amber"


def test_what_is_durable_only_later_is_there_at_once(db):
    for durability in ("commit", "interval", "os"):
        tree = db.tree("test", durability=durability)
        tree.put("a", durability)
        assert tree.get("a") == durability.encode()
    with pytest.raises(nuthatch.InvalidError, match="never"):
        db.tree("test", durability="never")


def test_a_tree_is_not_pickled_or_copied(tree):
    assert repr(tree) == "Tree('test')"
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="connect there"):
            copied(tree)


def test_every_method_has_a_twin_that_is_awaited(address):
    for sync, twin in ((nuthatch.Tree, aio_tree.AsyncTree), (nuthatch.SnapshotTree, aio_tree.AsyncSnapshotTree)):
        for name in (name for name in dir(sync) if not name.startswith("_")):
            given, taken = getattr(sync, name), getattr(twin, name)
            if inspect.isfunction(given):
                assert list(inspect.signature(given).parameters) == list(inspect.signature(taken).parameters), name

    async def use():
        async with nuthatch.connect_async(address) as db:
            tree = await db.tree("test")
            report = await tree.put("a", "one\ntwo\n")
            await tree.put_many([PutFile("b", "two")])
            named = await tree.snapshot("v1")
            await tree.remove("b")
            assert (await tree.get("a", start=4, as_of=report.sequence), await tree.contains("b")) == (b"two\n", False)
            assert [entry.path async for entry in tree] == ["a"]
            assert [entry.path async for entry in tree.list(as_of="v1")] == ["a", "b"]
            found = await tree.grep("two", as_of="v1")
            assert [(match.path, match.line) async for match in found] == [("a", "two"), ("b", "two")]
            assert (found.searched, found.cut) == (2, [])
            assert [change.kind for change in await tree.diff("v1")] == ["removed"]
            assert (await tree.info()).files == 1
            assert (await tree.entry("a")).bytes == 8
            assert len(await tree.versions("b")) == 2
            assert await tree.snapshots() == [named]
            assert (await asyncio.to_thread((await tree.open("a")).read)) == b"one\ntwo\n"
            async with db.snapshot() as snapshot:
                await tree.erase("a")
                assert await (await snapshot.tree("test")).get("a") == b"one\ntwo\n"
            await tree.set_retention(versions=1, days=None)
            assert await tree.drop_snapshot("v1")
            assert (await db.trees(), await db.drop_tree("test"), await db.trees()) == (["test"], True, [])

    asyncio.run(use())


STORE = "class Store:\n    def save(self, item):\n        return item\n\n\ndef helper():\n    return Store().save(1)\n"
MAIN = "from store import helper\n\n\ndef main(x):\n    helper()\n    x.save(2)\n\n\ndef test_main():\n    main(1)\n"


def test_source_code_tells_who_calls_what_as_of_any_moment(tree):
    tree.put_many({"store.py": STORE, "main.py": MAIN})
    tree.snapshot("v1")
    tree.put("main.py", "x = 1\n")
    code = tree.code
    [save] = code.definitions("Store.save").definitions
    assert (save.path, save.kind, save.language, save.line) == ("store.py", "method", "python", 2)
    assert save.signature == "def save(self, item):"
    now, then = code.callers("helper"), code.callers("helper", as_of="v1")
    assert (now.sites, tuple(now.counts)) == ((), (0, 0, 0, 0, 0))
    [site] = then.sites
    assert (site.path, site.line, site.within, site.class_, site.how) == ("main.py", 5, "main", "certain", "call")
    assert [(target.path, target.name) for target in site.targets] == [("store.py", "helper")]
    assert then.files.read == 2
    assert [site.class_ for site in code.callers("save", as_of="v1").sites] == ["unique", "unique"]
    assert {site.name for site in code.callees("main", as_of="v1").sites} == {"helper", "x.save"}
    assert len(code.references("Store").sites) == 1
    assert [one.name for one in code.outline("store.py").definitions] == ["Store", "Store.save", "helper"]
    assert [one.files for one in code.imports("main.py", as_of="v1").imports] == [("store.py",)]
    reached = code.impact("helper", as_of="v1", depth=2).reached
    assert [(one.depth, one.definition.name, one.is_test) for one in reached] == [
        (1, "main", False),
        (2, "test_main", True),
    ]
    assert [one.definition.name for one in code.tests("helper", as_of="v1").reached] == ["test_main"]
    assert [one.name for one in code.map(tokens=100, as_of="v1").definitions] == ["Store.save", "helper"]
    assert code.callers("helper", as_of="v1", below="store.py").sites == ()
    assert code.references("helper", as_of="v1", limit=1).truncated is False
    with pytest.raises(nuthatch.InvalidError, match="names nothing"):
        code.callers("a.")
    with pytest.raises(nuthatch.InvalidError, match="1 to 16"):
        code.impact("helper", depth=17)
    with pytest.raises(nuthatch.NotFoundError):
        code.outline("none.py")


def test_source_code_of_a_snapshot_of_the_database_and_awaited(db, tree):
    tree.put_many({"store.py": STORE, "main.py": MAIN})
    with db.snapshot() as snapshot:
        tree.put("main.py", "")
        assert len(snapshot.tree("test").code.callers("helper").sites) == 1
    assert tree.code.callers("helper").sites == ()


def test_source_code_can_be_asked_while_other_things_wait():
    async def ask():
        async with nuthatch.connect_async(":memory:") as db:
            tree = await db.tree("test")
            await tree.put_many({"store.py": STORE, "main.py": MAIN})
            code, name = tree.code, "helper"
            asked = [code.definitions, code.references, code.callers, code.callees, code.impact, code.tests]
            answers = [await ask(name) for ask in asked]
            answers += [await code.outline("main.py"), await code.imports("main.py"), await code.map()]
            return answers, [getattr(code.sync, ask.__name__)(name) for ask in asked]

    answers, sync = asyncio.run(ask())
    assert answers[: len(sync)] == sync
    assert answers[-1].definitions


_BLAKE3_IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
_BLAKE3_ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)


def _compress(chain, words, counter, length, flags):
    mask = 0xFFFFFFFF
    v = [*chain, *_BLAKE3_IV[:4], counter & mask, counter >> 32, length, flags]
    m = list(words)

    def mix(a, b, c, d, x, y):
        for add, first, second in ((x, 16, 12), (y, 8, 7)):
            v[a] = (v[a] + v[b] + add) & mask
            turned = v[d] ^ v[a]
            v[d] = (turned >> first | turned << (32 - first)) & mask
            v[c] = (v[c] + v[d]) & mask
            turned = v[b] ^ v[c]
            v[b] = (turned >> second | turned << (32 - second)) & mask

    for _ in range(7):
        for at in range(4):
            mix(at, at + 4, at + 8, at + 12, m[2 * at], m[2 * at + 1])
        for at in range(4):
            mix(at, (at + 1) % 4 + 4, (at + 2) % 4 + 8, (at + 3) % 4 + 12, m[8 + 2 * at], m[9 + 2 * at])
        m = [m[at] for at in _BLAKE3_ORDER]
    return [v[at] ^ v[at + 8] for at in range(8)]


def blake3(data):
    """BLAKE3 as its paper has it: an implementation that shares nothing with the engine's."""

    def words(block):
        padded = block.ljust(64, b"\0")
        return [int.from_bytes(padded[at : at + 4], "little") for at in range(0, 64, 4)]

    def node(at, size):
        """The arguments of the last compression over data[at : at + size]."""
        if size <= 1024:
            chain, counter = _BLAKE3_IV, at // 1024
            blocks = [data[start : min(start + 64, at + size)] for start in range(at, at + max(size, 1), 64)]
            for index, block in enumerate(blocks):
                flags = (1 if index == 0 else 0) | (2 if index == len(blocks) - 1 else 0)
                if flags & 2:
                    return chain, words(block), counter, len(block), flags
                chain = _compress(chain, words(block), counter, len(block), flags)
        left = 1024
        while left * 2 < size:
            left *= 2
        below = _compress(*node(at, left)), _compress(*node(at + left, size - left))
        return _BLAKE3_IV, [*below[0], *below[1]], 0, 64, 4

    chain, block, counter, length, flags = node(0, len(data))
    root = _compress(chain, block, 0 if flags & 4 else counter, length, flags | 8)
    return b"".join(word.to_bytes(4, "little") for word in root)


def root_of(entries):
    """The root of entries, by what RFC 0061 says and nothing else."""
    names = {}
    for entry in entries:
        above, below, rest = entry.path.partition("/")
        names.setdefault((above, bool(below)), []).append(
            type(entry)(**{**{name: getattr(entry, name) for name in entry.__slots__}, "path": rest})
            if below
            else entry
        )
    hashed = b"nuthatch tree 1\n"
    for (name, is_below), found in sorted(names.items(), key=lambda item: (item[0][0] + "/" * item[0][1]).encode()):
        spelt = len(name.encode()).to_bytes(4, "big") + name.encode()
        if is_below:
            hashed += b"t" + spelt + root_of(found)
            continue
        (entry,) = found
        mode = entry.mode.to_bytes(4, "big")
        if entry.kind == "file":
            hashed += b"f" + spelt + mode + bytes.fromhex(entry.content)
        elif entry.kind == "link":
            hashed += b"l" + spelt + mode + len(entry.target.encode()).to_bytes(4, "big") + entry.target.encode()
        else:
            hashed += b"d" + spelt
    return blake3(hashed)


def test_a_root_is_what_a_stranger_works_out_from_the_entries(tree):
    files = {"a-b": "1", "a/x": noise(3000), "a/y/ü": "2", "a0": "", "b/" + "c" * 200: "3", "z": "4"}
    tree.put_many({**files, **{f"many/{at}": str(at) for at in range(40)}})
    tree.put("run", "#!/bin/sh\n", mode=0o755)
    for path, data in files.items():
        assert tree.entry(path).content == blake3(data if isinstance(data, bytes) else data.encode()).hex()
    tree.snapshot("v1")
    tree.put_many({"a/x": "other", "a": "a file where a folder is, too"}, remove=["z", "a/y/ü"])
    for as_of in (None, "v1", 1):
        assert tree.root(as_of=as_of).root == root_of(tree.list(as_of=as_of)).hex(), as_of
    assert tree.root(below="many").files == 40
    assert tree.root(as_of="v1") != tree.root()
    tree.put("a/x", files["a/x"])
    tree.put_many({"z": "4", "a/y/ü": "2"}, remove=["a"])
    assert tree.root() == tree.root(as_of="v1"), "the same files, at other times"


def test_the_root_of_links_and_folders_is_what_a_stranger_works_out(tree, notes):
    if refuses_folders(tree, notes):
        return
    (notes / "empty").mkdir()
    tree.add(notes)
    entries = list(tree)
    assert {entry.kind for entry in entries} == {"file", "folder", "link"}
    assert tree.root().root == root_of(entries).hex()


def test_verifying_reads_every_file_of_a_moment(tree):
    tree.put_many({f"f{at}": noise(at * 100) for at in range(20)})
    tree.snapshot("v1")
    tree.put("f0", "more")
    found = tree.verify(as_of="v1")
    assert (found.ok, found.files, found.bytes, found.damaged) == (True, 20, 19000, ())
    assert found.root == tree.root(as_of="v1") != tree.verify().root == tree.root()
    assert tree.verify(below="f1").files == 1
    with pytest.raises(nuthatch.NotFoundError):
        tree.verify(as_of="never")


def test_a_tree_of_more_paths_than_a_page_is_verified_whole(tree):
    tree.put_many({f"d{at % 7}/{at}": str(at % 3) for at in range(5_200)})
    assert tree.verify().files == 5_200


def test_fields_of_files_change_without_the_files_and_belong_to_a_moment(tree):
    tree.put_many({"a.txt": "needle one\n", "sub/b.txt": "needle two\n", "sub/c.txt": "hay\n"})
    before = tree.entry("a.txt")
    assert before.fields == {}
    tree.snapshot("plain")
    assert tree.update("sub", add={"tags": ["x", "y"]}) == 2
    assert tree.update(["a.txt"], set={"by": {"name": "Ann"}, "n": 1.5}, add={"tags": "x"}) == 1
    assert tree.update(where="tags contains 'y'", remove={"tags": "x"}, unset="nothing") == 2
    after = tree.entry("a.txt")
    assert after.fields == {"by": {"name": "Ann"}, "n": 1.5, "tags": ["x"]}
    assert (after.content, after.modified_ns, after.mode) == (before.content, before.modified_ns, before.mode)
    assert tree.entry("a.txt", as_of="plain").fields == {}
    assert [version.fields.get("n") for version in tree.versions("a.txt")] == [1.5, None]
    assert paths(tree.list(where="tags contains 'y'")) == ["sub/b.txt", "sub/c.txt"]
    assert paths(tree.list("sub", where="bytes < 5")) == ["sub/c.txt"]
    assert [found.path for found in tree.grep("needle", where="by.name = 'Ann'")] == ["a.txt"]
    tree.put("a.txt", "needle three\n")
    assert tree.entry("a.txt").fields == after.fields, "a file that is put again keeps them"
    facets = tree.facets(["tags", "n"])
    assert (facets["tags"].values, facets["tags"].missing) == ([("y", 2), ("x", 1)], 0)
    assert (facets["n"].values, facets["n"].missing) == ([(1.5, 1)], 2)
    assert tree.facets("name", where="tags contains 'y'", below="sub", limit=1)["name"].distinct == 2
    assert tree.root() != tree.root(as_of="plain")
    tree.put("a.txt", "needle one\n")
    assert tree.root() == tree.root(as_of="plain"), "fields are in no root"


def test_fields_that_cannot_be_meant_are_refused(tree):
    tree.put("a.txt", "x")
    with pytest.raises(nuthatch.NotFoundError, match="nothing was changed"):
        tree.update("never", set={"n": 1})
    for own in ("path", "lang", "mode"):
        with pytest.raises(nuthatch.InvalidError, match="choose another name"):
            tree.update("a.txt", set={own: 1})
    with pytest.raises(nuthatch.InvalidError, match="unknown field"):
        list(tree.list(where="tugs = 1"))
    with pytest.raises(nuthatch.InvalidError, match="neither paths nor where"):
        tree.update(set={"n": 1})
    assert tree.entry("a.txt").fields == {}


def test_a_folder_is_added_with_tags(tree, notes):
    if refuses_folders(tree, notes):
        return
    tree.add(notes, tags=["mine"], payload={"year": 2026})
    given = {"tags": ["mine"], "year": 2026}
    assert [(entry.path, entry.fields) for entry in tree if entry.kind != "folder"] == [
        (path, given) for path in ("link", "sub/run.sh", "todo.md")
    ]
    (notes / "todo.md").write_text("other")
    assert tree.add(notes, tags="new").changed == 3
    assert tree.facets("tags")["tags"].values == [("mine", 3), ("new", 3)]


@pytest.mark.parametrize("format_", ["jsonl", "parquet"])
def test_an_export_carries_trees_with_their_history(tmp_path, format_):
    if format_ == "parquet":
        pytest.importorskip("pyarrow")
    with nuthatch.connect(tmp_path / "data") as db, nuthatch.connect(tmp_path / "again") as again:
        tree = db.tree("notes")
        tree.put_many({"a.txt": "one", "sub/b.bin": noise(100_000)})
        tree.snapshot("v1")
        tree.put("a.txt", "two")
        tree.update("a.txt", set={"at": datetime(2025, 6, 1, tzinfo=timezone.utc)}, add={"tags": "x"})
        report = db.export_to(tmp_path / "out", format=format_)
        assert (report.trees, report.versions) == (1, 4)
        assert again.import_from(tmp_path / "out").trees == ["notes"]
        copy = again.tree("notes")
        assert copy.versions("a.txt") == tree.versions("a.txt")
        assert copy.get("sub/b.bin", as_of="v1") == noise(100_000)
        assert [copy.root(as_of=at) for at in ("v1", None)] == [tree.root(as_of=at) for at in ("v1", None)]
        assert [entry.path for entry in copy.list(where="at < '2025-06-02'")] == ["a.txt"]
        assert copy.verify().ok
        with pytest.raises(nuthatch.InvalidError, match="already exists"):
            again.import_from(tmp_path / "out")
