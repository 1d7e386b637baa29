"""The measurements: each runs over any Flight server, ours or the bare one."""

import json
import os
import threading
import time

import numpy
import pyarrow as pa
import pyarrow.flight as flight

from bench import paths


def vectors(dim: int, rows: int) -> numpy.ndarray:
    """128: SIFT descriptors. 384: passages of documentation by all-MiniLM-L6-v2."""
    if dim == 128:
        found = numpy.load(paths.source_data() / "sift" / "base_0.npy", mmap_mode="r")
    else:
        found = numpy.load(paths.source_data() / "text" / "docs50k_vec_f16.npy", mmap_mode="r")
    return numpy.ascontiguousarray(found[:rows], dtype=numpy.float32)


def batches(dim: int, rows: int, batch_rows: int, **more: object) -> list[pa.RecordBatch]:
    found = vectors(dim, rows)
    made = []
    for first in range(0, len(found), batch_rows):
        some = found[first : first + batch_rows]
        columns = {
            "id": pa.array([str(row) for row in range(first, first + len(some))]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(some.reshape(-1)), dim),
        }
        columns |= {name: pa.array([of(row) for row in range(first, first + len(some))]) for name, of in more.items()}
        made.append(pa.RecordBatch.from_pydict(columns))
    return made


def size(made: list[pa.RecordBatch]) -> int:
    return sum(one.nbytes for one in made)


def put(client: flight.FlightClient, descriptor: flight.FlightDescriptor, made: list[pa.RecordBatch]) -> float:
    """Seconds until the last batch is acknowledged; the client does not wait between batches."""
    acknowledged = 0

    def read() -> None:
        nonlocal acknowledged
        while (said := reader.read()) is not None:
            acknowledged += json.loads(said.to_pybytes())["rows"]

    started = time.perf_counter()
    writer, reader = client.do_put(descriptor, made[0].schema)
    thread = threading.Thread(target=read)
    thread.start()
    for one in made:
        writer.write_batch(one)
    writer.done_writing()
    thread.join()
    seconds = time.perf_counter() - started
    writer.close()
    assert acknowledged == sum(one.num_rows for one in made)
    return seconds


def get(client: flight.FlightClient, ticket: bytes, rows: int) -> float:
    """Seconds until everything has come."""
    started = time.perf_counter()
    found = client.do_get(flight.Ticket(ticket)).read_all()
    seconds = time.perf_counter() - started
    assert found.num_rows == rows
    return seconds


def searches(client: flight.FlightClient, collection: str, questions: numpy.ndarray, where: str) -> list[float]:
    """Milliseconds of each search, one after the other."""
    taken = []
    for question in questions:
        ticket = {
            "collection": collection,
            "columns": ["id", "score"],
            "search": {"vector": question.tolist(), "limit": 10, "where": where},
        }
        started = time.perf_counter()
        found = client.do_get(flight.Ticket(json.dumps(ticket).encode())).read_all()
        taken.append((time.perf_counter() - started) * 1e3)
        assert found.num_rows == 10
    return taken


def load() -> float:
    return os.getloadavg()[0]
