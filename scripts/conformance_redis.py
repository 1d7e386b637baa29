"""redis-py's own tests against our server, over both protocols: conformance_redis.py SERVER.

SERVER is a program that serves a folder (``SERVER FOLDER os``) and prints its address: the example ``serve`` of
crates/resp. The tests come with the source package, which is fetched once and kept in the target folder; its digest is
pinned. What fails must be listed in tests/conformance/redis.txt, one line a test with the reason, and what is listed
must fail.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = ROOT / "tests" / "conformance" / "redis.txt"
VERSION = "8.1.0"
SHA256 = "6e1a19beef9225c83efd689c7e6b7da2d5215b1f42cd13b7fc3714d0a09c7b25"
SUITES = ["tests/test_vsets.py", "tests/test_commands.py::TestRedisCommands", "tests/test_pipeline.py"]


def main(server: Path) -> int:
    kept = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "conformance"
    source = fetched(kept)
    bad = 0
    for protocol in ("2", "3"):
        outcomes = run(server.resolve(), source, protocol)
        expected = {name for name, protocols in listed().items() if protocol in protocols}
        failed = {name for name, outcome in outcomes.items() if outcome == "failed"}
        for name in sorted(failed - expected):
            print(f"RESP{protocol}: {name} fails, and {EXPECTED.name} does not say why", file=sys.stderr)
        for name in sorted(expected - failed):
            said = outcomes.get(name, "was not run")
            print(f"RESP{protocol}: {name} is listed as failing, and it {said}", file=sys.stderr)
        bad += len(failed ^ expected)
        for suite in SUITES:
            of_suite = [outcome for name, outcome in outcomes.items() if name.startswith(suite.split("::")[0])]
            counts = {outcome: of_suite.count(outcome) for outcome in ("passed", "failed", "skipped")}
            shown = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
            print(f"redis-py {VERSION}, RESP{protocol}, {suite}: {shown}")
    return 1 if bad else 0


def fetched(kept: Path) -> Path:
    """The unpacked source package."""
    folder = kept / f"redis-{VERSION}"
    if (folder / "tests" / "conftest.py").exists():
        return folder
    kept.mkdir(parents=True, exist_ok=True)
    archive = kept / f"redis-{VERSION}.tar.gz"
    if not archive.exists():
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", "redis", "--dest", str(kept)]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, f"redis=={VERSION}"], check=True)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != SHA256:
        archive.unlink()
        raise SystemExit(f"{archive.name} has the digest {digest}, not the pinned one; it was removed")
    with tarfile.open(archive) as packed:
        packed.extractall(kept, filter="data")
    return folder


def run(server: Path, source: Path, protocol: str) -> dict[str, str]:
    """Runs the suites against a server of their own: test -> passed, failed or skipped."""
    with tempfile.TemporaryDirectory() as folder:
        serving = subprocess.Popen(
            [server, f"{folder}/data", "os"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            assert serving.stdout is not None
            address = serving.stdout.readline().strip()
            report = Path(folder) / "report.xml"
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", "--timeout", "60"]
            command += [f"--redis-url=redis://{address}/0", f"--redis-mod-url=redis://{address}/0"]
            command += [f"--protocol={protocol}", f"--junitxml={report}", "-o", "junit_family=xunit1", *SUITES]
            log = Path(folder) / "log"
            with log.open("wb") as out:
                environment = {**os.environ, "PYTHONPATH": str(source)}
                subprocess.run(command, cwd=source, env=environment, stdout=out, stderr=subprocess.STDOUT, check=False)
            if "NUTHATCH_SHOW" in os.environ:
                print(log.read_text(encoding="utf-8", errors="replace"))
            return outcomes_of(report, log)
        finally:
            assert serving.stdin is not None
            serving.stdin.close()
            serving.wait(timeout=60)


def outcomes_of(report: Path, log: Path) -> dict[str, str]:
    if not report.exists():
        raise SystemExit(f"the suites did not run:\n{log.read_text(encoding='utf-8', errors='replace')[-4000:]}")
    found = {}
    for case in xml.parse(report).iter("testcase"):
        module, *classes = case.get("classname", "").removeprefix("tests.").split(".")
        name = "::".join([f"tests/{module}.py", *classes, case.get("name", "")])
        kinds = {child.tag for child in case}
        found[name] = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
    return found


def listed() -> dict[str, str]:
    """Test -> the protocols over which it fails."""
    found = {}
    for line in EXPECTED.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            # Names of tests have spaces, too.
            parts = re.fullmatch(r"(.+?) (2,3|2|3) (\S.*)", line)
            if parts is None:
                raise SystemExit(f"{EXPECTED.name}: no test, protocols and reason in {line!r}")
            found[parts[1]] = parts[2]
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
