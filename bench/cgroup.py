"""A command inside a memory limit that counts everything, page cache too: `python -m bench.cgroup MB COMMAND...` (root, Linux).

Works with either version of control groups. The command starts inside of a fresh group, so what it reads and holds is charged to the group;
pages that another group has cached would be free, so the caller evicts the index first (`bench.measure` and `bench.ours` do). After it, one
JSON line on standard error: the limit, the most that was charged, how often the kernel had to reclaim at the limit, and whether it killed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
GROUP = f"nuthatch-bench-{os.getpid()}"


class Limited:
    """A control group with a limit; gone at the end of `with`."""

    def __init__(self, bytes_max: int) -> None:
        self.version = 2 if (ROOT / "cgroup.controllers").exists() else 1
        self.folder = (ROOT if self.version == 2 else ROOT / "memory") / GROUP
        self.bytes_max = bytes_max

    def __enter__(self) -> "Limited":
        if self.version == 2:
            (ROOT / "cgroup.subtree_control").write_text("+memory")
        self.folder.mkdir()
        if self.version == 2:
            (self.folder / "memory.max").write_text(str(self.bytes_max))
            (self.folder / "memory.swap.max").write_text("0")
        else:
            (self.folder / "memory.limit_in_bytes").write_text(str(self.bytes_max))
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.rmdir()

    def enter(self) -> None:
        """Move this process in; to be called in the child before it becomes the command."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def read(self, name: str) -> str:
        file = self.folder / name
        return file.read_text() if file.exists() else ""

    def figures(self) -> dict:
        if self.version == 2:
            events = dict(line.split() for line in self.read("memory.events").splitlines())
            peak, reclaims, kills = self.read("memory.peak") or 0, events["max"], events["oom_kill"]
        else:
            peak, reclaims = self.read("memory.max_usage_in_bytes"), self.read("memory.failcnt")
            kills = dict(line.split() for line in self.read("memory.oom_control").splitlines()).get("oom_kill", 0)
        return {"peak_mb": round(int(peak) / 1e6, 1), "reclaims": int(reclaims), "killed": int(kills) > 0}


def run(limit_mb: int, command: list[str], **options) -> tuple[subprocess.CompletedProcess, dict]:
    """The command's outcome and the group's figures. One MB is 1,000,000 bytes."""
    with Limited(limit_mb * 1_000_000) as group:
        done = subprocess.run(command, preexec_fn=group.enter, **options)
        figures = {"limit_mb": limit_mb, "cgroup": group.version, **group.figures()}
        # The command's part of the page cache is charged to the group, and must go with it.
        if group.version == 1:
            (group.folder / "memory.force_empty").write_text("0")
    return done, figures


if __name__ == "__main__":
    outcome, told = run(int(sys.argv[1]), sys.argv[2:])
    print(json.dumps(told), file=sys.stderr)
    sys.exit(outcome.returncode if outcome.returncode >= 0 else 128 - outcome.returncode)
