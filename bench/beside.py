"""Our reading mode beside one peer, in one run and in turns: `python -m bench.beside PEER SET...`, into `results/beside/SET.PEER.jsonl`.

For figures that must come from the same minutes of the same machine. Every configuration of the peer, `graph_read` and `engine`, two sweeps
of each; a row tells the load average when its sweep began and when it ended. The report takes the best of each point: CPU time is what
counts, and other work on the machine can only add to it.
"""

import argparse
import json
import os
import subprocess

from bench import __main__ as every
from bench import environments, paths

FOLDER = paths.RESULTS / "beside"
OURS = ("graph_read", "engine")
ROUNDS = 2


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.beside", description=__doc__.partition("\n")[0])
    parser.add_argument("peer")
    parser.add_argument("sets", nargs="+")
    asked = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for data in asked.sets:
        turns = [("nuthatch", config) for config in OURS] + [
            (asked.peer, config) for config in every.configs(asked.peer)
        ]
        rows = [row for number in range(ROUNDS) for turn in turns for row in sweep(*turn, data, number)]
        (FOLDER / f"{data}.{asked.peer}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def sweep(engine: str, config: str, data: str, number: int) -> list[dict]:
    print(f"{data}: {engine} {config}, round {number + 1}", flush=True)
    command = [*environments.command(engine, config, "search", data), "--print"]
    load = [os.getloadavg()[0]]
    done = subprocess.run(command, env=every.environment(), cwd=paths.REPOSITORY, stdout=subprocess.PIPE, check=True)
    load.append(os.getloadavg()[0])
    told = {"round": number, "load": [round(value, 2) for value in load]}
    return [json.loads(line) | told for line in done.stdout.splitlines()]


if __name__ == "__main__":
    main()
