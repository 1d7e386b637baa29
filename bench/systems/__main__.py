"""Runs the workloads and writes the page: `python -m bench.systems`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

import nuthatch

from bench import machine
from bench.systems import page
from bench.systems.rows import Row
from bench.systems.workloads import SYSTEMS, version

SCALES = {
    # Shows that everything runs; its figures say nothing.
    "tiny": {"vectors": 1_000, "queries": 20, "keys": 500, "seconds": 1, "documents": 20, "answers": 100},
    "quick": {"vectors": 20_000, "queries": 500, "keys": 50_000, "seconds": 10, "documents": 1_000, "answers": 10_000},
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.systems", description=__doc__)
    parser.add_argument("--scale", choices=list(SCALES), default="quick")
    parser.add_argument("--only", choices=list(SYSTEMS), action="append", help="this system; may be repeated")
    parser.add_argument(
        "--out", type=Path, default=Path("target/report"), help="where the page goes (default: %(default)s)"
    )
    asked = parser.parse_args()
    began = time.monotonic()
    rows: list[Row] = []
    failed = []
    with tempfile.TemporaryDirectory(prefix="nuthatch-report-", dir=os.environ.get("TMPDIR")) as folder:
        for name in asked.only or SYSTEMS:
            place = Path(folder, name)
            place.mkdir()
            try:
                for row in SYSTEMS[name](place, SCALES[asked.scale]):
                    rows.append(row)
                    print(f"{row.system}: {row.workload}", flush=True)
            except Exception as error:
                # One system that fails must not take the others' rows; the page and the status say so.
                failed.append(f"{name} failed, and its further rows are missing: {type(error).__name__}: {error}")
                print(failed[-1], file=sys.stderr, flush=True)
    about = [
        f"Scale: {asked.scale}{' (it shows that everything runs; its figures say nothing)' if asked.scale == 'tiny' else ''}.",
        f"Machine: {machine.machine()}",
        f"Versions: nuthatch {nuthatch.__version__}, Python {platform.python_version()}"
        + "".join(
            f", {name} {found}"
            for name in ("chromadb", "faiss-cpu", "mneme-cache", "pyarrow")
            if (found := version(name))
        ),
        f"Made on {datetime.now(timezone.utc):%Y-%m-%d} in {(time.monotonic() - began) / 60:.1f} minutes by `make report`.",
        *failed,
    ]
    page.write(rows, about, asked.out)
    lines = [json.dumps(asdict(row)) for row in rows]
    (asked.out / "rows.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    print(f"{asked.out / 'report.html'} and report.md, {len(rows)} rows")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
