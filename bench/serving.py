"""`nuthatch serve` of a folder, for as long as a measurement takes."""

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Serving:
    pid: int
    http: str
    """Host and port."""
    redis: str | None
    """The same, where it was told to listen for Redis clients."""


@contextlib.contextmanager
def serving(folder: Path, *flags: str) -> Iterator[Serving]:
    """NUTHATCH_BIN, or the program next to this Python, or that of the system, on free ports of this machine."""
    beside = Path(sys.executable).parent / "nuthatch"
    program = os.environ.get("NUTHATCH_BIN") or (str(beside) if beside.exists() else "nuthatch")
    command = [program, "serve", "--data-dir", str(folder), "--listen", "127.0.0.1:0", *flags]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said = ""
    for line in process.stderr:
        said += line
        if re.search(r"\bready\b", line):
            break
    # A line for each request: a full pipe would make the server wait.
    threading.Thread(target=deque, args=(process.stderr, 0), daemon=True).start()
    redis = re.search(r"Redis clients at ([\d.:]+)", said)
    try:
        yield Serving(process.pid, re.search(r"listening at http://([\d.:]+)", said)[1], redis and redis[1])
    finally:
        process.terminate()
        process.wait()
