"""The faces that a database has from Python: the folder opened here, a folder that another process holds, a server over HTTP.

A test that asks for ``address``, or for ``db``, runs over those that its module is run over. Where it cannot hold it says so, with
the reason: ``@pytest.mark.not_over("http", "an embedder of this process is not the server's")``.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import run_python

import nuthatch

ALL = ("embedded", "socket", "http") if hasattr(os, "fork") else ("embedded", "http")

#: Modules that run over all faces even when nobody asks.
EVERYWHERE = {
    "test_bad_input",
    "test_batches",
    "test_cache",
    "test_cache_isolation",
    "test_cache_leases",
    "test_compat_mneme",
    "test_facets",
    "test_facts",
    "test_graph",
    "test_integration_langchain_cache",
    "test_integration_litellm",
    "test_integration_llama_index_cache",
    "test_integration_openai",
    "test_kv",
    "test_named_vectors",
    "test_payload",
    "test_read_points",
    "test_records",
    "test_refined_searches",
    "test_scip",
    "test_search",
    "test_tenants",
    "test_transactions",
    "test_trees",
    "test_updates",
    "test_ways_of_searching",
}

HOLD = """
import sys, nuthatch
with nuthatch.connect(sys.argv[1], program="the holder", erasure_grace=0.05):
    print("open", flush=True)
    sys.stdin.read()
"""


def faces_of(module: str) -> tuple[str, ...]:
    """Those that a module's tests run over: embedded, and others that its list or ``NUTHATCH_FACES=http,socket`` names."""
    asked = os.environ.get("NUTHATCH_FACES")
    if asked is None:
        return ALL if module in EVERYWHERE else ("embedded",)
    named = tuple(face.strip() for face in asked.split(","))
    if unknown := set(named) - set(ALL):
        raise pytest.UsageError(f"NUTHATCH_FACES names {sorted(unknown)}; there are {', '.join(ALL)}")
    return named


def skip_where_it_cannot_hold(request: pytest.FixtureRequest, face: str) -> None:
    """Skips a test that is marked so."""
    for mark in request.node.iter_markers("not_over"):
        where, why = mark.args
        if where == face:
            pytest.skip(f"not over {face}: {why}")


@contextlib.contextmanager
def in_memory() -> Iterator[Path]:
    """A place whose syncs cost nothing, as those of ``":memory:"``, where the system has one."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as place:
        yield Path(place)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[str]:
    """A folder that another process holds; its path."""
    process = run_python(HOLD, str(folder))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n", process.stderr and process.stderr.read()
        yield str(folder)
    finally:
        process.communicate("")


@contextlib.contextmanager
def served(folder: Path, *options: str, environment: dict[str, str] | None = None) -> Iterator[str]:
    """A server of a folder; its address."""
    with listening(folder, *options, environment=environment) as addresses:
        yield addresses[0]


@contextlib.contextmanager
def listening(folder: Path, *options: str, environment: dict[str, str] | None = None) -> Iterator[list[str]]:
    """The same with all addresses that it listens at: HTTP's, and Redis' where that is asked for."""
    command = Path(sysconfig.get_path("scripts"), "nuthatch")
    log = folder.with_name(f"{folder.name}.log")
    flags = ["--data-dir", str(folder), "--listen", "127.0.0.1:0", "--log-format", "json", *options]
    with log.open("wb") as written:
        process = subprocess.Popen(
            [str(command), "serve", *flags], stderr=written, env={**os.environ, **(environment or {})}
        )
    try:
        while '"ready"' not in (said := log.read_text()):
            assert process.poll() is None, said
            time.sleep(0.01)
        yield re.findall(r"listening (?:at|for Redis clients at) ([^\s\"]+)", said)
    finally:
        process.terminate()
        assert process.wait(60) == 0, log.read_text()


def empty(address: str) -> None:
    """Drops everything that a test has left."""
    with nuthatch.connect(address) as db:
        for info in db.collections():
            db.drop_collection(info.name)
        for name in db.keyspaces():
            db.drop_keyspace(name)
        for name in db.graphs():
            db.drop_graph(name)
        for name in db.trees():
            db.drop_tree(name)
        for name in db.fact_sets():
            db.drop_facts(name)
        for name in db.caches():
            db.drop_cache(name)
        for name in db.tenant_names():
            db.drop_tenant(name)


@contextlib.contextmanager
def proxied(folder: Path, upstream: str, *options: str) -> Iterator[str]:
    """The caching proxy before a provider; its address."""
    command = Path(sysconfig.get_path("scripts"), "nuthatch")
    log = folder.with_name(f"{folder.name}.log")
    flags = ["--data-dir", str(folder), "--listen", "127.0.0.1:0", "--log-format", "json", "--upstream", upstream]
    with log.open("wb") as written:
        process = subprocess.Popen([str(command), "cache", "serve", *flags, *options], stderr=written)
    try:
        while '"ready"' not in (said := log.read_text()):
            assert process.poll() is None, said
            time.sleep(0.01)
        yield re.findall(r"caching proxy at ([^\s\"]+)", said)[0]
    finally:
        process.terminate()
        assert process.wait(60) == 0, log.read_text()
