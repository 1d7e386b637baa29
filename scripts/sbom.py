"""Write what the command and the Python module are made of, as CycloneDX 1.6 (a software bill of materials).

    python scripts/sbom.py nuthatch.cdx.json

The list is the same that `third_party.py` collects licences of. `SOURCE_DATE_EPOCH` sets the time that it states.
"""

from __future__ import annotations

import os
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

import linked


def write(path: Path) -> None:
    bom = described()
    path.write_text(JsonV1Dot6(bom).output_as_string(indent=1) + "\n", encoding="utf-8")
    print(f"    {path.name}: {len(bom.components)} components")


def described() -> Bom:
    version = linked.version()
    product = Component(
        type=ComponentType.LIBRARY,
        name="nuthatch",
        version=version,
        bom_ref="nuthatch",
        purl=PackageURL("pypi", name="nuthatch", version=version),
        licenses=[LicenseExpression("Apache-2.0")],
    )
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"pkg:pypi/nuthatch@{version}"))
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    bom.metadata.timestamp = datetime.fromtimestamp(float(epoch), timezone.utc) if epoch else datetime.now(timezone.utc)
    bom.metadata.component = product

    crates = linked.crates()
    made = {(crate.name, crate.version): crate_component(crate) for crate in crates}
    for crate in crates:
        bundled = [bundled_component(crate)] if crate.bundles else []
        for component in (made[crate.name, crate.version], *bundled):
            bom.components.add(component)
        uses = [made[used] for used in crate.uses if used in made]
        bom.register_dependency(made[crate.name, crate.version], [*uses, *bundled])
    others = [rust_component(), *(page_component(page) for page in linked.pages())]
    for component in others:
        bom.components.add(component)
    used = {one for crate in crates for one in crate.uses}
    bom.register_dependency(product, [*(made[key] for key in made if key not in used), *others])
    return bom


def crate_component(crate: linked.Crate) -> Component:
    purl = PackageURL("cargo", name=crate.name, version=crate.version)
    return Component(
        type=ComponentType.LIBRARY,
        name=crate.name,
        version=crate.version,
        bom_ref=str(purl),
        purl=purl,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=crate.sha256)],
        licenses=[LicenseExpression(crate.licence)],
    )


def bundled_component(crate: linked.Crate) -> Component:
    assert crate.bundles is not None
    name, version = crate.bundles
    purl = PackageURL("generic", name=name, version=version)
    return Component(type=ComponentType.LIBRARY, name=name, version=version, bom_ref=str(purl), purl=purl)


def rust_component() -> Component:
    version, _ = linked.rust()
    purl = PackageURL("generic", name="rust-std", version=version)
    licence = LicenseExpression("MIT OR Apache-2.0")
    return Component(
        type=ComponentType.LIBRARY, name="rust-std", version=version, bom_ref=str(purl), purl=purl, licenses=[licence]
    )


def page_component(page: dict[str, str]) -> Component:
    """A package of npm in the console's pages."""
    namespace, _, name = page["name"].rpartition("/")
    purl = PackageURL("npm", namespace=namespace or None, name=name, version=page["version"])
    return Component(
        type=ComponentType.LIBRARY,
        name=page["name"],
        version=page["version"],
        bom_ref=str(purl),
        purl=purl,
        licenses=[LicenseExpression(page["licence"])],
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]))
