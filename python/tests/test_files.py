"""Adding files."""

from __future__ import annotations

import os
import signal
import time
import zipfile
from pathlib import Path

import pytest
from support import run_python, toy_embed

import nuthatch


@pytest.fixture
def documents(db):
    return db.collection("documents", embedder="none")


@pytest.fixture
def tree(tmp_path):
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "keys.md").write_text("# House\n\nIntro.\n\n## Keys\n\nThe spare key is under the blue pot.\n")
    (tree / "sub" / "plain.txt").write_text("The boiler is serviced in March.\n")
    (tree / "code.py").write_text("def open_vault(pin):\n    return pin == 1234\n")
    (tree / "noise.bin").write_bytes(bytes(range(256)) * 8)
    (tree / "latin.txt").write_bytes("r\xe9sum\xe9 text that is not utf-8\n".encode("latin-1") * 3)
    (tree / ".gitignore").write_text("ignored.txt\n")
    (tree / "ignored.txt").write_text("nobody reads the xylophone\n")
    return tree


@pytest.mark.not_over("http", "files that are sent have names of their own, see test_remote")
def test_files_become_passages_with_their_source(db, documents, tree):
    report = db.add(tree)
    assert report.files_added == len(documents.files()) >= 3
    assert not report.cancelled
    hit = documents.search("where is the spare key", limit=1)[0]
    assert hit.payload["name"] == "keys.md"
    assert hit.payload["path"] == str((tree / "keys.md").resolve())
    assert hit.payload["start_line"] <= 7 <= hit.payload["end_line"]
    assert "Keys" in hit.payload["heading"]
    assert documents.search("vault", where="lang = 'python'")[0].payload["name"] == "code.py"


@pytest.mark.not_over("http", "a server says of a binary what it says of any file that gives nothing")
def test_what_is_skipped_is_reported_with_a_word(db, documents, tree):
    skipped = {file.path.name: file for file in db.add(tree).skipped}
    assert "noise.bin" in skipped
    assert not skipped["noise.bin"].is_error
    assert skipped["noise.bin"].why
    assert not documents.search("xylophone")


@pytest.mark.not_over("http", "files that are sent have names of their own, see test_remote")
def test_adding_again_is_incremental(db, documents, tree):
    first = db.add(tree)
    again = db.add(tree)
    assert (again.files_added, again.files_changed, again.files_unchanged) == (0, 0, first.files_added)
    assert again.bytes_read < first.bytes_read
    (tree / "sub" / "plain.txt").write_text("The boiler is serviced in October.\n")
    changed = db.add(tree)
    assert (changed.files_changed, changed.files_added) == (1, 0)
    assert not documents.search("March")
    assert documents.search("October")[0].payload["name"] == "plain.txt"


@pytest.mark.not_over("http", "files that are sent have names of their own, see test_remote")
def test_prune_removes_what_is_gone_and_only_below_the_path(db, documents, tree):
    db.add(tree)
    (tree / "keys.md").unlink()
    (tree / "sub" / "plain.txt").unlink()
    assert db.add(tree).files_pruned == 0
    assert documents.search("spare key")
    assert db.add(tree / "sub", prune=True).files_pruned == 1
    assert documents.search("spare key")
    assert db.add(tree, prune=True).files_pruned == 1
    assert not documents.search("spare key")


@pytest.mark.not_over("http", "files that are sent have names of their own, see test_remote")
def test_remove_files_takes_a_file_or_a_folder(db, documents, tree):
    db.add(tree)
    assert documents.remove_files(tree / "keys.md") == 1
    assert not documents.search("spare key")
    assert [Path(file.path).name for file in documents.files(tree / "sub")] == ["plain.txt"]
    assert documents.remove_files(str(tree / "sub")) == 1
    assert documents.remove_files(tree / "sub") == 0


