"""The console in the server is what `console/` makes, and its pages hold in a browser."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest
from support import REPOSITORY

CONSOLE = REPOSITORY / "crates" / "server" / "console"


def run(step: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = str(Path(sysconfig.get_path("scripts"), "nuthatch"))
    done = subprocess.run(
        [REPOSITORY / "scripts" / "console.sh", step, *more],
        capture_output=True,
        text=True,
        env={**os.environ, "NUTHATCH": command},
    )
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout.strip().removeprefix("skipped: "))
    return done


@pytest.mark.timeout(600)
def test_the_committed_pages_are_what_the_sources_make() -> None:
    done = run("check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(1800)
def test_the_pages_hold_in_a_browser() -> None:
    # The rights of keys, and each page in one theme: some minutes. Long mode runs the others, too.
    everything = os.environ.get("NUTHATCH_LONG") == "1"
    done = run("test") if everything else run("test", "-g", r"rights\.spec|light")
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_lock_file_names_a_registry() -> None:
    lock = (REPOSITORY / "console" / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert lock.count('"integrity"') > 20


def test_the_files_are_within_their_budget() -> None:
    sizes = {path.name: path.stat().st_size for path in CONSOLE.glob("*.gz")}
    assert "index.html.gz" in sizes
    assert sum(sizes.values()) <= 1024 * 1024, sizes
