"""`python -m bench.data [NAME...]`: make the named data sets, or list them."""

import os
import sys

# One thread: what it costs can be told, and a shared machine stays usable.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from bench import paths
from bench.data import given, lsa

SETS = {
    "text50k": lambda folder: given.text(folder),
    "sift100k": lambda folder: given.sift(folder, 100_000),
    "sift1m": lambda folder: given.sift(folder, 1_000_000),
    "lsa100k": lambda folder: lsa.make(folder, 100_000),
    "lsa1m": lambda folder: lsa.make(folder, 1_000_000),
}


def main(names: list[str]) -> None:
    unknown = set(names) - SETS.keys()
    if unknown or not names:
        raise SystemExit(f"{', '.join(sorted(unknown)) or 'nothing'} asked for; the sets are {', '.join(SETS)}")
    for name in names:
        folder = paths.CACHE / name
        if (folder / "about.json").exists():
            print(f"{name} is there")
            continue
        SETS[name](folder)
        print(f"{name} is in {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
