"""Embedders: functions, endpoints, the default model, and what keeps them apart."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import subprocess
import sys
import threading

import faces
import pytest
from support import toy_embed, unchanged

import nuthatch
from nuthatch import embedders


class Endpoint(http.server.ThreadingHTTPServer):
    """Speaks POST /v1/embeddings; ``answers`` are statuses to give before it does so."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests, self.answers = [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers.get("Authorization"), body))
        status = self.server.answers.pop(0) if self.server.answers else 200
        vectors = toy_embed(body["input"])
        content = {"data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]}
        answer = json.dumps(content if status == 200 else {"error": "not now"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def endpoint():
    endpoint = Endpoint()
    yield endpoint
    endpoint.shutdown()
    endpoint.server_close()


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_a_function_embeds_texts_and_questions(db):
    toy = embedders.function(toy_embed, name="toy", dim=16)
    notes = db.collection("notes", embedder=toy)
    notes.upsert(
        [{"id": "a", "text": "red fish"}, {"id": "b", "text": "green bird"}, {"id": "own", "vector": [1.0] * 16}]
    )
    hit = notes.search("green bird", mode="vector", limit=1)[0]
    assert hit.id == "b"
    assert hit.score == pytest.approx(1.0)
    assert notes.info().embedder == "toy"
    assert notes.search("green bird")[0].legs.vector.rank == 1
    assert (toy.name, toy.dim) == ("toy", 16)
    assert toy.embed(["red fish"])[0] == pytest.approx(toy.embed_query("red fish"))


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_a_callable_with_name_and_dim_is_an_embedder_as_it_stands(db):
    class Toy:
        name, dim = "toy", 16

        def __call__(self, texts):
            return toy_embed(texts)

    notes = db.collection("notes", embedder=Toy())
    notes.upsert([{"id": "a", "text": "red fish"}])
    assert notes.search("red", mode="vector")[0].id == "a"


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_a_function_may_give_a_numpy_matrix(db):
    numpy = pytest.importorskip("numpy")
    toy = embedders.function(lambda texts: numpy.array(toy_embed(texts), dtype="f8"), name="toy", dim=16)
    assert db.collection("notes", embedder=toy).upsert([{"id": "a", "text": "x"}]) == (1, 0)


@pytest.mark.parametrize(
    ("gives", "named"),
    [
        (lambda texts: [], "0 entries for 1"),
        (lambda texts: [[1.0]] * len(texts), "dimension 1, but 2"),
        (lambda texts: [[1.0, float("nan")]] * len(texts), "NaN"),
        (lambda texts: [None] * len(texts), "None for text 0"),
        (lambda texts: None, "NoneType"),
        (lambda texts: 1 / 0, "division by zero"),
    ],
)
@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_a_function_that_fails_is_named_and_nothing_is_stored(db, gives, named):
    notes = db.collection("notes", embedder=embedders.function(gives, name="faulty", dim=2))
    with unchanged(notes), pytest.raises(nuthatch.UnavailableError, match=f"faulty.*{named}|{named}.*faulty"):
        notes.upsert([{"id": "a", "text": "x"}])


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_what_a_function_raises_is_the_cause_of_the_error(db):
    def breaks(texts):
        raise ConnectionResetError("the line is dead")

    notes = db.collection("notes", embedder=embedders.function(breaks, name="faulty", dim=2))
    with pytest.raises(nuthatch.UnavailableError) as caught:
        notes.upsert([{"id": "a", "text": "x"}])
    assert isinstance(caught.value.__cause__, ConnectionResetError)
    notes.upsert([{"id": "a", "text": "x", "vector": [1, 2]}])
    with pytest.raises(nuthatch.UnavailableError) as caught:
        notes.search("x", mode="vector")
    assert isinstance(caught.value.__cause__, ConnectionResetError)
    with pytest.raises(nuthatch.InvalidError) as caught:
        notes.search("x", mode="text", where="n >")
    assert caught.value.__cause__ is None
    with pytest.raises(nuthatch.UnavailableError, match="the line is dead"):
        notes.search_many(["x", "y"], mode="vector")


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_an_interrupt_inside_a_function_is_an_interrupt(db):
    def interrupted(texts):
        raise KeyboardInterrupt

    notes = db.collection("notes", embedder=embedders.function(interrupted, name="slow", dim=2))
    with unchanged(notes), pytest.raises(KeyboardInterrupt):
        notes.upsert([{"id": "a", "text": "x"}])


def test_another_embedder_is_refused_and_both_are_named(folder):
    toy = embedders.function(toy_embed, name="toy", dim=16)
    with nuthatch.connect(folder) as db:
        db.collection("notes", embedder=toy).upsert([{"id": "a", "text": "red fish"}])
    other = embedders.function(toy_embed, name="other", dim=16)
    with nuthatch.connect(folder) as db:
        with pytest.raises(nuthatch.InvalidError, match='(?s)"toy".*"other"'):
            db.collection("notes", embedder=other)
        notes = db.collection("notes")
        with pytest.raises(nuthatch.UnavailableError, match='"toy".*pass it'):
            notes.upsert([{"id": "b", "text": "green bird"}])
        assert notes.search("fish", mode="text")[0].id == "a"
        notes = db.collection("notes", embedder=toy)
        notes.upsert([{"id": "b", "text": "green bird"}])
        assert notes.search("green bird", mode="vector")[0].id == "b"


def test_embedder_none_keeps_texts_without_vectors(db):
    notes = db.collection("notes", embedder="none")
    notes.upsert([{"id": "a", "text": "x"}])
    assert notes.info().vectors == 0
    assert notes.info().embedder is None
    with pytest.raises(nuthatch.InvalidError, match="none"):
        db.collection("notes", embedder=embedders.function(toy_embed, name="toy", dim=16))


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_an_endpoint_embeds_in_batches_with_the_key(db, endpoint):
    remote = embedders.openai(endpoint.url, "toy-model", "secret", batch=10)
    assert (remote.name, remote.dim) == ("toy-model", 16)
    assert "secret" not in repr(remote)
    endpoint.requests.clear()
    notes = db.collection("notes", embedder=remote)
    notes.upsert([{"id": str(n), "text": f"word{n} here"} for n in range(25)])
    assert [len(body["input"]) for _, _, body in endpoint.requests] == [10, 10, 5]
    assert {(path, key) for path, key, _ in endpoint.requests} == {("/v1/embeddings", "Bearer secret")}
    assert {body["model"] for _, _, body in endpoint.requests} == {"toy-model"}
    assert notes.search("word7 here", mode="vector", limit=1)[0].id in {"7"} | {str(n) for n in range(25)}


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_an_endpoint_that_stumbles_is_asked_again(db, endpoint):
    remote = embedders.openai(endpoint.url, "toy-model", dim=16, retries=2)
    endpoint.answers = [503, 429]
    assert db.collection("notes", embedder=remote).upsert([{"id": "a", "text": "x"}]) == (1, 0)
    assert len(endpoint.requests) == 3


@pytest.mark.not_over("http", "an embedder of this process is not the server's")
def test_an_endpoint_that_stays_down_is_named_and_nothing_is_stored(db, endpoint):
    remote = embedders.openai(endpoint.url, "toy-model", dim=16, retries=0)
    notes = db.collection("notes", embedder=remote)
    endpoint.answers = [500]
    with unchanged(notes), pytest.raises(nuthatch.UnavailableError, match=f"{endpoint.url}.*500"):
        notes.upsert([{"id": "a", "text": "x"}])
    endpoint.answers = [401]
    with pytest.raises(nuthatch.UnavailableError, match="401"):
        notes.upsert([{"id": "a", "text": "x"}])


def test_nobody_at_the_endpoint_is_said_at_once():
    with pytest.raises(nuthatch.UnavailableError, match="did not answer"):
        embedders.openai("http://127.0.0.1:9/v1", "toy-model", retries=0, timeout=5)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"base_url": "localhost:11434"}, "base_url"),
        ({"model": ""}, "model"),
        ({"batch": 0}, "batch"),
        ({"dim": 0}, "dim"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
    ],
)
def test_endpoint_options_that_cannot_work_are_refused(options, named):
    with pytest.raises(nuthatch.InvalidError, match=named):
        embedders.openai(**{"base_url": "http://127.0.0.1:9", "model": "m", "dim": 2, **options})


