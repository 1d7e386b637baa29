"""The tenant methods of ``AsyncDatabase``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .reports import Receipt
from .tenants import Tenant, TenantLimits, TenantUsage
from .threads import in_thread

if TYPE_CHECKING:
    from typing_extensions import Self

    from .database import Database


class AsyncTenants:
    """As ``Tenants``, with calls that are awaited."""

    __slots__ = ()

    sync: Database

    if TYPE_CHECKING:

        def __init__(self, sync: Database) -> None: ...

    @property
    def tenant_name(self) -> str | None:
        """As ``Database.tenant_name``."""
        return self.sync.tenant_name

    async def tenant(self, name: str) -> Self:
        """As ``Database.tenant``."""
        return type(self)(await in_thread(self.sync.tenant, name))

    async def create_tenant(self, name: str, limits: TenantLimits | None = None) -> Self:
        """As ``Database.create_tenant``."""
        return type(self)(await in_thread(self.sync.create_tenant, name, limits))

    async def tenant_names(self) -> list[str]:
        """As ``Database.tenant_names``."""
        return await in_thread(self.sync.tenant_names)

    async def tenants(self) -> list[Tenant]:
        """As ``Database.tenants``."""
        return await in_thread(self.sync.tenants)

    async def set_tenant_limits(self, name: str, limits: TenantLimits) -> None:
        """As ``Database.set_tenant_limits``."""
        await in_thread(self.sync.set_tenant_limits, name, limits)

    async def drop_tenant(self, name: str) -> Receipt:
        """As ``Database.drop_tenant``."""
        return await in_thread(self.sync.drop_tenant, name)

    async def limits(self) -> TenantLimits:
        """As ``Database.limits``."""
        return await in_thread(self.sync.limits)

    async def usage(self) -> TenantUsage:
        """As ``Database.usage``."""
        return await in_thread(self.sync.usage)
