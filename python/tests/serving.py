"""A real `nuthatch serve` in a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

LISTENING = re.compile(r"listening at https?://([\d.:]+)")


def program() -> str:
    """The command that belongs to the module under test."""
    beside = Path(sys.executable).parent / "nuthatch"
    found = os.environ.get("NUTHATCH_BIN") or (str(beside) if beside.exists() else shutil.which("nuthatch"))
    if not found:
        pytest.skip("needs the nuthatch command")
    return found


def command(folder: Path, *arguments: str) -> str:
    """Runs a command, and returns its output."""
    done = subprocess.run(
        [program(), "--data-dir", str(folder), *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.strip()


class Server:
    """Listens on a port of its own, over a folder."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUTHATCH_")}
        self.process = subprocess.Popen(
            [program(), "serve", "--data-dir", str(folder), "--listen", "127.0.0.1:0", *arguments],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.address = ""
        self.said: list[str] = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if found := LISTENING.search(line):
                self.address = found[1]
            if self.address and re.search(r"\bready\b", line):
                break
        else:
            raise AssertionError(f"the server ended: {''.join(self.said)}")
        # The rest of the log is read, so that the server never waits for it.
        self.rest: list[str] = []
        self.reading = threading.Thread(target=self.rest.extend, args=(self.process.stderr,), daemon=True)
        self.reading.start()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reading.join()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def resident_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


@contextlib.contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Server]:
    server = Server(folder, *arguments)
    try:
        yield server
    finally:
        server.close()