@pytest.mark.not_over("http", "files that are sent have names of their own, see test_remote")
def test_files_tell_size_time_kind_and_passages(db, documents, tree):
    db.add(tree)
    [file] = documents.files(tree / "keys.md")
    assert file.bytes == (tree / "keys.md").stat().st_size
    assert file.mtime.timestamp() == pytest.approx((tree / "keys.md").stat().st_mtime, abs=1e-3)
    assert file.kind == "markdown"
    assert file.passages >= 1


def test_several_paths_and_another_collection(db, tree):
    other = db.collection("other", embedder="none")
    report = db.add([tree / "keys.md", str(tree / "sub")], other)
    assert report.files_added == 2
    assert other.search("boiler")
    assert db.add(tree / "code.py", "other").files_added == 1


def test_a_path_that_is_not_there_is_refused_before_anything_is_added(db, documents, tree):
    with pytest.raises(nuthatch.NotFoundError, match="nowhere"):
        db.add([tree, tree / "nowhere"])
    assert documents.count() == 0
    with pytest.raises(nuthatch.InvalidError, match="no path"):
        db.add([])


def test_files_over_the_limit_are_reported(db, documents, tree):
    (tree / "huge.txt").write_text("word " * 10_000)
    report = db.add(tree, max_file_bytes="10kB")
    assert [file.path.name for file in report.skipped if file.is_error and "huge" in str(file.path)] == ["huge.txt"]


def test_progress_is_told_in_the_callers_thread_and_ends_complete(db, documents, tree):
    import threading

    told, threads = [], set()

    def on_progress(progress):
        told.append(progress)
        threads.add(threading.get_ident())

    db.add(tree, on_progress=on_progress)
    assert told[-1].files_done == told[-1].files_total
    assert told[-1].bytes_done == told[-1].bytes_total > 0
    assert threads == {threading.get_ident()}


