"""Caching proxies in several processes over one folder: a question is asked once, and somebody asks again when they are killed."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sysconfig
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_models import Provider, provider

#: Requests of each test that wait for one answer.
WAITING = 12


class Proxy:
    """``nuthatch cache serve`` in a process of its own."""

    def __init__(self, folder: Path, upstream: str, log: Path) -> None:
        command = Path(sysconfig.get_path("scripts"), "nuthatch")
        flags = ["--data-dir", str(folder), "--listen", "127.0.0.1:0", "--log-format", "json", "--upstream", upstream]
        with log.open("wb") as written:
            self.process = subprocess.Popen([str(command), "cache", "serve", *flags], stderr=written)
        while '"ready"' not in (said := log.read_text()):
            assert self.process.poll() is None, said
            time.sleep(0.01)
        self.address = re.findall(r"caching proxy at ([^\s\"]+)", said)[0]

    def ask(self, text: str, *, stream: bool = False) -> tuple[str, str]:
        """The answer, and whether it came from the cache."""
        with self.asking(text, stream=stream) as answer:
            said = answer.read().decode()
            if stream:
                chunks = [json.loads(line[6:]) for line in said.splitlines() if line.startswith("data: {")]
                said = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
            else:
                said = json.loads(said)["choices"][0]["message"]["content"]
            return said, answer.headers["x-nuthatch-cache"]

    def asking(self, text: str, *, stream: bool = False):
        body = {"model": "gpt", "messages": [{"role": "user", "content": text}], "stream": stream}
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.address}/v1/chat/completions", json.dumps(body).encode(), headers)
        return urllib.request.urlopen(request, timeout=120)

    def counts(self) -> dict[str, int]:
        with urllib.request.urlopen(f"{self.address}/nuthatch/stats", timeout=60) as answer:
            return json.load(answer)["cache"]["counts"]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def model() -> Iterator[Provider]:
    with provider() as made:
        yield made
        for gate in made.gates.values():
            gate.set()


@pytest.fixture
def proxies(model: Provider, tmp_path: Path) -> Iterator[list[Proxy]]:
    """The process that holds the folder, and another one."""
    with contextlib.ExitStack() as stack:
        made = []
        for at in range(2):
            made.append(Proxy(tmp_path / "memory", f"{model.address}/v1", tmp_path / f"log{at}"))
            stack.callback(made[-1].close)
        yield made


class Askers:
    """Threads that ask the same, one after the other of these proxies, half of them for a stream."""

    def __init__(self, proxies: list[Proxy], text: str) -> None:
        self.found: list[tuple[str, str]] = []
        self.threads = [
            threading.Thread(target=self._ask, args=(proxies[at % len(proxies)], text, at % 4 < 2))
            for at in range(WAITING)
        ]
        for thread in self.threads:
            thread.start()

    def _ask(self, proxy: Proxy, text: str, stream: bool) -> None:
        self.found.append(proxy.ask(text, stream=stream))

    def join(self) -> list[tuple[str, str]]:
        for thread in self.threads:
            thread.join()
        return self.found


def until(condition) -> None:
    while not condition():
        time.sleep(0.01)


def test_all_processes_ask_the_same_question_once(model, proxies):
    model.gates[1] = threading.Event()
    askers = Askers(proxies, "What is DNS?")
    until(lambda: model.asked == 1 and proxies[0].counts()["misses"] == WAITING)
    model.gates[1].set()
    found = askers.join()
    assert ({said for said, _ in found}, model.asked) == ({"Hello, world."}, 1)
    assert sorted(fate for _, fate in found) == ["HIT"] * (WAITING - 1) + ["MISS"]
    counts = proxies[1].counts()
    assert counts["misses"] - counts["awaited"] == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("killed", [0, 1])
def test_another_asks_when_the_process_that_asked_is_killed(model, proxies, killed, stream):
    """The holder of the folder takes all leases with it; a lease of another process ends by its time."""
    model.gates[1] = threading.Event()
    dying, living = proxies[killed], proxies[1 - killed]
    lost = threading.Thread(target=ask_in_vain, args=(dying, stream))
    lost.start()
    until(lambda: model.asked == 1)
    askers = Askers([living], "What is DNS?")
    until(lambda: dying.counts()["misses"] == WAITING + 1)
    assert model.asked == 1
    dying.process.kill()
    lost.join()
    found = askers.join()
    assert ({said for said, _ in found}, model.asked) == ({"Hello, world."}, 2)
    assert sorted(fate for _, fate in found) == ["HIT"] * (WAITING - 1) + ["MISS"]


def ask_in_vain(proxy: Proxy, stream: bool) -> None:
    with pytest.raises(Exception, match=r"[Rr]emote|[Cc]onnection|Incomplete"):
        proxy.ask("What is DNS?", stream=stream)


def test_a_stream_that_takes_longer_than_a_lease_is_not_asked_for_again(model, proxies):
    model.gates[1] = threading.Event()
    with proxies[1].asking("What is DNS?", stream=True) as slow:
        first = slow.readline()
        askers = Askers([proxies[0]], "What is DNS?")
        time.sleep(8)  # a lease that nobody extends ends after six seconds
        assert model.asked == 1
        model.gates[1].set()
        assert b"[DONE]" in first + slow.read()
    assert {said for said, _ in askers.join()} == {"Hello, world."}
    assert model.asked == 1
