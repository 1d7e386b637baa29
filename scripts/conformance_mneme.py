"""mneme's own tests against ``nuthatch.compat.mneme``: conformance_mneme.py [OPTIONS OF PYTEST].

The tests come from PyPI with mneme's source distribution, whose hash is below, and stay in the target folder. In a copy
of them, ``mneme`` becomes ``nuthatch.compat.mneme`` where they import it. Only modules that test what a user of mneme
calls are run; the others test its private modules, its stores for other programs, and its speed. What fails must be
listed in tests/conformance/mneme.txt, one line a test with the reason, and what is listed must fail.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import textwrap
import xml.etree.ElementTree as xml
from pathlib import Path

from conformance_frameworks import ROOT, environment

EXPECTED = ROOT / "tests" / "conformance" / "mneme.txt"
SOURCE = "mneme_cache-1.0.1.tar.gz"
HASH = "03e81cb15d5e6a1b8e5dc6c786169231d75f373a66e70505fc62ccace2ff05cb"
PACKAGES = [
    "pytest==9.2.0",
    "pytest-asyncio==1.5.0",
    "pytest-timeout==2.4.0",
    "numpy==2.4.6",
    "prometheus-client==0.26.0",
    "opentelemetry-sdk==1.45.2",
]
#: The cache, its awaited twin, its tools and its hooks.
MODULES = (
    "test_cache",
    "test_async_cache",
    "test_namespaces",
    "test_calibrate",
    "test_embedder_adapters",
    "test_dimensions",
    "test_migrate",
    "test_adapters_prometheus",
    "test_adapters_otel",
)
#: Private modules of mneme with names that are public as well.
SAME_NAMES = r"_types|_exceptions"
OPTIONS = ["-q", "-p", "no:cacheprovider", "--tb=short", "-o", "asyncio_mode=auto", "-o", "junit_family=xunit1"]


def main() -> int:
    place = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "conformance" / "mneme"
    python = environment(place, PACKAGES)
    tests = copied(python, place)
    report = place / "report.xml"
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", *OPTIONS, f"--junitxml={report}", *sys.argv[1:]]
    # The tests import each other by the name of their folder.
    done = subprocess.run(
        [*command, *(tests / f"{module}.py" for module in MODULES)],
        cwd=tests.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if not report.exists():
        print(done.stdout + done.stderr)
        raise SystemExit("the tests did not run")
    outcomes = outcomes_of(report)
    expected = listed()
    failed = {name for name, (outcome, _) in outcomes.items() if outcome == "failed"}
    for name in sorted(failed - expected):
        print(f"{name} fails, and {EXPECTED.name} does not say why", file=sys.stderr)
        print(textwrap.indent(outcomes[name][1], "    "), file=sys.stderr)
    for name in sorted(expected - failed):
        print(f"{name} is listed as failing, and it does not", file=sys.stderr)
    for module in (*MODULES, ""):
        of = [outcome for name, (outcome, _) in outcomes.items() if name.startswith(f"{module}::" if module else "")]
        told = ", ".join(f"{of.count(kind)} {kind}" for kind in ("passed", "failed", "skipped"))
        share = of.count("passed") / max(1, len(of))
        print(f"{module or 'all'}: {told} ({share:.1%} of {len(of)} passed)")
    return 1 if failed ^ expected else 0


def copied(python: Path, place: Path) -> Path:
    """mneme's tests, with this package in the place of theirs."""
    source = place / SOURCE
    if not source.exists():
        download = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", place]
        subprocess.run([*download, SOURCE.removesuffix(".tar.gz").replace("_cache-", "-cache==")], check=True)
    found = hashlib.sha256(source.read_bytes()).hexdigest()
    if found != HASH:
        raise SystemExit(f"{source} has the hash {found}, and not {HASH}; remove it, and run this again")
    with tarfile.open(source) as archive:
        archive.extractall(place, filter="data")
    tests = place / SOURCE.removesuffix(".tar.gz") / "tests"
    for path in tests.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(rf"\bmneme\.(?:{SAME_NAMES}) import", "mneme import", text)
        path.write_text(re.sub(r"\b(from|import) mneme\b", r"\1 nuthatch.compat.mneme", text), encoding="utf-8")
    return tests


def outcomes_of(report: Path) -> dict[str, tuple[str, str]]:
    """Test -> passed, failed or skipped, and what it said."""
    found = {}
    for case in xml.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rsplit('.', 1)[-1]}::{case.get('name', '')}"
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[name] = (outcome, "\n".join(child.text or "" for child in case))
    return found


def listed() -> set[str]:
    """Tests that are expected to fail."""
    lines = EXPECTED.read_text(encoding="utf-8").splitlines()
    return {line.split(" ", 1)[0] for line in lines if line.strip() and not line.startswith("#")}


if __name__ == "__main__":
    sys.exit(main())
