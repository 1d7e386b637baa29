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
    """The limits of a tenant; None means no limit. The engine enforces the first two, servers the
    others.
    """

    #: Vectors of all records and vector fields.
    vectors: int | None = None
    #: Bytes of records, vectors, keys and values, as they are stored, before compression.
    bytes: int | None = None
    requests_per_second: int | None = None
    concurrent_requests: int | None = None


@dataclass(frozen=True, slots=True)
class TenantUsage:
    """The usage of a tenant, counted as its limits count."""

    vectors: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Tenant:
    """The limits and usage of a tenant."""

    name: str
    #: UTC, RFC 3339.
    created: str
    limits: TenantLimits
    usage: TenantUsage


class Tenants:
    """The tenant methods of ``Database``."""

    __slots__ = ()

    _core: DatabaseCore

    if TYPE_CHECKING:

        def __init__(self, core: DatabaseCore) -> None: ...

    @property
    def tenant_name(self) -> str | None:
        """The tenant of this handle; None for the handle that ``connect`` returned."""
        return self._core.tenant_name()

    def tenant(self, name: str) -> Self:
        """Returns the database as this tenant sees it: all its calls cover this tenant alone.

        The handle is cheap, and lives as long as the folder is open; closing it closes nothing
        else. Raises NotFoundError when there is no such tenant, and InvalidError on a tenant's own
        handle.

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
        """Creates a tenant, and returns the database as it sees it. Raises InvalidError when the
        name is taken.

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
        """Lists the names of all tenants, sorted."""
        return self._core.tenant_names()

    def tenants(self) -> list[Tenant]:
        """Lists the limits and usage of every tenant, by name."""
        return [_tenant(parts) for parts in self._core.tenants()]

    def set_tenant_limits(self, name: str, limits: TenantLimits) -> None:
        """Sets a tenant's limits for every write that begins afterwards. Stored data stays, even
        above a limit.

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
        """Deletes a tenant with all its data, and removes all of its bytes from the folder; see
        ``reclaim``.

        It ends earlier snapshots of other tenants as ``reclaim`` does. Raises ConflictError when an
        earlier export or very long read is in the way: the data is gone then, and another call
        removes the bytes.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     _ = db.create_tenant("acme").kv("settings").put("owner", "ann")
        ...     receipt = db.drop_tenant("acme")
        ...     receipt.tenant, db.tenant_names()
        ('acme', [])
        """
        return reports.receipt(self._core.drop_tenant(arguments.text("name", name)))

    def limits(self) -> TenantLimits:
        """The limits of this handle's tenant."""
        return TenantLimits(**self._core.limits())

    def usage(self) -> TenantUsage:
        """The usage of this handle's tenant. Raises InvalidError for the handle that ``connect``
        returned, which is not counted.
        """
        return TenantUsage(**self._core.usage())


def _tenant(parts: dict[str, Any]) -> Tenant:
    """From what the extension module gives."""
    limits, usage = TenantLimits(**parts["limits"]), TenantUsage(**parts["usage"])
    return Tenant(parts["name"], parts["created"], limits, usage)
