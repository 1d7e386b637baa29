"""Vector sets: VADD of 50,000 passages of 384 components, VSIM at several EF, with the recall that was reached."""

import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy

import redis
from bench import memory, paths, process
from bench.redis.servers import Server

KEY, DIM, LIMIT = "passages", 384, 10
QUESTIONS = 500
PIPELINE = 100
EFFORTS = (10, 20, 50, 100, 200, 500)
MB = 1e6


def connect(server: Server) -> redis.Redis:
    return redis.Redis(port=server.port, socket_timeout=600)


def base(rows: int) -> numpy.ndarray:
    return normalised(numpy.load(paths.source_data() / "text" / "docs50k_vec_f16.npy")[:rows])


def questions() -> numpy.ndarray:
    return normalised(numpy.load(paths.source_data() / "text" / "queries1k_vec_f16.npy")[:QUESTIONS])


def normalised(vectors: numpy.ndarray) -> numpy.ndarray:
    vectors = vectors.astype("<f4")
    return vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


def truth(vectors: numpy.ndarray, asked: numpy.ndarray) -> numpy.ndarray:
    """The similarity of each question's tenth: whatever is as similar counts as found."""
    return numpy.sort(asked @ vectors.T, axis=1)[:, -LIMIT]


def load(server: Server, vectors: numpy.ndarray) -> dict:
    """One connection, 100 commands a pipeline."""
    client, clock = connect(server), process.cpu_clock(server.pid)
    began, began_cpu = time.perf_counter(), time.clock_gettime_ns(clock)
    for first in range(0, len(vectors), PIPELINE):
        pipe = client.pipeline(transaction=False)
        for row, vector in enumerate(vectors[first : first + PIPELINE], first):
            pipe.execute_command("VADD", KEY, "FP32", vector.tobytes(), str(row))
        pipe.execute()
    seconds = time.perf_counter() - began
    cpu = (time.clock_gettime_ns(clock) - began_cpu) / 1e9
    return {"rows": len(vectors), "per_s": round(len(vectors) / seconds), "cpu_s": round(cpu, 1)}


def sweep(server: Server, vectors: numpy.ndarray, asked: numpy.ndarray, tenths: numpy.ndarray) -> list[dict]:
    """A row for each EF, and for the server's own choice: one connection, one question at a time."""
    client, clock = connect(server), process.cpu_clock(server.pid)
    rows = []
    for effort in (None, *EFFORTS):
        extra = () if effort is None else ("EF", effort)
        commands = [("VSIM", KEY, "FP32", one.tobytes(), "COUNT", LIMIT, *extra) for one in asked]
        for command in commands[:100]:
            client.execute_command(*command)
        began_cpu, taken, found = time.clock_gettime_ns(clock), [], 0
        for command, one, tenth in zip(commands, asked, tenths, strict=True):
            began = time.perf_counter()
            elements = client.execute_command(*command)
            taken.append(time.perf_counter() - began)
            assert len(elements) == LIMIT
            found += int((vectors[[int(element) for element in elements]] @ one >= tenth - 1e-6).sum())
        cpu_us = (time.clock_gettime_ns(clock) - began_cpu) / 1e3 / len(asked)
        rows.append(
            {
                "ef": effort or "its own",
                "recall": round(found / (LIMIT * len(asked)), 4),
                "cpu_us": round(cpu_us, 1),
                "p50_ms": round(float(numpy.percentile(taken, 50)) * 1e3, 3),
                "p99_ms": round(float(numpy.percentile(taken, 99)) * 1e3, 3),
            }
        )
    return rows


def held(server: Server, folder: Path) -> dict:
    anonymous, mapped = process.resident_bytes(server.pid)
    return {
        "anonymous_mb": round(anonymous / MB, 1),
        "file_mb": round(mapped / MB, 1),
        "page_cache_mb": round(memory.cached_bytes(folder) / MB, 1),
        "disk_mb": round(memory.disk_bytes(folder) / MB, 1),
    }


def overhead(program: Path, folder: Path, asked: numpy.ndarray, *, one_core: bool) -> list[dict]:
    """The same questions by the engine's own call and over the protocol, in one process, in turns.

    On one core nobody waits until a sleeping core has woken, which on an idle machine is most of the way there and back.
    """
    pinned = ["taskset", "-c", "0"] if one_core else []
    with tempfile.NamedTemporaryFile(suffix=".f32") as file:
        file.write(asked.tobytes())
        file.flush()
        command = [*pinned, str(program), str(folder), KEY, file.name, str(DIM)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [json.loads(line) | {"one_core": one_core} for line in said.splitlines()]
