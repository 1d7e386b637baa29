"""Where each test of the suites runs: in a folder of its own, and at a server, as a tenant of its own."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import nuthatch

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[nuthatch.Database]:
    """The connection of a server's administrator."""
    command = shutil.which("nuthatch")
    assert command is not None, "the nuthatch command is not on the PATH; make conformance puts it there"
    folder = tmp_path_factory.mktemp("server")
    log = folder / "log"
    with log.open("w") as errors:
        options = ["--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "info"]
        serving = subprocess.Popen([command, "serve", "--data-dir", folder / "memory", *options], stderr=errors)
    try:
        while '"message":"ready"' not in (said := log.read_text()):
            assert serving.poll() is None, said
            time.sleep(0.05)
        address = re.search(r'"address":"([^"]+)"', said)
        assert address is not None
        with nuthatch.connect(f"http://{address[1]}") as admin:
            yield admin
    finally:
        serving.terminate()
        assert serving.wait(timeout=60) == 0


@pytest.fixture(params=["folder", "server"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[nuthatch.Database]:
    """A database with nothing in it."""
    if request.param == "folder":
        with nuthatch.connect(tmp_path / "memory") as found:
            yield found
    else:
        yield request.getfixturevalue("server").create_tenant(f"test-{next(NUMBERS)}")
