"""The rehearsal of a release, `make release`: what it finds, and what it signs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import REPOSITORY

import nuthatch

sys.path.append(str(REPOSITORY / "scripts"))

import linked
import release
import release_checks


def test_every_file_that_states_the_version_states_the_same():
    assert linked.version() == nuthatch.__version__
    assert list(release_checks.versions(nuthatch.__version__)) == []


def test_a_version_that_some_file_does_not_have_is_named_with_the_file():
    problems = list(release_checks.versions("9.9.9"))
    for place in (
        "Chart.yaml, version",
        "appVersion",
        "package.json",
        "package-lock.json",
        "openapi.json",
        "Cargo.toml",
    ):
        assert any(place in problem and "9.9.9" in problem for problem in problems), place


def test_a_release_needs_its_section_of_the_changelog(tmp_path, monkeypatch):
    monkeypatch.setattr(release_checks, "ROOT", tmp_path)
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text("# Changelog\n\n## Unreleased\n\n- New.\n\n## 1.2.30\n")
    (problem,) = release_checks.changelog("1.2.3")
    assert "no section `## 1.2.3`" in problem and "Unreleased" in problem
    changes.write_text("# Changelog\n\n## 1.2.3 (2026-11-28)\n\n- New.\n")
    assert list(release_checks.changelog("1.2.3")) == []
    changes.write_text("# Changelog\n\n## Unreleased\n\n## 1.2.3\n")
    (problem,) = release_checks.changelog("1.2.3")
    assert "beside" in problem


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen on the PATH")
def test_sums_are_those_of_the_files_and_a_signature_is_of_these_sums_only(tmp_path, monkeypatch):
    key, output = tmp_path / "key", tmp_path / "dist"
    output.mkdir()
    (output / "a.whl").write_bytes(b"wheel")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    monkeypatch.setenv("NUTHATCH_SIGNING_KEY", str(key))
    assert list(release.signed(output)) == []
    checked = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=output, capture_output=True, text=True)
    assert checked.stdout == "a.whl: OK\n"

    signers = tmp_path / "signers"
    signers.write_text(f"release {key.with_suffix('.pub').read_text()}")
    sums, signature = (output / "SHA256SUMS").read_text(), output / "SHA256SUMS.sig"
    assert release.verifies(signers, signature, sums)
    assert not release.verifies(signers, signature, sums.replace("a.whl", "b.whl"))
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    signers.write_text(f"release {other.with_suffix('.pub').read_text()}")
    assert not release.verifies(signers, signature, sums)


def test_a_rehearsal_keeps_no_signature_of_a_key_that_it_throws_away(tmp_path, monkeypatch):
    monkeypatch.delenv("NUTHATCH_SIGNING_KEY", raising=False)
    (tmp_path / "a.whl").write_bytes(b"wheel")
    assert list(release.signed(tmp_path)) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["SHA256SUMS", "a.whl"]
    assert Path(tmp_path / "SHA256SUMS").read_text().endswith("  a.whl\n")
