"""The TypeScript client is what the server's description makes, and works against a server."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest
from support import REPOSITORY


@pytest.mark.timeout(300)
def test_the_types_are_as_generated_and_its_tests_pass() -> None:
    command = str(Path(sysconfig.get_path("scripts"), "nuthatch"))
    done = subprocess.run(
        [REPOSITORY / "scripts" / "typescript.sh", "check"],
        capture_output=True,
        text=True,
        env={**os.environ, "NUTHATCH": command},
    )
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout.strip().removeprefix("skipped: "))
    assert done.returncode == 0, done.stdout + done.stderr
