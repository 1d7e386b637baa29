"""`python -m bench [SET...]`: measure every engine that is installed on every data set that is made, then write the report.

An index that is there is not built again. `--only ENGINE` (repeatable) measures those alone; `--build` also builds what is missing.
One thing at a time: a quiet machine is the caller's part.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from bench import environments, measure, ours, paths, peers, report

SETS = ["text50k", "sift100k", "lsa100k", "sift1m", "lsa1m"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all when left out")
    parser.add_argument("--only", action="append", help="an engine")
    parser.add_argument("--build", action="store_true", help="build indexes that are missing")
    asked = parser.parse_args()
    for data in asked.sets or SETS:
        if not (paths.CACHE / data / "about.json").exists():
            print(f"{data}: not made (python -m bench.data {data})", flush=True)
            continue
        for peer in asked.only or peers.NAMES:
            for config in configs(peer):
                one(peer, config, data, asked.build)
    report.main()


def configs(peer: str) -> list[str]:
    """Asked of the peer's own environment: its module imports its engine."""
    if not environments.python(peer).exists():
        print(f"{peer}: not installed (python -m bench.environments {peer})", flush=True)
        return []
    code = f"from bench.peers.{peer}.{peer} import CONFIGS; print(*CONFIGS)"
    answer = subprocess.run(
        [environments.python(peer), "-c", code], stdout=subprocess.PIPE, text=True, env=environment()
    )
    own = list(ours.CONFIGS) if peer == "nuthatch" and Path(ours.program()).exists() else []
    return own + (answer.stdout.split() if answer.returncode == 0 else [])


def one(peer: str, config: str, data: str, build: bool) -> None:
    folder = ours.index_folder(data) if config in ours.CONFIGS else measure.index_folder(peer, config, data)
    if not folder.exists():
        if not build:
            return
        print(f"{data}: building {peer} {config}", flush=True)
        if run(peer, config, "build", data) != 0:
            print(f"{data}: {peer} {config} could not be built", flush=True)
            return
    print(f"{data}: searching {peer} {config}", flush=True)
    if run(peer, config, "search", data) != 0:
        print(f"{data}: {peer} {config} could not be searched", flush=True)


def run(peer: str, config: str, what: str, data: str) -> int:
    command = environments.command(peer, config, what, data)
    return subprocess.run(command, env=environment(), cwd=paths.REPOSITORY, stdout=subprocess.DEVNULL).returncode


def environment() -> dict[str, str]:
    # The engine's module is used from where it lies.
    places = [str(paths.REPOSITORY), str(paths.REPOSITORY / "python" / "src")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}


if __name__ == "__main__":
    sys.exit(main())
