"""skeg: a server of its own, Vamana walked over 2-bit codes, up to 8 k rows read for exact comparison. Cosine alone.

`tq2` holds codes and graph in anonymous memory, `tq2_mmap` maps them: its low-memory mode. Both have one shard and are asked in the
read-only mode, which has no upkeep alongside. `tq2_mmap_shards` is what it does when left alone: a shard for each core, all asked for each
query, in the read-write mode. Each is filled through the wire and folded into one graph a shard.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hiredis
from bench import process

PROGRAM = Path(sys.prefix) / "bin" / "skeg-resp3"
CONFIGS = {
    "tq2_mmap": {"mapped": True, "one_shard": True},
    "tq2": {"mapped": False, "one_shard": True},
    "tq2_mmap_shards": {"mapped": True, "one_shard": False},
}
NAME = b"bench"
BATCH = 256


def VERSION_OF():
    told = subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return told.split()[-1]


def efforts(config):
    return [{"l_search": length} for length in (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 400, 600, 1000)]


class Server:
    """On a port of its own choice; ended with `close`, or with the process that started it."""

    def __init__(self, folder, mapped, mode, before=()):
        maps = ["--tier-mmap", "--graph-mmap"] if mapped else []
        options = ["--addr", "127.0.0.1:0", "--data-dir", folder / "skeg", "--mode", mode, "--tier", "tq2", *maps]
        self.process = subprocess.Popen(
            [*before, PROGRAM, *options],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "RUST_LOG": "skeg_resp3=info", "NO_COLOR": "1"},
            preexec_fn=process.die_with_parent,
        )
        port = next((line.rpartition(":")[2] for line in self.process.stdout if " listening on " in line), None)
        if port is None:
            raise SystemExit(f"skeg ended before it listened: {self.process.wait()}")
        self.socket = socket.create_connection(("127.0.0.1", int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = hiredis.Reader()

    def ask(self, *words):
        self.socket.sendall(hiredis.pack_command(words))
        while (answer := self.reader.gets()) is False:
            received = self.socket.recv(1 << 16)
            if not received:
                raise SystemExit("skeg closed the connection")
            self.reader.feed(received)
        if isinstance(answer, hiredis.ReplyError):
            raise answer
        return answer

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()


def on_one_core():
    """A command before the server's, for root: it counts cores by a file of the control group, and makes as many shards."""
    core = str(max(os.sched_getaffinity(0)))
    told = Path(tempfile.mkdtemp()) / "cpus"
    told.write_text(core)
    names = ("cpuset.cpus.effective", "cpuset.cpus", "cpuset/cpuset.cpus")
    counted = next((path for name in names if (path := Path("/sys/fs/cgroup") / name).exists()), None)
    limited = ["taskset", "--cpu-list", core]
    if counted is None:
        return limited
    return [*limited, "unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', told, counted]


def build(base, metric, folder, mapped, one_shard):
    if metric != "cosine":
        raise SystemExit("skeg compares by cosine alone")
    server = Server(folder, mapped, "rw", on_one_core() if one_shard else ())
    clock = process.cpu_clock(server.process.pid)
    server.ask(b"SKEG.VINDEX.CREATE", NAME, base.shape[1], b"tq2", b"disk")
    for start in range(0, len(base), BATCH):
        rows = base[start : start + BATCH]
        # A number, its row and no payload.
        words = [word for number, row in enumerate(rows, start) for word in (number, row.tobytes(), b"")]
        server.ask(b"SKEG.VMSET", NAME, *words)
    server.ask(b"SKEG.VINDEX.CONSOLIDATE", NAME)
    figures = {
        "build_cpu_s": round(time.clock_gettime_ns(clock) / 1e9, 2),
        "build_peak_mb": round(process.peak_bytes(server.process.pid) / 1e6, 1),
    }
    server.close()
    shards = len(list((folder / "skeg").glob("shard-*")))
    if one_shard and shards != 1:
        raise SystemExit(f"skeg made {shards} shards")
    return figures


class Searcher:
    def __init__(self, folder, metric, dim, mapped, one_shard):
        self.server = Server(folder, mapped, "serve" if one_shard else "rw")
        self.pid = self.server.process.pid

    def set(self, l_search):
        self.l_search = l_search

    def search(self, vector, k):
        answer = self.server.ask(b"SKEG.VSEARCH", NAME, k, self.l_search, vector.tobytes())
        return [int(row) for row in answer[::2]]
