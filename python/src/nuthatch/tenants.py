"""Tenants: several owners of data in one folder, who never see each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import arguments, reports

if TYPE_CHECKING:
    from typing_extensions import Self

    from . import _core as extension
    from .cores import DatabaseCore


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """What a tenant may have; None: as much as it likes. The engine keeps the first two, servers the others."""

    #: Vectors of all records and vector fields.
    vectors: int | None = None
    #: Bytes of records, vectors, keys and values, as they are stored, before compression.
    bytes: int | None = None
    requests_per_second: int | None = None
    concurrent_requests: int | None = None


@dataclass(frozen=True, slots=True)
class TenantUsage:
    """What a tenant has stored, counted as its limits count."""

    vectors: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Tenant:
    """What a tenant may have, and what it has."""

    name: str
    #: UTC, RFC 3339.
    created: str
    limits: TenantLimits
    usage: TenantUsage


class Tenants:
    """What ``Database`` knows of tenants."""

    __slots__ = ()

    _core: DatabaseCore

    if TYPE_CHECKING:

        def __init__(self, core: DatabaseCore) -> None: ...

    @property
    def tenant_name(self) -> str | None:
        """Whose handle this is; None for the one that ``connect`` gave."""
        return self._core.tenant_name()

    def tenant(self, name: str) -> Self:
        """The database as this tenant sees it: all that is asked of it is about this tenant alone.

        Its handle is cheap, and lives as long as the folder is open; closing it closes nothing. Raises NotFoundError when there is
        no such tenant, and InvalidError when this is a tenant's handle itself.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     for name in ("acme", "bolt"):
        ...         _ = db.create_tenant(name)
        ...         db.tenant(name).kv("settings")["owner"] = name
        ...     db.tenant("acme").kv("settings")["owner"], db.kv("settings").get("owner")
        (b'acme', None)
        """
        return type(self)(self._core.tenant(arguments.text("name", name)))

    def create_tenant(self, name: str, limits: TenantLimits | None = None) -> Self:
        """Makes a tenant, and gives the database as it sees it. Raises InvalidError when there is one of that name.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     acme = db.create_tenant("acme", nuthatch.TenantLimits(vectors=1))
        ...     notes = acme.collection("notes", embedder="none")
        ...     _ = notes.upsert(ids=["a"], vectors=[[0, 1]])
        ...     try:
        ...         notes.upsert(ids=["b"], vectors=[[1, 0]])
        ...     except nuthatch.ExhaustedError:
        ...         acme.usage().vectors
        1
        """
        text = arguments.text("name", name)
        made = type(self)(self._core.create_tenant(text))
        if limits is not None:
            self.set_tenant_limits(text, limits)
        return made

    def tenant_names(self) -> list[str]:
        """Names of all tenants, sorted."""
        return self._core.tenant_names()

    def tenants(self) -> list[Tenant]:
        """What every tenant may have and has, by name."""
        return [_tenant(parts) for parts in self._core.tenants()]

    def set_tenant_limits(self, name: str, limits: TenantLimits) -> None:
        """Sets what a tenant may have, for every write that begins afterwards. What it has already stays, even above the limit.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     acme = db.create_tenant("acme")
        ...     db.set_tenant_limits("acme", nuthatch.TenantLimits(bytes=1_000_000))
        ...     acme.limits()
        TenantLimits(vectors=None, bytes=1000000, requests_per_second=None, concurrent_requests=None)
        """
        given: extension.LimitArguments = {
            "vectors": arguments.optional_whole("vectors", limits.vectors),
            "bytes": arguments.optional_whole("bytes", limits.bytes),
            "requests_per_second": arguments.optional_whole("requests_per_second", limits.requests_per_second),
            "concurrent_requests": arguments.optional_whole("concurrent_requests", limits.concurrent_requests),
        }
        self._core.set_tenant_limits(arguments.text("name", name), given)

    def drop_tenant(self, name: str) -> reports.Receipt:
        """Deletes a tenant with everything that it has, and leaves none of its bytes in the folder; see ``reclaim``.

        Snapshots of other tenants that are open from before are ended as by ``reclaim``. Raises ConflictError when an export or a
        very long read from before is in the way: the data is gone then, and calling it again removes the bytes.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     _ = db.create_tenant("acme").kv("settings").put("owner", "ann")
        ...     receipt = db.drop_tenant("acme")
        ...     receipt.tenant, db.tenant_names()
        ('acme', [])
        """
        return reports.receipt(self._core.drop_tenant(arguments.text("name", name)))

    def limits(self) -> TenantLimits:
        """What the tenant of this handle may have."""
        return TenantLimits(**self._core.limits())

    def usage(self) -> TenantUsage:
        """What the tenant of this handle has stored. Raises InvalidError for the handle that ``connect`` gave, which is not
        counted."""
        return TenantUsage(**self._core.usage())


def _tenant(parts: dict[str, Any]) -> Tenant:
    """From what the extension module gives."""
    limits, usage = TenantLimits(**parts["limits"]), TenantUsage(**parts["usage"])
    return Tenant(parts["name"], parts["created"], limits, usage)
