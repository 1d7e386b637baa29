"""The server's description is valid, and a client that another project's generator makes of it talks to a server."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import faces
import pytest
from support import REPOSITORY


@pytest.fixture
def url(server: str) -> Iterator[str]:
    yield server
    faces.empty(server)


@pytest.mark.timeout(300)
def test_the_description_is_valid_and_a_generated_client_works(url: str) -> None:
    script = REPOSITORY / "scripts" / "generated_client.sh"
    done = subprocess.run([script, url], capture_output=True, text=True, check=False)
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout.strip().removeprefix("skipped: "))
    assert done.returncode == 0, done.stdout + done.stderr
