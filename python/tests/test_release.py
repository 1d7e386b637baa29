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
import third_party


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


def crate(folder: Path, licence: str = "MIT OR GPL-2.0-only") -> linked.Crate:
    return linked.Crate("some", "1.0.0", licence, ("A. Author",), folder, "0" * 64)


def test_a_copyleft_text_inside_of_a_crate_needs_a_reason_why_it_does_not_hold(tmp_path, monkeypatch):
    (tmp_path / "LICENSE-GPL").write_text("GNU GENERAL PUBLIC LICENSE\nVersion 2")
    (tmp_path / "LICENSE-MIT").write_text("MIT License")
    # The crate offers it alongside the licence that is taken.
    assert third_party.texts(crate(tmp_path)) == [("LICENSE-MIT", "MIT License")]
    (tmp_path / "vendored").mkdir()
    (tmp_path / "vendored" / "COPYING").write_text("   GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3")
    with pytest.raises(SystemExit, match="NOT_TAKEN"):
        third_party.texts(crate(tmp_path))
    monkeypatch.setattr(third_party, "NOT_TAKEN", {("some", "vendored/COPYING")})
    assert third_party.texts(crate(tmp_path)) == [("LICENSE-MIT", "MIT License")]


def test_a_crate_without_a_text_gets_that_of_what_it_states_with_its_authors(tmp_path):
    (tmp_path / "MIT.txt").write_text(
        "MIT License\n\nCopyright (c) <year> <copyright holders>\n\nPermission is granted"
    )
    ((_, text),) = third_party.stated(crate(tmp_path), tmp_path)
    assert text == "Copyright (c) A. Author\n\nMIT License\n\nPermission is granted"
    with pytest.raises(SystemExit, match="no common text of Zlib"):
        third_party.stated(crate(tmp_path, "Zlib"), tmp_path)


def test_macros_and_what_they_use_are_not_linked():
    kinds = {"command": "bin", "library": "lib", "macro": "proc-macro", "parser": "lib"}
    packages = {name: {"targets": [{"kind": [kind]}]} for name, kind in kinds.items()}
    uses = {"command": ["library", "macro"], "library": ["command"], "macro": ["parser"], "parser": []}
    assert linked.reach(["command"], packages, uses) == {"command", "library"}
