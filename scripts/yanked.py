"""Does Cargo.lock name a version that its author has withdrawn?

Asks cargo to refresh its copy of the registry's index, and reads that copy: after each version, one JSON object for it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    refreshed = subprocess.run(
        ["cargo", "update", "--dry-run", "--quiet"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if refreshed.returncode != 0:
        print(f"SKIPPED: cargo could not refresh the index here: {refreshed.stderr.strip().splitlines()[-1:]}")
        return 0
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    indexes = [folder for folder in home.glob("registry/index/*/.cache") if folder.is_dir()]
    yanked, unknown = [], []
    locked = locked_versions()
    for name, version in locked:
        states = [state for index in indexes if (state := state_in(index, name, version)) is not None]
        if not states:
            unknown.append(f"{name} {version}")
        elif any(states):
            yanked.append(f"{name} {version}")
    for item in yanked:
        print(f"error: {item} was yanked by its author; run: cargo update -p {item.split()[0]}", file=sys.stderr)
    if unknown:
        print(
            f"SKIPPED: the index here does not know {len(unknown)} of {len(locked)} versions: {', '.join(unknown[:5])}"
        )
    print(f"{len(locked) - len(unknown)} versions looked up, {len(yanked)} yanked")
    return 1 if yanked else 0


def locked_versions() -> list[tuple[str, str]]:
    """Packages of Cargo.lock that come from a registry; those of the workspace have no source."""
    text = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    pattern = r'\[\[package\]\]\nname = "([^"]+)"\nversion = "([^"]+)"\nsource = "(?:registry|sparse)\+'
    return re.findall(pattern, text)


def state_in(index: Path, name: str, version: str) -> bool | None:
    """Whether the version is yanked, `None` when this index does not have it."""
    lower = name.lower()
    prefix = {1: "1", 2: "2", 3: f"3/{lower[0]}"}.get(len(lower), f"{lower[:2]}/{lower[2:4]}")
    try:
        parts = (index / prefix / lower).read_bytes().split(b"\0")
    except FileNotFoundError:
        return None
    for part in parts:
        if part.startswith(b"{"):
            entry = json.loads(part)
            if entry["vers"] == version:
                return bool(entry["yanked"])
    return None


if __name__ == "__main__":
    sys.exit(main())