def test_function_options_that_cannot_work_are_refused():
    with pytest.raises(nuthatch.InvalidError, match="callable"):
        embedders.function(5, name="x", dim=2)
    with pytest.raises(nuthatch.InvalidError, match="name"):
        embedders.function(toy_embed, name="", dim=2)
    with pytest.raises(nuthatch.InvalidError, match="dim"):
        embedders.function(toy_embed, name="x", dim=0)


@pytest.mark.usefixtures("default_model")
def test_the_default_model_finds_by_meaning_without_being_asked_for(db):
    notes = db.collection("notes")
    notes.upsert(
        [
            {"id": "login", "text": "How to recover access when you forgot your credentials"},
            {"id": "bread", "text": "Let the dough rest for an hour before baking"},
        ]
    )
    assert notes.search("reset a password", limit=1)[0].id == "login"
    assert notes.info().dim == 384
    assert notes.info().embedder
    assert db.stats().memory.embedder_bytes > 0


@pytest.mark.usefixtures("default_model")
def test_embedding_leaves_nothing_in_the_home_folder(tmp_path):
    home, memory = tmp_path / "home", tmp_path / "memory"
    home.mkdir()
    program = """
import sys, nuthatch
with nuthatch.connect(sys.argv[1]) as db:
    db.collection("notes").upsert([{"id": "a", "text": "a nuthatch hides seeds"}])
    print(db.collection("notes").search("bird", limit=1)[0].id)
"""
    # As it is in an environment that forbids nothing.
    kept = {
        name: value for name, value in os.environ.items() if "TELEMETRY" not in name and not name.startswith("XDG_")
    }
    ran = subprocess.run(
        [sys.executable, "-c", program, str(memory)],
        env={**kept, "HOME": str(home), "USERPROFILE": str(home)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stdout.strip() == "a", ran.stderr
    assert list(home.rglob("*")) == []


@pytest.mark.usefixtures("default_model")
def test_another_embedder_on_a_collection_of_the_default_is_refused(db):
    db.collection("notes", embedder="default").upsert([{"id": "a", "text": "x"}])
    with pytest.raises(nuthatch.InvalidError, match="(?s)minilm.*toy"):
        db.collection("notes", embedder=embedders.function(toy_embed, name="toy", dim=16))
    with pytest.raises(nuthatch.InvalidError, match="384.*16"):
        db.collection("notes", dim=16)


@pytest.mark.usefixtures("static_model")
@pytest.mark.parametrize("place", [contextlib.nullcontext, faces.held, faces.served])
def test_the_static_model_is_taken_by_its_name_and_found_again_without_it(folder, place):
    with place(folder) as address, nuthatch.connect(address) as db:
        notes = db.collection("notes", embedder="static")
        notes.upsert([{"id": "a", "text": "a a a"}, {"id": "b", "text": "b b"}])
        assert (notes.info().dim, notes.info().embedder) == (2, "wordllama-256")
        again = db.collection("notes")
        assert [hit.id for hit in again.search("a a b", mode="vector")] == ["a", "b"]
        assert [hit.id for hit in again.search("b", mode="vector")] == ["b", "a"]
        assert list(again.get(["a"], include=["vector"])[0].vector) == [1.0, 0.0]


@pytest.mark.usefixtures("static_model")
def test_a_folder_that_is_opened_again_finds_its_static_model(folder, static_model):
    with nuthatch.connect(folder) as db:
        db.collection("notes", embedder="static").upsert([{"id": "a", "text": "a"}, {"id": "b", "text": "b"}])
    with nuthatch.connect(folder) as db:
        notes = db.collection("notes")
        notes.upsert([{"id": "c", "text": "a a b"}])
        assert [hit.id for hit in notes.search("a", mode="vector")] == ["a", "c", "b"]
        with pytest.raises(nuthatch.InvalidError, match="(?s)wordllama-256.*toy"):
            db.collection("notes", embedder=embedders.function(toy_embed, name="toy", dim=2))
    (static_model / "table.f16").write_bytes(bytes(24))
    with nuthatch.connect(folder) as db, pytest.raises(nuthatch.UnavailableError, match=r"table\.f16.*install static"):
        db.collection("notes").search("a", mode="vector")


def test_without_the_static_model_the_error_says_what_to_run(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("NUTHATCH_STATIC_MODEL_DIR", str(tmp_path / "nowhere"))
    with nuthatch.connect(folder) as db:
        with pytest.raises(nuthatch.UnavailableError, match=r"wordllama-256 .*nowhere.*nuthatch\.model install static"):
            db.collection("notes", embedder="static")
        assert db.collections() == []
