"""The frameworks' own suites against the integrations: conformance_frameworks.py.

LangChain, LangGraph and Haystack publish tests for what stores have to do; LlamaIndex and LiteLLM do not, so ours stand
for them. All run in environments of their own (in the target folder), into which the pinned packages come from PyPI,
together with our tests of the integrations and the examples of their guide. LiteLLM has an environment to itself: it
pins what others want newer. What of the suites fails must be listed in tests/conformance/frameworks.txt, one line a
test with the reason, and what is listed must fail.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import xml.etree.ElementTree as xml
from pathlib import Path

import documents

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = ROOT / "tests" / "conformance" / "frameworks.txt"
SUITES = ROOT / "tests" / "conformance" / "frameworks"
GUIDE = ROOT / "docs" / "guides" / "integrations.md"
RUNNER = ["urllib3==2.8.0", "pytest==9.2.0", "pytest-asyncio==1.5.0", "pytest-timeout==2.4.0"]
PACKAGES = [
    *RUNNER,
    "langchain-core==1.7.2",
    "langchain-tests==1.1.9",
    "langgraph==1.2.22",
    "langgraph-checkpoint==4.3.2",
    "langgraph-checkpoint-conformance==0.0.2",
    "haystack-ai==3.4.0",
    "llama-index-core==0.14.25",
    "openai==3.57.0",
    "anthropic==2.14.0",
]
#: LiteLLM's cache imports parts of its proxy, which want the last two.
LITELLM = [*RUNNER, "litellm==1.102.4", "fastapi==0.165.0", "orjson==3.13.0"]
#: Our tests that need LiteLLM's packages, and one that runs with its older client of OpenAI, too.
OF_LITELLM = ("test_integration_litellm",)
ALSO_WITH_LITELLM = ("test_integration_openai", "test_integration_openai_responses")
#: Of suites whose fixtures are awaited, and of frameworks that warn of their own future.
OPTIONS = [
    *("-q", "-p", "no:cacheprovider", "--tb=short", "-o", "asyncio_mode=auto"),
    *("-o", "asyncio_default_fixture_loop_scope=function", "-o", "filterwarnings=default", "-o", "junit_family=xunit1"),
]


def main() -> int:
    places = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "conformance"
    python = environment(places / "frameworks", PACKAGES)
    litellm = environment(places / "litellm", LITELLM)
    outcomes = tested(python, [SUITES])
    expected = listed()
    failed = {name for name, outcome in outcomes.items() if outcome == "failed"}
    for name in sorted(failed - expected):
        print(f"{name} fails, and {EXPECTED.name} does not say why", file=sys.stderr)
    for name in sorted(expected - failed):
        print(f"{name} is listed as failing, and it {outcomes.get(name, 'was not run')}", file=sys.stderr)
    for module in sorted({name.split("::")[0] for name in outcomes}):
        tell(module, outcomes)
    modules = sorted((ROOT / "python" / "tests").glob("test_integration_*.py"))
    ours = tested(python, [path for path in modules if path.stem not in OF_LITELLM])
    again = tested(litellm, [path for path in modules if path.stem in OF_LITELLM + ALSO_WITH_LITELLM])
    ours |= {f"{name} with LiteLLM": outcome for name, outcome in again.items()}
    for name in sorted(name for name, outcome in ours.items() if outcome != "passed"):
        print(f"{name} {ours[name]}", file=sys.stderr)
    for module in sorted({name.split("::")[0] for name in ours}):
        tell(module, ours)
    bad = len(failed ^ expected) + sum(outcome != "passed" for outcome in ours.values())
    return 1 if bad + examples(python, litellm) else 0


def tell(module: str, outcomes: dict[str, str]) -> None:
    of_module = [outcome for name, outcome in outcomes.items() if name.split("::")[0] == module]
    shown = ", ".join(f"{of_module.count(outcome)} {outcome}" for outcome in ("passed", "failed", "skipped"))
    print(f"{module}: {shown}")


def environment(folder: Path, packages: list[str]) -> Path:
    """The interpreter of an environment with these packages, which sees this package's sources."""
    python = folder / "bin" / "python"
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != "\n".join(packages):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        subprocess.run([*install, *packages], check=True)
        stamp.write_text("\n".join(packages), encoding="utf-8")
    if command := shutil.which("nuthatch"):
        # Tests over HTTP start it from the folder of their interpreter.
        link = folder / "bin" / "nuthatch"
        link.unlink(missing_ok=True)
        link.symlink_to(command)
    for site in folder.glob("lib/python3*/site-packages"):
        (site / "nuthatch-source.pth").write_text(f"{ROOT / 'python' / 'src'}\n", encoding="utf-8")
    return python


def tested(python: Path, paths: list[Path]) -> dict[str, str]:
    """Runs tests: test -> passed, failed or skipped."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [python, "-m", "pytest", *OPTIONS, f"--junitxml={report}", *paths]
        done = subprocess.run(command, cwd=ROOT / "python", capture_output=True, text=True, check=False)
        if "NUTHATCH_SHOW" in os.environ or not report.exists():
            print(done.stdout + done.stderr)
        if not report.exists():
            raise SystemExit("the tests did not run")
        found = {}
        for case in xml.parse(report).iter("testcase"):
            module, *classes = re.split(r"\.(?=[A-Z])", case.get("classname", ""))
            name = "::".join([module.rsplit(".", 1)[-1], *classes, case.get("name", "")])
            kinds = {child.tag for child in case}
            found[name] = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            for child in case:
                if child.tag in ("failure", "error") and name not in listed():
                    print(textwrap.indent(child.text or "", "    "), file=sys.stderr)
    return found


def listed() -> set[str]:
    """Tests that are expected to fail."""
    found = set()
    for line in EXPECTED.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            parts = re.fullmatch(r"(\S+) (\S.*)", line)
            if parts is None:
                raise SystemExit(f"{EXPECTED.name}: no test and reason in {line!r}")
            found.add(parts[1])
    return found


def examples(python: Path, litellm: Path) -> int:
    """Runs the guide's examples, also those that need a framework; says how many fail."""
    failed = 0
    blocks = documents.BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    for number, (_, code) in enumerate(blocks, 1):
        if said := documents.run(code, str(litellm if "import litellm" in code else python)):
            failed += 1
            print(f"{GUIDE.name}, example {number} fails:\n{textwrap.indent(said, '    ')}", file=sys.stderr)
    print(f"{GUIDE.name}: {len(blocks) - failed} examples ran, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
