"""Remote databases only: keys, tenants, time limits, retries, and calls that are unavailable."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import socket
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import faces
import pytest
from support import REPOSITORY

import nuthatch
from nuthatch.remote.collection import Collection
from nuthatch.remote.keyspace import Keyspace

CERTIFICATES = REPOSITORY / "crates" / "server" / "tests" / "certificates"
COMMAND = Path(sysconfig.get_path("scripts"), "nuthatch")


@pytest.fixture
def url(server: str) -> Iterator[str]:
    yield server
    faces.empty(server)


@pytest.fixture
def remote(url: str) -> Iterator[nuthatch.Database]:
    with nuthatch.connect(url) as db:
        yield db


def test_the_same_classes_ask_a_server(remote, url):
    assert (remote.path, remote.tenant_name, repr(remote)) == (url, None, f"Database('{url}')")
    notes = remote.collection("notes", dim=2, metric="l2", embedder="none")
    when = dt.datetime(2025, 1, 31, 12, 30, 0, 5, dt.timezone.utc)
    record = {
        "id": "a",
        "text": "red fish",
        "vector": [0.1, 1],
        "payload": {"n": 1, "at": when, "deep": [{"on": when}]},
    }
    assert notes.upsert([record]) == (1, 0)
    (found,) = notes.scan(include=["text", "payload", "vector"])
    with nuthatch.connect(":memory:") as db:
        twin = db.collection("notes", dim=2, metric="l2", embedder="none")
        twin.upsert([record])
        assert found == twin.get("a", include=["text", "payload", "vector"])
        asked = {"vector": [0.3, 1.1], "where": "at >= '2025-01-01'", "include": ["payload", "vector"]}
        assert notes.search("fish", **asked).to_dicts() == twin.search("fish", **asked).to_dicts()
    assert notes.wait_until_indexed(60) and notes.optimize(60)
    assert notes.wait_until_indexed(0) and notes.info().fresh_rows == 0
    assert (
        [info.name for info in remote.collections()] == ["notes"] == [info.name for info in remote.stats().collections]
    )
    assert repr(notes) == "Collection('notes', dim=2, metric='l2', rows=1)"
    assert remote.doctor().is_well
    receipt = remote.erase("notes", "a")
    assert (receipt.deleted_records, remote.receipts()[-1]) == (1, receipt)
    assert remote.reclaim("notes").collection == "notes"
    report = remote.backup()
    assert report.backup.collections == ["notes"] and report.backup.damaged is None and report.backup.format > 0


NOT_TO_BE_HAD: list[tuple[str, Callable[[nuthatch.Database], object], str]] = [
    ("holder", lambda db: db.holder, "the server does"),
    ("export", lambda db: db.export_to("there"), "nuthatch export"),
    ("import", lambda db: db.import_from("there"), "nuthatch import"),
    ("backup elsewhere", lambda db: db.backup("there"), "leave place out"),
    ("progress of a backup", lambda db: db.backup(on_progress=print), "leave on_progress out"),
    (
        "own embedders",
        lambda db: db.collection("c", embedder=nuthatch.embedders.function(len, name="f", dim=2)),
        "none",
    ),
]


@pytest.mark.parametrize(("call", "remedy"), [pytest.param(*rest, id=name) for name, *rest in NOT_TO_BE_HAD])
def test_what_a_server_does_not_offer_is_refused_with_what_to_do_instead(remote, call, remedy):
    with pytest.raises(nuthatch.InvalidError, match=f"is not available over HTTP; .*{remedy}"):
        call(remote)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"memory_budget": "64MiB"}, "memory_budget.*are for folders"),
        ({"create": False}, "create.*are for folders"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": "1s"}, "timeout='1s'"),
        ({"api_key": 5}, "api_key=5"),
        ({"api_key": "two\nlines"}, "invalid api_key"),
        ({"ca": "there.pem"}, "are for https"),
    ],
)
def test_options_that_do_not_fit_a_server_are_refused(url, options, named):
    with pytest.raises(nuthatch.InvalidError, match=named):
        nuthatch.connect(url, **options)


@pytest.mark.parametrize(
    "options", [{"api_key": "k"}, {"tenant": "t"}, {"timeout": 5}, {"ca": "f"}, {"client_cert": "f"}]
)
def test_options_of_servers_are_refused_for_folders(options):
    with pytest.raises(nuthatch.InvalidError, match="are for servers"):
        nuthatch.connect(":memory:", **options)


@pytest.mark.parametrize(
    "address", ["http://", "http://127.0.0.1:port", "http://127.0.0.1/?a=b", "http://a:b@127.0.0.1"]
)
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(nuthatch.InvalidError, match="path="):
        nuthatch.connect(address)


def test_a_server_that_is_not_there_is_unavailable_and_named():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(nuthatch.UnavailableError, match=f"no server at {address}.*is it running"):
            nuthatch.connect(address, timeout=5)


def test_after_closing_everything_says_so(url):
    db = nuthatch.connect(url)
    kv, notes, batch = db.kv("k"), db.collection("notes", embedder="none"), db.batch()
    db.close()
    db.close()
    for call in (
        lambda: kv["a"],
        notes.count,
        db.stats,
        batch.commit,
        db.keyspaces,
        lambda: batch.kv("k").put("a", "b"),
    ):
        with pytest.raises(nuthatch.ClosedError, match="closed"):
            call()


def test_a_tenants_handle_and_a_chosen_tenant_see_the_same(remote, url):
    acme = remote.create_tenant("acme", nuthatch.TenantLimits(vectors=5))
    acme.kv("k")["a"] = "acme's"
    assert "a" not in remote.kv("k")
    with nuthatch.connect(url, tenant="acme") as chosen:
        assert (chosen.tenant_name, chosen.kv("k")["a"], chosen.limits().vectors) == ("acme", b"acme's", 5)
        assert chosen.usage() == acme.usage() and chosen.usage().bytes > 0
    acme.close()
    assert remote.kv("k").get("a") is None, "closing a tenant's handle closes nothing"
    with pytest.raises(nuthatch.NotFoundError):
        nuthatch.connect(url, tenant="nobody")


def test_keys_say_who_asks_and_what_they_may(tmp_path):
    folder = tmp_path / "memory"

    def key(*options: str) -> str:
        made = subprocess.run(
            [COMMAND, "--data-dir", folder, "key", "create", *options], capture_output=True, text=True, check=True
        )
        return next(word for word in made.stdout.split() if word.startswith("nuthatch_"))

    nuthatch.connect(folder).close()
    admin, reader = key("all", "--scope", "admin"), key("look", "--scope", "read")
    with faces.served(folder) as url:
        for options, named in (
            ({}, "send `Authorization"),
            ({"api_key": "nuthatch_0_0"}, "missing or invalid API key"),
        ):
            with pytest.raises(nuthatch.ForbiddenError, match=named):
                nuthatch.connect(url, **options)
        with nuthatch.connect(url, api_key=admin) as db, nuthatch.connect(url, api_key=reader) as looking:
            db.kv("k")["a"] = "1"
            assert looking.kv("k", create=False)["a"] == b"1"
            for call in (lambda: looking.kv("k"), lambda: looking.kv("k", create=False).put("a", "2"), looking.stats):
                with pytest.raises(nuthatch.ForbiddenError, match="scopes read"):
                    call()
            db.create_tenant("acme")
            theirs = key("theirs", "--tenant", "acme", "--scope", "admin")
            with nuthatch.connect(url, api_key=theirs) as acme:
                assert (acme.tenant_name, acme.keyspaces()) == ("acme", [])
                with pytest.raises(nuthatch.ForbiddenError):
                    acme.stats()
                acme.collection("notes", embedder="none").upsert([{"id": "a", "text": "t"}])
                receipt = acme.erase("notes", ids=["a"])
                assert (receipt.tenant, receipt.deleted_records) == ("acme", 1)
                assert receipt.bytes_before is receipt.ended_snapshots is None, "they would tell of others"
            with pytest.raises(nuthatch.ForbiddenError, match="another tenant"):
                nuthatch.connect(url, api_key=theirs, tenant="default")


def test_a_key_that_may_only_write_is_enough_to_write(tmp_path):
    folder = tmp_path / "memory"
    nuthatch.connect(folder).close()

    def key(scope: str) -> str:
        command = [COMMAND, "--data-dir", folder, "key", "create", f"{scope}-job", "--scope", scope]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        return next(word for word in made.stdout.split() if word.startswith("nuthatch_"))

    reader, writer = key("read"), key("write")
    with (
        faces.served(folder) as url,
        nuthatch.connect(url, api_key=writer) as writing,
        nuthatch.connect(url, api_key=reader) as reading,
    ):
        notes = writing.collection("notes", embedder="none")
        assert notes.upsert([{"id": "a", "text": "osprey"}]).inserted == 1
        writing.kv("k")["a"] = "1"
        # A keyspace is opened without looking: whether it is there, the first write finds out.
        again = writing.collection("notes")
        assert again.upsert([{"id": "b", "text": "heron"}]).inserted == 1
        writing.kv("k", create=False).put("b", "2")
        for call in (notes.count, lambda: notes.search("osprey"), lambda: writing.kv("k")["a"]):
            with pytest.raises(nuthatch.ForbiddenError, match="scopes write"):
                call()
        assert reading.kv("k", create=False)["b"] == b"2"


def test_tls_with_an_authority_and_a_certificate_of_ones_own(tmp_path):
    flags = ["--tls-cert", str(CERTIFICATES / "server.pem"), "--tls-key", str(CERTIFICATES / "server.key")]
    with faces.served(tmp_path / "memory", *flags, "--tls-client-ca", str(CERTIFICATES / "ca.pem")) as url:
        own = (CERTIFICATES / "client.pem", CERTIFICATES / "client.key")
        address = url.replace("127.0.0.1", "localhost")
        with nuthatch.connect(address, ca=CERTIFICATES / "ca.pem", client_cert=own) as db:
            db.kv("k")["a"] = "1"
            assert db.kv("k")["a"] == b"1"
        with pytest.raises(nuthatch.UnavailableError, match="name it with ca="):
            nuthatch.connect(address, client_cert=own)
        with pytest.raises(nuthatch.UnavailableError):
            nuthatch.connect(address, ca=CERTIFICATES / "ca.pem")
        with pytest.raises(nuthatch.InvalidError, match="nowhere.pem"):
            nuthatch.connect(address, ca="nowhere.pem")


class Scripted(ThreadingHTTPServer):
    """A server that answers as it is told, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self, answer: Callable[[int, str], tuple[int, dict[str, str], bytes] | None]) -> None:
        self.asked: list[str] = []
        #: Of the last request.
        self.last: socket.socket | None = None
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def handle_one(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                said: tuple[int, dict[str, str], bytes] | None
                if self.path == "/v1/caller":
                    said = 200, {}, b'{"tenant": null, "body_bytes_max": 1000}'
                else:
                    scripted.asked.append(f"{self.command} {self.path}")
                    scripted.last = self.connection
                    said = answer(len(scripted.asked), self.path)
                if said is None:  # breaks off
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status, headers, body = said
                self.send_response(status)
                for name, value in {"content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_PUT = do_POST = do_DELETE = handle_one

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """A client that has gone is no news."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


BUSY = (
    b'{"status": 503, "title": "", "kind": "unavailable", "detail": "too many requests", "remedy": "try again later"}'
)
PROBLEM = {"content-type": "application/problem+json"}


def keyspace_of(db: nuthatch.Database) -> nuthatch.Keyspace:
    """One that the server was not asked for."""
    return nuthatch.Keyspace(Keyspace(db._core._caller, "k", None))


def test_what_was_refused_before_it_began_is_tried_again_whatever_it_was():
    def answer(count: int, path: str) -> tuple[int, dict[str, str], bytes]:
        return (503, {**PROBLEM, "retry-after": "0"}, BUSY) if count < 3 else (200, {}, b'{"value": 7}')

    with Scripted(answer) as server, nuthatch.connect(server.url) as db:
        assert keyspace_of(db).increment("n") == 7
        assert server.asked == ["POST /v1/keyspaces/k/increment"] * 3


def test_a_write_that_broke_off_is_not_repeated_and_a_read_is():
    def answer(count: int, path: str) -> tuple[int, dict[str, str], bytes] | None:
        return (200, {}, b'{"values": ["x"]}') if count == 3 else None

    with Scripted(answer) as server, nuthatch.connect(server.url) as db:
        kv = keyspace_of(db)
        with pytest.raises(nuthatch.UnavailableError, match="broke off.*may have been done"):
            kv.increment("n")
        assert kv.get_many(["a"]) == [b"x"]
        assert server.asked == ["POST /v1/keyspaces/k/increment", *["POST /v1/keyspaces/k/get"] * 2]


def test_what_is_unavailable_without_a_word_about_trying_again_is_said_at_once():
    with Scripted(lambda *_: (503, PROBLEM, BUSY)) as server, nuthatch.connect(server.url) as db:
        with pytest.raises(nuthatch.UnavailableError, match="too many requests"):
            db.keyspaces()
        assert len(server.asked) == 1


def test_an_answer_that_is_not_from_a_nuthatch_server_is_said_to_be_so():
    html = {"content-type": "text/html"}
    said = pytest.raises(nuthatch.UnavailableError, match="answered 502 with text/html.*check the address")
    with Scripted(lambda *_: (502, html, b"<html>")) as server, nuthatch.connect(server.url) as db, said:
        db.keyspaces()
    said = pytest.raises(nuthatch.UnavailableError, match="did not answer with JSON")
    with Scripted(lambda *_: (200, html, b"<html>")) as server, nuthatch.connect(server.url) as db, said:
        db.keyspaces()


def test_a_server_that_does_not_answer_in_time_is_unavailable():
    leave = threading.Event()

    def answer(*_: object) -> tuple[int, dict[str, str], bytes]:
        leave.wait(60)
        return 200, {}, b"{}"

    with Scripted(answer) as server, nuthatch.connect(server.url, timeout=0.2) as db:
        try:
            with pytest.raises(nuthatch.UnavailableError, match="did not answer within 0.2 s"):
                db.keyspaces()
        finally:
            leave.set()
        assert len(server.asked) == 1, "it is not asked again: it may be at work"


def test_a_write_that_is_not_answered_in_time_is_said_to_be_perhaps_done():
    leave = threading.Event()

    def answer(*_: object) -> tuple[int, dict[str, str], bytes]:
        leave.wait(60)
        return 200, {}, b"{}"

    with Scripted(answer) as server, nuthatch.connect(server.url, timeout=0.2) as db:
        kv = keyspace_of(db)
        notes = nuthatch.Collection(Collection(db._core._caller, "notes"))
        writes = [
            lambda: kv.put("a", "1"),
            lambda: kv.increment("n"),
            lambda: notes.upsert([{"id": "a", "text": "x"}]),
            lambda: notes.delete("a"),
            lambda: db.collection("other", embedder="none"),
        ]
        try:
            for write in writes:
                with pytest.raises(nuthatch.UnavailableError, match="did not answer within 0.2 s.*may have been done"):
                    write()
            for read in (lambda: kv.get("a"), lambda: notes.search("x"), db.keyspaces):
                with pytest.raises(nuthatch.UnavailableError, match="did not answer within 0.2 s; give connect"):
                    read()
        finally:
            leave.set()
        assert len(server.asked) == len(writes) + 3, "none is asked again"


def test_a_search_whose_task_is_cancelled_hangs_up_and_is_not_asked_again():
    asked, gone = threading.Event(), threading.Event()

    def answer(count: int, path: str) -> tuple[int, dict[str, str], bytes]:
        if path.endswith(("/search", "/search-many")):
            connection = server.last
            assert connection is not None
            connection.settimeout(60)
            asked.set()
            assert connection.recv(1) == b"", "the client says no more"
            gone.set()
        return 200, {}, b'{"count": 3}'

    async def main(db: nuthatch.AsyncDatabase) -> None:
        notes = await db.collection("notes", embedder="none")
        for search in (lambda: notes.search("x"), lambda: notes.search_many(["x", "y"])):
            asked.clear()
            gone.clear()
            searching = asyncio.create_task(search())
            assert await asyncio.to_thread(asked.wait, 60)
            searching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await searching
            assert await asyncio.to_thread(gone.wait, 60)
        assert await notes.count() == 3, "other requests go on"

    with Scripted(answer) as server, nuthatch.connect(server.url) as db:
        asyncio.run(main(nuthatch.AsyncDatabase(db)))
        assert [path.rpartition("/")[2] for path in server.asked] == ["notes", "search", "search-many", "count"]


def test_a_request_that_is_too_large_is_refused_before_it_is_sent():
    with Scripted(lambda *_: (200, {}, b"{}")) as server, nuthatch.connect(server.url) as db:
        notes = db.collection("notes", embedder="none")
        with pytest.raises(nuthatch.ExhaustedError, match="takes .* MiB at a time; split it"):
            notes.upsert([{"id": "a", "text": "x" * 2000}])
        assert len(server.asked) == 1, "the collection was made, and nothing else sent"


def test_many_threads_share_the_connections(remote):
    kv = remote.kv("k")

    def work(worker: int) -> None:
        for n in range(20):
            kv.put(f"{worker}/{n}", str(n), durability="os")
            assert kv[f"{worker}/{n}"] == str(n).encode()

    with ThreadPoolExecutor(48) as pool:
        list(pool.map(work, range(48)))
    assert kv.count_estimate() == 48 * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_has_connections_of_its_own(remote):
    kv = remote.kv("k")
    kv["a"] = "parent's"
    pid = os.fork()
    if pid == 0:
        try:
            kv["b"] = kv["a"]
        finally:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert kv["b"] == b"parent's"


class Listening:
    """A socket that takes connections and does with each what it is told, one after the other."""

    def __init__(self, *each: Callable[[socket.socket], None]) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, args=(each,), daemon=True)

    def _serve(self, each: Iterable[Callable[[socket.socket], None]]) -> None:
        for one in each:
            connection, _ = self._socket.accept()
            with connection:
                connection.settimeout(60)
                one(connection)

    def __enter__(self) -> Listening:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)
        self._socket.close()


def said(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


CALLER = said(b'{"tenant": null, "body_bytes_max": 1000}')


def test_a_request_travels_in_one_piece():
    received = []

    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(CALLER)
        received.append(connection.recv(65536))
        connection.sendall(said(b'{"value": 7}'))

    with Listening(answer) as server, nuthatch.connect(server.url) as db:
        assert keyspace_of(db).increment("n") == 7
    head, _, body = received[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/keyspaces/k/increment HTTP/1.1") and json.loads(body)["key"] == "n"


def test_a_connection_that_the_server_has_closed_meanwhile_is_not_used_again():
    closed = threading.Event()

    def answer_and_close(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(CALLER)
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(said(b'{"value": 7}'))

    with Listening(answer_and_close, answer) as server, nuthatch.connect(server.url) as db:
        assert closed.wait(60)
        assert keyspace_of(db).increment("n") == 7, "a write, which is not tried again once it may have arrived"


def test_an_answer_in_pieces_and_in_chunks_is_whole():
    chunked = b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"val\r\n8\r\nue": 7}\n\r\n0\r\n\r\n'
    whole = CALLER + chunked

    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(CALLER)
        connection.recv(65536)
        for at in range(len(CALLER), len(whole)):
            connection.sendall(whole[at : at + 1])

    with Listening(answer) as server, nuthatch.connect(server.url) as db:
        assert keyspace_of(db).increment("n") == 7


def test_an_answer_that_ends_early_is_no_answer():
    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(CALLER)
        connection.recv(65536)
        connection.sendall(said(b'{"value": 7}')[:-3])

    broken = pytest.raises(nuthatch.UnavailableError, match="broke off.*may have been done")
    with Listening(answer) as server, nuthatch.connect(server.url) as db, broken:
        keyspace_of(db).increment("n")


def test_another_address_that_a_server_names_is_not_asked():
    elsewhere = {"location": "http://127.0.0.1:1/"}
    refused = pytest.raises(nuthatch.UnavailableError, match="answered 302")
    with Scripted(lambda *_: (302, elsewhere, b"")) as server, nuthatch.connect(server.url) as db, refused:
        db.keyspaces()


def test_ctrl_c_ends_a_request_that_waits():
    script = """
import os, signal, socket, threading, nuthatch
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
server = socket.create_server(("127.0.0.1", 0))
def never_answer():
    connection, _ = server.accept()
    connection.recv(65536)
    os.kill(os.getpid(), signal.SIGINT)
    assert connection.recv(1) == b"", "the client hangs up"
    print("gone", flush=True)
thread = threading.Thread(target=never_answer)
thread.start()
try:
    nuthatch.connect(f"http://127.0.0.1:{server.getsockname()[1]}", timeout=3600)
except KeyboardInterrupt:
    print("interrupted", flush=True)
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "gone" in done.stdout and "interrupted" in done.stdout, done.stderr


def test_certificates_of_the_systems_authorities_are_trusted(tmp_path):
    flags = ["--tls-cert", str(CERTIFICATES / "server.pem"), "--tls-key", str(CERTIFICATES / "server.key")]
    script = "import sys, nuthatch; nuthatch.connect(sys.argv[1]).close()"
    with faces.served(tmp_path / "memory", *flags) as url:
        address = url.replace("127.0.0.1", "localhost")
        for trusted, is_trusted in ((CERTIFICATES / "ca.pem", True), (CERTIFICATES / "server.key", False)):
            environment = {**os.environ, "SSL_CERT_FILE": str(trusted)}
            done = subprocess.run(
                [sys.executable, "-c", script, address], env=environment, capture_output=True, text=True, timeout=60
            )
            assert (done.returncode == 0) == is_trusted, done.stderr
            assert is_trusted or "name it with ca=" in done.stderr


@pytest.mark.parametrize(
    ("name", "text"), [("no.pem", "no certificate"), ("half.pem", "-----BEGIN CERTIFICATE-----\n?\n")]
)
def test_a_file_without_certificates_is_refused_by_name(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    for options in ({"ca": tmp_path / name}, {"client_cert": (tmp_path / name, CERTIFICATES / "client.key")}):
        with pytest.raises(nuthatch.InvalidError, match=name):
            nuthatch.connect("https://localhost:1", **options)


def test_bodies_larger_than_any_buffer_arrive_whole(remote):
    kv = remote.kv("k")
    value = os.urandom(3 << 20)
    kv["large"] = value
    assert kv["large"] == value


def test_names_and_keys_of_any_bytes_arrive(remote):
    kv = remote.kv("k")
    for key in (b"a/b", b"..", b".", b"%41", b"\xff\x00", "ä ☃?#".encode(), b"k" * 5000, b" "):
        kv[key] = key
        assert (kv[key], key in kv, kv.ttl(key)) == (key, True, None)
        assert kv.count_estimate(key) == 1 or key in (b".",)
    assert kv.scan(start=b"\xff").keys == [b"\xff\x00"]
    assert b"a" not in kv and b"k" * 4999 not in kv
    notes = remote.collection("notes", embedder="none")
    notes.upsert([{"id": "a/../b ☃", "text": "x"}])
    assert notes.get("a/../b ☃").text == "x" and notes.delete("a/../b ☃") == 1


def test_names_are_allowed_and_refused_as_they_are_without_a_server(remote, db):
    def made(db: nuthatch.Database, name: str) -> list[str]:
        said = []
        for call in (lambda: db.kv(name), lambda: db.collection(name, embedder="none"), lambda: db.create_tenant(name)):
            try:
                said.append(call().__class__.__name__)
            except nuthatch.InvalidError as error:
                said.append(type(error).__name__)
        return said

    for name in ("..", ".", "a/b", "", "a b", "ä", "x" * 200, "x" * 201, "\ud800", "a%2Fb"):
        assert made(remote, name) == made(db, name), name


def test_files_are_sent_under_names_of_the_servers(remote, tmp_path):
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "keys.md").write_text("# House\n\n## Keys\n\nThe spare key is under the blue pot.\n")
    (notes / "sub" / "plain.txt").write_text("The boiler is serviced in March.\n")
    (notes / "noise.bin").write_bytes(bytes(range(256)) * 8)
    (notes / ".gitignore").write_text("ignored.txt\n")
    (notes / "ignored.txt").write_text("nobody reads the xylophone\n")
    documents = remote.collection("documents", embedder="none")
    told: list[nuthatch.Progress] = []
    report = remote.add(notes, documents, on_progress=told.append)
    assert (report.files_added, report.passages_added, [skipped.path.name for skipped in report.skipped]) == (
        2,
        2,
        ["noise.bin"],
    )
    assert (told[-1].files_done, told[-1].bytes_done) == (told[-1].files_total, told[-1].bytes_total)
    assert [file.path for file in documents.files()] == ["notes/keys.md", "notes/sub/plain.txt"]
    hit = documents.search("spare key")[0]
    assert (hit.payload["name"], hit.payload["path"]) == ("keys.md", "notes/keys.md")
    assert not documents.search("xylophone")
    assert remote.add(notes, documents).files_unchanged == 2
    (notes / "keys.md").unlink()
    (notes / "sub" / "plain.txt").write_text("The boiler is serviced in October.\n")
    report = remote.add(notes, documents, prune=True)
    assert (report.files_changed, report.files_pruned) == (1, 1)
    assert [file.path for file in documents.files("notes/sub/")] == ["notes/sub/plain.txt"]
    assert documents.files("notes/sub")[0].mtime.tzinfo is not None
    assert remote.add(notes / "sub" / "plain.txt", documents).files_added == 1
    assert documents.remove_files("notes") == 1
    assert [file.path for file in documents.files()] == ["plain.txt"]
    with pytest.raises(nuthatch.NotFoundError, match="nowhere"):
        remote.add(notes / "nowhere", documents)
    with pytest.raises(nuthatch.InvalidError, match="the same name"):
        remote.add([notes, tmp_path / "notes"], documents)


def test_a_batch_of_files_is_what_was_looked_at_or_nothing(remote, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in (("a.md", "about apples"), ("b.md", "about pears"), ("c.bin", "text at first")):
        (notes / name).write_text(f"# Title\n\n{text}\n")
    documents = remote.collection("documents", embedder="none")
    remote.add(notes, documents)
    stored = documents.count()
    (notes / "a.md").write_text("# Title\n\nabout quinces\n")
    (notes / "b.md").unlink()
    (notes / "c.bin").write_bytes(bytes(range(256)) * 8)
    (notes / "d.md").write_text("# Title\n\nabout plums\n")
    with remote.batch() as batch:
        report = batch.add_files(notes, documents, prune=True, passage_chars=200)
        batch.kv("keys")["seen"] = "1"
        counts = (report.files_added, report.files_changed, report.files_pruned, report.files_unchanged)
        assert counts == (1, 1, 1, 0)
        assert [skipped.path.name for skipped in report.skipped] == ["c.bin"]
        assert (report.passages_added, report.passages_removed) == (2, 3)
        assert (documents.count(), "seen" in remote.kv("keys")) == (stored, False), "nothing is written before the end"
    assert [file.path for file in documents.files()] == ["notes/a.md", "notes/d.md"], (
        "what c.bin held is true no longer"
    )
    assert [hit.id for hit in documents.search("quinces")] == ["notes/a.md#0"]
    assert remote.kv("keys")["seen"] == b"1"
    # Somebody else was quicker, with a file that the batch adds or one that was not there.
    for name in ("a.md", "new.md"):
        late = remote.batch()
        (notes / name).write_text("# Title\n\nmine\n")
        late.add_files(notes / name, documents)
        late.kv("keys")["seen"] = "2"
        (notes / name).write_text("# Title\n\ntheirs\n")
        remote.add(notes / name, documents)
        with pytest.raises(nuthatch.ConflictError, match="after this batch read it"):
            late.commit()
        assert remote.kv("keys")["seen"] == b"1"
    batch = remote.batch()
    elsewhere = nuthatch.connect(":memory:")
    with elsewhere, pytest.raises(nuthatch.InvalidError, match="another database"):
        batch.add_files(notes, elsewhere.collection("documents", embedder="none"))
    batch.rollback()
    with pytest.raises(nuthatch.ClosedError, match="batch has ended"):
        batch.add_files(notes, documents)


def test_every_awaited_call_asks_the_server_too(url):
    async def main() -> None:
        async with nuthatch.connect_async(url) as db:
            notes = await db.collection("notes", embedder="none")
            assert await notes.upsert(ids=["a", "b"], vectors=[[1, 0], [0, 1]], texts=["red", "blue"]) == (2, 0)
            answers = await asyncio.gather(*(notes.search("red", vector=[1, 0]) for _ in range(20)))
            assert {answer[0].id for answer in answers} == {"a"}
            many = await notes.search_many(vectors=[[1, 0], [0, 1]], limit=1)
            assert [answer[0].id for answer in many] == ["a", "b"]
            async with db.batch() as batch:
                batch.kv("k").put("a", "1")
                batch.collection("notes").delete("b")
            assert await (await db.kv("k")).get("a") == b"1"
            assert [record.id async for record in notes] == ["a"]
            async with db.snapshot() as snapshot:
                await (await db.kv("k")).put("a", "2")
                assert await (await snapshot.kv("k")).get("a") == b"1"
                assert [hit.id for hit in await (await snapshot.collection("notes")).search("red")] == ["a"]

            async def count(transaction: nuthatch.AsyncTransaction) -> int:
                kv = await transaction.kv("k")
                number = int(await kv.get("a", b"0")) + 1
                await kv.put("a", str(number))
                return number

            assert sorted(await asyncio.gather(*(db.transact(count, retries=100) for _ in range(5)))) == [3, 4, 5, 6, 7]

    asyncio.run(main())
