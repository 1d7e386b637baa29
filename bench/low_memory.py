"""Cold starts inside a memory limit: `python -m bench.low_memory SET`, into `results/SET.low-memory.jsonl`.

The limit counts everything of the process, page cache included: 96 MB for 100,000 x 1,024, 256 MB for a million. Python and numpy take
about 35 MB of a peer's; ours is a program without them. The index is evicted first; one effort each, that which reached .95 without a limit.
"""

import json
import subprocess
import sys

from bench import cgroup, environments, paths, results

LIMITS_MB = {"lsa100k": (96, 256), "lsa1m": (256, 1_024)}
RECALL = 0.95


def main(data: str) -> None:
    lines = []
    for (engine, config), rows in results.sweeps(data).items():
        reaching = [row for row in rows if row["recall"] >= RECALL]
        if not reaching or config.startswith("engine"):
            continue
        effort = min(reaching, key=lambda row: row["cpu_ms"])["effort"]
        for limit in LIMITS_MB[data]:
            command = [*environments.command(engine, config, "search", data), "--effort", told(engine, effort)]
            done, figures = cgroup.run(limit, command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            row = {"set": data, "engine": engine, "config": config, **figures}
            if done.returncode == 0:
                row |= json.loads(done.stdout.splitlines()[-1])
            else:
                row |= {"effort": effort, "failed": "killed" if figures["killed"] else f"exit status {done.returncode}"}
            lines.append(json.dumps(row) + "\n")
            print(lines[-1], end="", flush=True)
    (paths.RESULTS / f"{data}.low-memory.jsonl").write_text("".join(lines))


def told(engine: str, effort: dict) -> str:
    return str(effort["effort"]) if engine == "nuthatch" else json.dumps(effort)


if __name__ == "__main__":
    main(sys.argv[1])
