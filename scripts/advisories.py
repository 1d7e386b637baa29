"""Known vulnerabilities of the dependencies, as far as the tools and the network here allow.

What could not be checked is said, in a line that begins with SKIPPED; only a finding fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP_AUDIT = "pip-audit==2.10.1"


def main() -> int:
    found = [rust(), python()]
    return 1 if any(found) else 0


def rust() -> bool:
    """True when something was found."""
    # cargo-deny is not among what `make setup` installs: compiling it takes minutes, and its advisory database is a git
    # repository, which not every network reaches.
    if run("cargo", "deny", "--version").returncode != 0:
        print("SKIPPED: Rust advisories were not checked; install cargo-deny (cargo install --locked cargo-deny)")
        return False
    fetched = run("cargo", "deny", "fetch", "db")
    if fetched.returncode != 0:
        print(f"SKIPPED: Rust advisories were not checked, cargo-deny cannot fetch them here: {last_line(fetched)}")
        return False
    return subprocess.run(["cargo", "deny", "check"], cwd=ROOT, check=False).returncode != 0


def python() -> bool:
    """True when something was found."""
    # pip-audit asks the package index, where that answers such questions. It gets an environment of its own: its many
    # dependencies are not ours.
    tools = Path(sys.prefix) / "audit"
    program = tools / "bin" / "pip-audit"
    if not program.exists():
        venv.create(tools, with_pip=True, clear=True)
        installed = run(str(tools / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input", PIP_AUDIT)
        if installed.returncode != 0:
            print(f"SKIPPED: Python advisories were not checked, pip-audit cannot be installed: {last_line(installed)}")
            return False
    asked = run(
        str(program), "--format=json", "--progress-spinner=off", "--disable-pip", "--no-deps",
        "--requirement=python/requirements-dev.txt",
    )  # fmt: skip
    try:
        packages = json.loads(asked.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"SKIPPED: Python advisories were not checked, pip-audit gave no answer: {last_line(asked)}")
        return False
    unanswered = [package["name"] for package in packages if "skip_reason" in package]
    vulnerable = [(package, flaw) for package in packages for flaw in package.get("vulns", [])]
    for package, flaw in vulnerable:
        fixed = ", ".join(flaw["fix_versions"]) or "no version yet"
        print(f"error: {package['name']} {package['version']}: {flaw['id']}, fixed in {fixed}", file=sys.stderr)
    if unanswered:
        print(f"SKIPPED: the index here gave no advisories for {len(unanswered)} of {len(packages)} Python packages")
    print(f"{len(packages) - len(unanswered)} Python packages checked, {len(vulnerable)} advisories")
    return bool(vulnerable)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"


if __name__ == "__main__":
    sys.exit(main())
