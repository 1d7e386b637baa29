"""Tenants from Python: walls, limits, dropping, backups of one, and the same awaited."""

import asyncio
from pathlib import Path

import pytest

import nuthatch


def test_tenants_have_data_of_their_own(address: str, tmp_path: Path) -> None:
    place = str(tmp_path / "data") if address == ":memory:" else address
    with nuthatch.connect(place) as db:
        handles = {"": db, "acme": db.create_tenant("acme"), "bolt": db.create_tenant("bolt")}
        for name, handle in handles.items():
            notes = handle.collection("notes", embedder="none")
            notes.upsert([{"id": "a", "text": f"owned by {name or 'nobody'}"}])
            handle.kv("keys")["k"] = name
            with handle.batch() as batch:
                batch.kv("keys")["batch"] = name
        assert db.tenant_names() == ["acme", "bolt"]
        assert repr(handles["acme"]).endswith("tenant 'acme')")
    with nuthatch.connect(place) as db:
        for name in ("acme", "bolt"):
            with db.tenant(name) as handle:  # closing it closes nothing
                assert handle.tenant_name == name
                assert [hit.text for hit in handle.collection("notes").search("owned")] == [f"owned by {name}"]
                assert handle.kv("keys")["batch"] == name.encode()
                assert [info.rows for info in handle.collections()] == [1]
        assert db.kv("keys")["k"] == b""


def test_a_tenants_handle_refuses_what_concerns_the_folder(db: nuthatch.Database) -> None:
    acme = db.create_tenant("acme")
    for call in (acme.tenants, acme.tenant_names, acme.doctor):
        with pytest.raises(nuthatch.InvalidError, match="acme"):
            call()
    with pytest.raises(nuthatch.InvalidError):
        acme.tenant("acme")
    with pytest.raises(nuthatch.InvalidError):
        acme.drop_tenant("acme")
    with pytest.raises(nuthatch.InvalidError):
        db.create_tenant("acme")
    with pytest.raises(nuthatch.InvalidError):
        db.usage()
    with pytest.raises(nuthatch.NotFoundError, match="acme"):
        db.tenant("bolt")


def test_limits_are_kept_and_refuse_whole_writes(db: nuthatch.Database) -> None:
    acme = db.create_tenant("acme", nuthatch.TenantLimits(vectors=2, requests_per_second=5))
    notes = acme.collection("notes", embedder="none")
    with pytest.raises(nuthatch.ExhaustedError, match="2 vectors"):
        notes.upsert(ids=["a", "b", "c"], vectors=[[0, 1], [1, 0], [1, 1]])
    assert len(notes) == 0
    notes.upsert(ids=["a", "b"], vectors=[[0, 1], [1, 0]])
    acme.kv("keys")["key"] = "value"
    (tenant,) = db.tenants()
    assert (tenant.name, tenant.limits) == ("acme", nuthatch.TenantLimits(vectors=2, requests_per_second=5))
    assert tenant.usage == acme.usage()
    assert tenant.usage.vectors == 2
    db.set_tenant_limits("acme", nuthatch.TenantLimits(bytes=tenant.usage.bytes))
    assert acme.limits() == nuthatch.TenantLimits(bytes=tenant.usage.bytes)
    with pytest.raises(nuthatch.ExhaustedError, match="bytes"):
        acme.kv("keys")["other"] = "value"
    with pytest.raises(nuthatch.InvalidError):
        db.set_tenant_limits("acme", nuthatch.TenantLimits(bytes=-1))


def test_a_dropped_tenant_is_gone_and_the_receipt_says_so(db: nuthatch.Database) -> None:
    acme = db.create_tenant("acme")
    acme.collection("notes", embedder="none").upsert([{"id": "a", "text": "hello"}])
    receipt = db.drop_tenant("acme")
    assert (receipt.tenant, receipt.collection, receipt.deleted_records) == ("acme", None, 1)
    assert db.receipts()[-1] == receipt
    assert db.tenants() == []
    with pytest.raises(nuthatch.NotFoundError):
        acme.keyspaces()


def test_one_tenant_is_backed_up_and_restored(tmp_path: Path) -> None:
    with nuthatch.connect(tmp_path / "data") as db:
        db.collection("notes", embedder="none").upsert([{"id": "a", "text": "the folder's"}])
        acme = db.create_tenant("acme")
        acme.collection("notes", embedder="none").upsert([{"id": "a", "text": "acme's"}])
        acme.kv("keys")["k"] = "v"
        one = acme.backup(tmp_path / "one").backup
        assert (one.only, one.tenants, one.collections, one.keyspaces) == (
            "acme",
            ["acme"],
            ["acme/notes"],
            ["acme/keys"],
        )
        every = db.backup(tmp_path / "all").backup
        assert (every.only, every.collections) == (None, ["notes", "acme/notes"])
    restored = nuthatch.restore(tmp_path / "all", tmp_path / "again", tenant="acme")
    assert restored.collections == ["acme/notes"]
    with nuthatch.connect(tmp_path / "again") as again:
        record = again.tenant("acme").collection("notes").get("a")
        assert record is not None
        assert record.text == "acme's"
        assert again.collections() == []


def test_the_same_awaited(address: str) -> None:
    async def main() -> None:
        async with nuthatch.connect_async(address) as db:
            acme = await db.create_tenant("acme", nuthatch.TenantLimits(vectors=1))
            assert acme.tenant_name == "acme"
            notes = await acme.collection("notes", embedder="none")
            await notes.upsert(ids=["a"], vectors=[[0, 1]])
            assert (await acme.usage()).vectors == 1
            assert await acme.limits() == nuthatch.TenantLimits(vectors=1)
            await db.set_tenant_limits("acme", nuthatch.TenantLimits())
            assert await db.tenant_names() == ["acme"]
            assert [tenant.name for tenant in await db.tenants()] == ["acme"]
            again = await db.tenant("acme")
            assert [info.name for info in await again.collections()] == ["notes"]
            assert (await db.drop_tenant("acme")).tenant == "acme"

    asyncio.run(main())
