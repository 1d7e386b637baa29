"""Where things lie: large data and environments outside of the repository, small results inside."""

import os
from pathlib import Path

BENCH = Path(__file__).resolve().parent
REPOSITORY = BENCH.parent
CACHE = Path(os.environ.get("NUTHATCH_BENCH_DATA", BENCH / "data-cache")).resolve()
"""Vectors, downloaded packages, the peers' indexes. Ignored by git; some 20 GB when everything is built."""

ENVIRONMENTS = Path(os.environ.get("NUTHATCH_BENCH_ENVIRONMENTS", CACHE / "environments")).resolve()
"""One virtual environment for each peer."""

INDEXES = CACHE / "peers"
RESULTS = BENCH / "results"
REPORTS = REPOSITORY / "docs" / "benchmarks"


def source_data() -> Path:
    """The folder with the collections that are given, not made: `sift/` and `text/`."""
    folder = os.environ.get("NUTHATCH_TEST_DATA")
    if not folder:
        raise SystemExit("set NUTHATCH_TEST_DATA to the folder that has sift/ and text/")
    return Path(folder)
