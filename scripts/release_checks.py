"""The requirements for a release. Each check yields what is in its way, and prints its findings."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance_frameworks import LITELLM, PACKAGES, RUNNER
from conformance_frameworks import environment as environment_with
from linked import ROOT

#: Checked together with the integrations' packages: a type of an integration is known where its framework is.
TOOLS = [
    "twine==7.0.0",
    "cyclonedx-python-lib[json-validation]==11.12.0",
    "pyright==1.1.414",
    "griffe==2.4.1",
    "numpy==2.4.6",
    "pandas==3.1.1",
    "pyarrow==25.0.1",
]
BILL = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1], encoding="utf-8").read())
sys.exit(str(wrong) if wrong else 0)
"""


def repository(version: str) -> Iterator[str]:
    if not (ROOT / ".git").exists():
        yield "this is no git repository; a release is made of a commit"
        return
    if changed := git("status", "--porcelain").splitlines():
        yield f"{len(changed)} files are not committed, such as {changed[0].split()[-1]}; an sdist would hold them"
    if git("tag", "--list", f"v{version}"):
        yield f"the tag v{version} is there already; raise the version"
    print(f"    commit {git('rev-parse', '--short', 'HEAD')}")


def versions(version: str) -> Iterator[str]:
    """Every file that states the version."""
    chart = (ROOT / "deploy/helm/nuthatch/Chart.yaml").read_text(encoding="utf-8")
    package = ROOT / "clients/typescript"
    lock = json.loads((package / "package-lock.json").read_text(encoding="utf-8"))
    stated = {
        "Chart.yaml, version": re.findall(r"(?m)^version: (\S+)$", chart),
        "Chart.yaml, appVersion": re.findall(r'(?m)^appVersion: "(\S+)"$', chart),
        "package.json": [json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]],
        "package-lock.json": [lock["version"], lock["packages"][""]["version"]],
        "docs/openapi.json": [json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))["info"]["version"]],
        "Cargo.toml, what crates need of each other": re.findall(
            r'(?m)^nuthatch-\S+ = .*version = "=([^"]+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8")
        ),
    }
    for where, found in stated.items():
        if set(found) != {version}:
            yield f"{where} says {', '.join(sorted(set(found))) or 'nothing'}, and Cargo.toml {version}"
    print(f"    {version} in Cargo.toml; {len(stated)} other places looked at")


def changelog(version: str) -> Iterator[str]:
    headings = re.findall(r"(?m)^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if not any(re.match(rf"{re.escape(version)}\b", heading) for heading in headings):
        yield f"CHANGELOG.md has no section `## {version}`; its newest is `{headings[0]}`"
    elif "Unreleased" in headings:
        yield f"CHANGELOG.md has a section `Unreleased` beside that of {version}"


def distributions(output: Path, environment: Path) -> Iterator[str]:
    python = tools(environment)
    for path in [*output.glob("*.whl"), *output.glob("*.tar.gz")]:
        if said := failure([python, "-m", "twine", "check", "--strict", path]):
            yield f"{path.name}: {said}"
    if said := failure([python, "-c", BILL, output / "nuthatch.cdx.json"]):
        yield f"nuthatch.cdx.json is not CycloneDX 1.6: {said}"


def types(environment: Path) -> Iterator[str]:
    """Whether each public name has a type that every checker reads alike (pyright --verifytypes)."""
    python = tools(environment)
    command = [python, "-m", "pyright", "--verifytypes", "nuthatch", "--ignoreexternal", "--outputjson"]
    search = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    settings = {**os.environ, "VIRTUAL_ENV": str(environment), "PATH": search}
    # In an empty folder, where no other `nuthatch` can be found first.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)
    try:
        told = json.loads(done.stdout)["typeCompleteness"]
    except (ValueError, KeyError):
        yield f"pyright did not answer: {(done.stderr or done.stdout).strip()[-300:]}"
        return
    print(f"    {told['completenessScore']:.1%} of {told['exportedSymbolCounts']['withKnownType']} public names")
    for symbol in told["symbols"]:
        if symbol["isExported"] and not (symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"]):
            yield f"{symbol['name']} has no type that is known: {symbol['diagnostics'][0]['message']}"
    if told["completenessScore"] < 1:
        yield f"types are complete to {told['completenessScore']:.2%}"


def surface(version: str, environment: Path) -> Iterator[str]:
    """Breaking changes, by griffe. Allowed and shown before 1.0; then they need a major version."""
    since = os.environ.get("NUTHATCH_API_SINCE") or last_tag()
    if since is None:
        print("    no release yet, so nothing can break; NUTHATCH_API_SINCE names a commit to compare with")
        return
    command = [tools(environment), "-m", "griffe", "check", "nuthatch", "-s", "python/src", "--against", since]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("python/src/")]
    if done.returncode != 0 and not found:
        yield f"griffe cannot compare with {since}: {done.stderr.strip()[-300:]}"
    for line in found:
        print(f"    {line}")
    print(f"    {len(found)} changes since {since} that may break a caller")
    same_major = since.lstrip("v").split(".")[0] == version.split(".")[0]
    if found and same_major and not version.startswith("0."):
        yield f"{len(found)} changes break callers; raise the major version"


def last_tag() -> str | None:
    tags = git("tag", "--list", "v*", "--sort=-v:refname", "--merged", "HEAD").splitlines()
    return tags[0] if tags else None


def tools(environment: Path) -> Path:
    """The interpreter of the environment with the checkers and the frameworks."""
    python = environment_with(environment, [*(package for package in PACKAGES if package not in RUNNER), *TOOLS])
    # LiteLLM pins what others want newer. Its types are all that is needed of it.
    (litellm,) = (package for package in LITELLM if package.startswith("litellm=="))
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", litellm], check=True
    )
    return python


def failure(command: list[object]) -> str | None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stdout + done.stderr).strip()[-500:]


def git(*arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()
