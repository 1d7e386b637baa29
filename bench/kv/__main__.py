"""`python -m bench.kv [--quick]`: measure, keep the rows in `bench/results/kv/`, write `docs/benchmarks/kv.md`.

`--quick` takes a few minutes and keeps its rows apart (`quick.jsonl`); its report goes to the standard output and nowhere else.
`--with truth` measures another program besides; `--only load|micro|counted|ycsb|published|limited` a part, and keeps the other rows;
`--rounds`, `--seconds` and `--cache` make it shorter, and the report tells the rounds and seconds.
"""

import argparse
import dataclasses
import json
import sys
import time

from bench import paths
from bench.kv import engines, measure, plan, report

GROUPS = ("load", "micro", "counted", "ycsb", "published", "limited")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.kv", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--with", dest="besides", action="append", default=[], choices=["truth"])
    parser.add_argument("--only", action="append", choices=GROUPS, help="load is always done when a folder is missing")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float, help="of each run of the workloads")
    parser.add_argument("--cache", type=int, action="append", help="MB; both when left out")
    asked = parser.parse_args()
    compared = engines.COMPARED + tuple(asked.besides)
    for engine in compared:
        if not engines.program(engine).exists():
            sys.exit(f"There is no {engines.program(engine)}: make bench-kv builds it.")
    chosen = shorter(plan.quick() if asked.quick else plan.full(), asked)
    target = paths.RESULTS / "kv" / ("quick.jsonl" if asked.quick else "full.jsonl")
    target.parent.mkdir(parents=True, exist_ok=True)
    kept = []
    if asked.only:
        chosen = dataclasses.replace(chosen, cells=tuple(cell for cell in chosen.cells if cell.group in asked.only))
        rows = report.read(target) if target.exists() else []
        kept = [row for row in rows if row["group"] not in asked.only]
    started = time.monotonic()
    with target.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in kept)
        for row in measure.everything(chosen, compared, asked.only):
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{time.monotonic() - started:6.0f} s  {report.line(row)}", flush=True)
    if asked.quick:
        print(report.text(report.read(target)))
    else:
        report.main()


def shorter(chosen: plan.Plan, asked: argparse.Namespace) -> plan.Plan:
    def cell(one: plan.Cell) -> plan.Cell:
        return dataclasses.replace(one, seconds=asked.seconds) if asked.seconds and one.group == "ycsb" else one

    kept = [cell(one) for one in chosen.cells if not asked.cache or one.cache_mb in asked.cache]
    return dataclasses.replace(chosen, rounds=asked.rounds or chosen.rounds, cells=tuple(kept))


if __name__ == "__main__":
    main()
