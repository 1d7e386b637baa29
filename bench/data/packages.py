"""Debian 12 documentation packages: the real text behind the `lsa` sets, fetched with `apt-get download`."""

import gzip
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

NAMES = """
    postgresql-doc-15 python3.11-doc git-doc linux-doc-6.1 rust-doc libreoffice-help-en-us cmake-doc sqlite3-doc
    python-django-doc apache2-doc debian-reference-en openjdk-17-doc libboost1.81-doc perl-doc tcl8.6-doc tk8.6-doc
    libstdc++-12-doc erlang-doc ghc-doc llvm-14-doc clang-14-doc qtbase5-doc-html qtdeclarative5-doc-html libgtk-3-doc
    libglib2.0-doc python-scipy-doc python-pandas-doc python-statsmodels-doc python-astropy-doc python-sympy-doc
    twisted-doc octave-doc maxima-doc sagemath-doc debian-policy installation-guide-amd64 fp-docs-3.2.2
    groovy-doc postgis-doc glibc-doc lilypond-doc-html racket-doc wx3.2-doc derby-doc db5.3-doc cppreference-doc-en-html
    libgtkmm-3.0-doc gnuradio-doc petsc3.18-doc libapache-poi-java-doc lazarus-doc-2.2 fop-doc libcrypto++-doc
    crystal-doc dpdk-doc libsbml5-doc casacore-doc libpcl-doc libfastutil-java-doc libbiojava-java-doc libgecode-doc
""".split()

MORE = """
    libgtk-4-doc python-sklearn-doc rust-web-doc cargo-web-doc gimp-help-en gnucash-docs pike8.0-doc singular-doc
    dcmtk-doc opencv-doc openscenegraph-doc libace-doc libxalan-c-doc libjogl2-java-doc efl-doc lammps-doc libvisp-doc
    libgtkmm-4.0-doc seqan3-doc simbody-doc developers-reference qtwebengine5-doc-html qtmultimedia5-doc-html
    qttools5-doc-html qt3d5-doc-html
""".split()
"""Further packages that the million needs."""

DICTIONARIES = ["dict-gcide", "dict-wn"]
"""And after these: entries of two large dictionaries."""


def download(folder: Path, names: list[str]) -> list[Path]:
    """The package files, downloading those that are missing; in the order of `names`."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in names if not list(folder.glob(f"{name}_*.deb"))]
    if missing:
        subprocess.run(["apt-get", "download", *missing], cwd=folder, check=True)
    return [sorted(folder.glob(f"{name}_*.deb"))[-1] for name in names]


def pages(package: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each HTML page, POD page and dictionary of a package, unpacked in memory."""
    process = subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process, tarfile.open(fileobj=process.stdout, mode="r|") as archive:
        for member in archive:
            if member.isfile() and member.name.endswith((".html", ".htm", ".pod")) and member.size < 4 << 20:
                yield member.name, archive.extractfile(member).read()
            elif member.isfile() and member.name.endswith(".dict.dz"):
                yield member.name, gzip.decompress(archive.extractfile(member).read())
        # The reader may stop early.
        process.kill()
