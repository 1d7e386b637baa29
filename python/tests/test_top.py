"""`nuthatch top` on a terminal of its own: what it draws, and that it gives the terminal back."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from serving import Server, command, program, serving

import nuthatch

#: As crossterm leaves the second screen, and shows the cursor again.
LEAVES, SHOWS = "\x1b[?1049l", "\x1b[?25h"


class Terminal:
    """A pseudo-terminal with a program on it."""

    def __init__(self, *arguments: str, rows: int = 40, columns: int = 140) -> None:
        self.ours, self.theirs = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.theirs)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUTHATCH_")}
        self.process = subprocess.Popen(
            [program(), *arguments],
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            env=environment | {"TERM": "xterm-256color"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.said = ""
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while chunk := os.read(self.ours, 65536):
                self.said += chunk.decode(errors="replace")

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self.ours, keys.encode())

    def wait_for(self, found: Callable[[str], bool], what: str) -> None:
        """Until the texts that were drawn say so."""
        until = time.monotonic() + 60
        while not found(drawn(self.said)):
            assert time.monotonic() < until, f"{what} did not come: {drawn(self.said)[-3000:]}"
            assert self.process.poll() is None, f"it ended: {drawn(self.said)[-3000:]}"
            time.sleep(0.02)

    def ended(self) -> int:
        code = self.process.wait(timeout=60)
        # The other thread reads the last output.
        until = time.monotonic() + 10
        while LEAVES not in self.said and time.monotonic() < until:
            time.sleep(0.02)
        return code

    def is_given_back(self) -> bool:
        return LEAVES in self.said and SHOWS in self.said and termios.tcgetattr(self.theirs) == self.before

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.theirs)
        self._reading.join(timeout=10)
        os.close(self.ours)


def drawn(said: str) -> str:
    """The texts without what moves and colours them."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>][A-Z0-9]?", " ", said)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    with contextlib.ExitStack() as opened:

        def start(*arguments: str, rows: int = 40, columns: int = 140) -> Terminal:
            made = Terminal(*arguments, rows=rows, columns=columns)
            opened.callback(made.close)
            return made

        yield start


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a collection, a cache, and a tenant."""
    with nuthatch.connect(tmp_path / "memory") as db:
        db.collection("birds", embedder="none").upsert([{"id": str(at), "vector": [at, 1]} for at in range(1234)])
        db.cache("answers").store("What is DNS?", "names")
        db.create_tenant("acme").collection("own", embedder="none").upsert([{"id": "a", "text": "x"}])
    return tmp_path / "memory"


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    with serving(folder) as server:
        yield server


def test_it_draws_what_the_folder_has_and_q_ends_it(terminal, folder):
    top = terminal("--data-dir", str(folder), "top", "--every", "0.1")
    for wanted in ("Memory", "Background", "1,234", "answers:", "acme:", "watch one with --url"):
        # Spaces may be drawn by moving.
        top.wait_for(lambda said, wanted=wanted: wanted.split()[0] in said, wanted)
    top.type("q")
    assert top.ended() == 0
    assert top.is_given_back()


def test_it_shows_what_the_holder_has(terminal, folder):
    with nuthatch.connect(folder) as db:
        top = terminal("--data-dir", str(folder), "top", "--every", "0.1")
        top.wait_for(lambda said: str(os.getpid()) in said, "the holder")
        db.collection("more", embedder="none").upsert([{"id": "a", "text": "x"}])
        top.wait_for(lambda said: "more" in said, "a collection that came later")
        assert db.cache("answers").check("what's DNS") is not None
        top.wait_for(lambda said: "100.0" in said, "the hits of a cache")
        top.type("\x03")
        assert top.ended() == 0
        assert top.is_given_back()


def test_requests_of_a_server_are_told_by_face(terminal, folder, server):
    url = f"http://{server.address}"
    top = terminal("top", "--url", url, "--every", "0.1")
    top.wait_for(lambda said: "redis" in said, "the faces")
    with nuthatch.connect(url) as db:
        birds = db.collection("birds")
        for at in range(200):
            birds.get(str(at))
        sample = json.loads(command(folder, "top", "--once", "--json", "--url", url))
        faces = {face["name"]: face for face in sample["faces"]}
        assert list(faces) == ["http", "flight", "mcp", "redis"]
        assert faces["http"]["requests"] >= 200
        assert 0 < faces["http"]["p50_ms"] <= faces["http"]["p99_ms"]
        assert faces["redis"]["requests"] == 0 and faces["redis"]["p50_ms"] is None
    top.type("\x1b")
    assert top.ended() == 0
    assert top.is_given_back()


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_it_and_the_terminal_is_given_back(terminal, folder, how):
    top = terminal("--data-dir", str(folder), "top")
    top.wait_for(lambda said: "Memory" in said, "the picture")
    os.kill(top.process.pid, getattr(signal, how))
    assert top.ended() == 0
    assert top.is_given_back()


def test_a_server_that_goes_away_is_said_and_ends_nothing(terminal, folder):
    with serving(folder) as server:
        top = terminal("top", "--url", f"http://{server.address}", "--every", "0.1")
        top.wait_for(lambda said: "1,234" in said, "the picture")
    top.wait_for(lambda said: "again:" in said, "why there is no answer")
    top.type("q")
    assert top.ended() == 0
    assert top.is_given_back()


def test_narrow_terminals_and_changes_of_size_are_drawn(terminal, folder):
    top = terminal("--data-dir", str(folder), "top", "--every", "0.1", rows=5, columns=20)
    top.wait_for(lambda said: "Requests" in said, "the first section")
    for rows, columns in [(1, 1), (3, 200), (60, 9), (50, 150)]:
        top.resize(rows, columns)
        os.kill(top.process.pid, signal.SIGWINCH)
        time.sleep(0.2)
        assert top.process.poll() is None
    top.wait_for(lambda said: "Collections" in said, "the last section")
    top.type("\x1b[B\x1b[6~ q")
    assert top.ended() == 0
    assert top.is_given_back()


def test_what_is_wrong_from_the_start_leaves_the_terminal_alone(terminal, tmp_path):
    for arguments, code, why in [
        (["--data-dir", str(tmp_path / "nowhere"), "top"], 3, "no"),
        (["top", "--url", "http://127.0.0.1:9"], 5, "is the server running?"),
        (["top", "--url", "ftp://x"], 2, "no address of a server"),
    ]:
        top = terminal(*arguments)
        assert top.process.wait(timeout=60) == code
        until = time.monotonic() + 10
        while why not in top.said and time.monotonic() < until:
            time.sleep(0.02)
        assert why in top.said and "\x1b[?1049h" not in top.said
        assert termios.tcgetattr(top.theirs) == top.before


def test_without_a_terminal_it_says_what_to_do(folder):
    done = subprocess.run([program(), "--data-dir", str(folder), "top"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--once" in done.stderr


def test_a_key_without_the_scope_is_told_which_it_needs(folder):
    made = command(folder, "key", "create", "reader", "--scope", "read")
    key = next(word for word in made.split() if word.startswith("nuthatch_"))
    with serving(folder) as server:
        url = f"http://{server.address}"
        arguments = [program(), "top", "--once", "--url", url]
        for given in ([], ["--api-key", key]):
            done = subprocess.run([*arguments, *given], capture_output=True, text=True, timeout=60)
            assert done.returncode == 2 and "scope `admin`" in done.stderr, done.stderr


def test_a_sample_is_text_for_people_and_json_for_scripts(folder):
    text = command(folder, "top", "--once")
    assert "Memory" in text and "birds" in text and "\x1b" not in text
    sample = json.loads(command(folder, "top", "--once", "--json"))
    assert sample["faces"] is None
    assert sample["memory"]["budget_bytes"] == 64 << 20
    assert [(one["name"], one["rows"]) for one in sample["collections"]] == [("birds", 1234)]
    [cache] = sample["caches"]
    assert (cache["name"], cache["entries"], cache["misses"]) == ("answers", 1, 0)
    assert {part["name"] for part in sample["memory"]["parts"]} >= {"store cache", "stacks"}
    [tenant] = sample["tenants"]
    assert (tenant["name"], tenant["vectors"]) == ("acme", 0) and tenant["bytes"] > 0
    lines = subprocess.Popen(
        [program(), "--data-dir", str(folder), "top", "--json", "--every", "0.05"], stdout=subprocess.PIPE, text=True
    )
    assert lines.stdout is not None
    times = [json.loads(lines.stdout.readline())["at_ms"] for _ in range(3)]
    assert times == sorted(times)
    lines.stdout.close()
    # Nobody reads any more.
    assert lines.wait(timeout=60) == 0
