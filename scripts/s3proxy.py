"""Fetch the jars of s3proxy, a small S3 for tests, with Maven: `scripts/s3proxy.py fetch`.

They land in `.s3proxy/` (43 MB) of this checkout, where `crates/cluster/tests/s3.rs` and `crates/node/tests` look for
them, or in the folder that NUTHATCH_S3PROXY names. Needs a JDK and `mvn`.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "2.9.0"
ROOT = Path(__file__).resolve().parent.parent
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>s3proxy-jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.gaul</groupId>
      <artifactId>s3proxy</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def folder() -> Path:
    return Path(os.environ.get("NUTHATCH_S3PROXY", ROOT / ".s3proxy"))


def fetch() -> None:
    target = folder()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        pom = Path(work) / "pom.xml"
        pom.write_text(POM.format(version=VERSION), encoding="utf-8")
        command = ["mvn", "-q", "-B", "-f", str(pom), COPY, f"-DoutputDirectory={target}"]
        subprocess.run(command, check=True)
    # Written last, so that a fetch that was cut short is begun again.
    names = sorted(jar.name for jar in target.glob("*.jar"))
    (target / "s3proxy.jar.list").write_text("\n".join(names) + "\n", encoding="utf-8")
    print(f"{len(names)} jars in {target}")


if __name__ == "__main__":
    if sys.argv[1:] != ["fetch"]:
        sys.exit(__doc__)
    fetch()
