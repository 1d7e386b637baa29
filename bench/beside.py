"""Our reading mode against one peer, in one run and in turns: `python -m bench.beside PEER SET...`, into `results/beside/SET.PEER.jsonl`.

For figures that must come from the same minutes of the same machine. `graph_read`, `engine` and every configuration of the peer that is
built, some sweeps of each; a row tells the load average when its sweep began and when it ended. The report takes the best of each point:
CPU time is what counts, and other work on the machine can only add to it.
"""

import argparse
import json
import os
import subprocess

from bench import __main__ as every
from bench import environments, measure, paths

FOLDER = paths.RESULTS / "beside"
OURS = ("graph_read", "engine")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.beside", description=__doc__.partition("\n")[0])
    parser.add_argument("peer")
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for data in asked.sets:
        turns = [("nuthatch", config) for config in OURS]
        for config in every.configs(asked.peer):
            if measure.index_folder(asked.peer, config, data).exists():
                turns.append((asked.peer, config))
        # Nothing of an hour is lost when it is ended early.
        target = FOLDER / f"{data}.{asked.peer}.jsonl"
        target.write_text("")
        for number in range(asked.rounds):
            for turn in turns:
                with target.open("a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in sweep(*turn, data, number))


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
