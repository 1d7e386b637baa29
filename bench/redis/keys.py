"""GET and SET by redis-benchmark."""

import csv
import os
import shutil
import subprocess

from bench.redis.servers import Server

VALUE_BYTES, KEYS = 100, 100_000


def program() -> str:
    """REDIS_BENCHMARK, or what the system has."""
    found = os.environ.get("REDIS_BENCHMARK") or shutil.which("redis-benchmark")
    if not found:
        raise SystemExit("install redis-benchmark (Debian: redis-tools), or say where it is by REDIS_BENCHMARK")
    return found


def measured(server: Server, clients: int, pipeline: int, requests: int) -> dict[str, dict]:
    """Requests a second, and milliseconds, by command."""
    size = ["-n", str(requests), "-c", str(clients), "-P", str(pipeline), "-d", str(VALUE_BYTES), "-r", str(KEYS)]
    command = [program(), "-h", "127.0.0.1", "-p", str(server.port), *size, "-t", "set,get", "--csv"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = csv.DictReader(line for line in said.splitlines() if line.startswith('"'))
    return {
        row["test"]: {
            "per_s": float(row["rps"]),
            "p50_ms": float(row["p50_latency_ms"]),
            "p99_ms": float(row["p99_latency_ms"]),
        }
        for row in rows
    }