def test_an_error_in_the_progress_callback_stops_the_add_and_is_raised(db, documents, tmp_path):
    for n in range(300):
        (tmp_path / f"{n}.txt").write_text(f"number {n}\n\n" + f"filler {n} words. " * 60)

    def breaks(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        db.add(tmp_path, on_progress=breaks)
    stored = len(documents.files())
    assert 0 < stored < 300
    report = db.add(tmp_path)
    assert (report.files_unchanged, report.files_added) == (stored, 300 - stored)
    assert len(documents.files()) == 300


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_a_failing_embedder_fails_the_add_with_its_cause(db, tree):
    def breaks(texts):
        raise ConnectionResetError("dead")

    faulty = db.collection("faulty", embedder=nuthatch.embedders.function(breaks, name="faulty", dim=2))
    with pytest.raises(nuthatch.UnavailableError, match="faulty") as caught:
        db.add(tree, faulty)
    assert isinstance(caught.value.__cause__, ConnectionResetError)
    assert faulty.count() == 0
    assert faulty.files() == []


INTERRUPTED = """
import sys, time, nuthatch

def slow(texts):
    print("embedding", flush=True)
    time.sleep(0.2)
    return [[float(len(text)), 1.0] for text in texts]

with nuthatch.connect(sys.argv[1]) as db:
    slow_one = db.collection("documents", embedder=nuthatch.embedders.function(slow, name="slow", dim=2))
    try:
        db.add(sys.argv[2])
        print("not interrupted")
    except KeyboardInterrupt:
        print("interrupted", len(slow_one.files()), slow_one.count(), flush=True)
    print("then", db.add(sys.argv[2]).cancelled, len(slow_one.files()), flush=True)
"""


def test_ctrl_c_stops_an_add_between_batches_and_a_second_run_finishes(folder, tmp_path):
    documents = tmp_path / "documents"
    documents.mkdir()
    for n in range(1000):
        (documents / f"{n}.txt").write_text(f"note number {n} about something\n")
    process = run_python(INTERRUPTED, str(folder), str(documents))
    assert process.stdout.readline() == "embedding\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    lines = [line.split() for line in out.splitlines() if not line.startswith("embedding")]
    assert lines[0][0] == "interrupted", (out, err)
    files, passages = int(lines[0][1]), int(lines[0][2])
    assert 0 < files == passages < 1000, "a batch is there whole, the rest is not"
    assert lines[1] == ["then", "False", "1000"]


def test_kill_9_during_an_add_leaves_whole_files_and_a_second_run_finishes(folder, tmp_path):
    documents = tmp_path / "documents"
    documents.mkdir()
    for n in range(400):
        (documents / f"{n}.md").write_text(
            "".join(f"## Part {part}\n\nnote {n} {'word ' * 80}\n\n" for part in range(3))
        )
    process = run_python(INTERRUPTED, str(folder), str(documents))
    for _ in range(3):
        assert process.stdout.readline() == "embedding\n"
    process.kill()
    process.communicate()
    toy = nuthatch.embedders.function(lambda texts: [[float(len(text)), 1.0] for text in texts], name="slow", dim=2)
    with nuthatch.connect(folder) as db:
        collection = db.collection("documents", embedder=toy)
        before = collection.files()
        assert collection.count() == sum(file.passages for file in before)
        report = db.add(documents)
        assert (report.files_unchanged, report.files_added) == (len(before), 400 - len(before))
        assert len(collection.files()) == 400


def test_the_data_folder_inside_the_added_folder_is_passed_over(tmp_path):
    (tmp_path / "note.txt").write_text("the only document\n")
    with nuthatch.connect(tmp_path / "memory") as db:
        documents = db.collection("documents", embedder="none")
        db.add(tmp_path)
        assert [Path(file.path).name for file in documents.files()] == ["note.txt"]


def test_cells_of_a_sheet_are_stored_with_its_passages_and_can_be_asked_for(db, documents, tmp_path):
    rows = [("bird", "nests"), ("heron", "4"), ("kestrel", "2")]
    cells = ["".join(f"<table-cell><p>{cell}</p></table-cell>" for cell in row) for row in rows]
    table = "".join(f"<table-row>{row}</table-row>" for row in cells)
    with zipfile.ZipFile(tmp_path / "birds.ods", "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        package.writestr("content.xml", f'<body><spreadsheet><table name="Nests">{table}</table></spreadsheet></body>')
    (tmp_path / "plain.txt").write_text("A kestrel hovers.\n")
    db.add(tmp_path)
    found = {hit.payload["name"]: hit.payload.get("place") for hit in documents.search("kestrel")}
    assert found == {"birds.ods": "Nests!A1:B3", "plain.txt": None}
    assert [hit.payload["name"] for hit in documents.search("kestrel", where="place = 'Nests!A1:B3'")] == ["birds.ods"]


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_only_passages_that_changed_are_embedded_again(db, tmp_path):
    embedded = []

    def counted(texts):
        embedded.extend(texts)
        return toy_embed(texts)

    db.collection("documents", embedder=nuthatch.embedders.function(counted, name="toy", dim=16))
    note = tmp_path / "note.md"
    parts = [
        "".join(f"## Part {part}\n\nthe story of number {part} " + f"goes on {part} " * 60 + "\n\n")
        for part in range(5)
    ]
    note.write_text("".join(parts))
    first = db.add(tmp_path)
    assert len(embedded) == first.passages_added >= 5
    embedded.clear()

    later = time.time() + 60
    os.utime(note, (later, later))
    assert db.add(tmp_path).files_unchanged == 1
    assert embedded == []

    parts[4] = "## Part 4\n\nanother story altogether " + "and on it goes " * 40 + "\n\n"
    note.write_text("".join(parts))
    report = db.add(tmp_path)
    assert report.files_changed == 1
    assert report.passages_reused > 0
    assert len(embedded) == report.passages_added - report.passages_reused
    assert all("another story" in text or "Part 4" in text or "and on it goes" in text for text in embedded)

    # Another splitter: these parts come out as they were.
    embedded.clear()
    report = db.add(tmp_path, passage_chars=901)
    assert (report.files_changed, report.passages_reused) == (1, report.passages_added)
    assert embedded == []
