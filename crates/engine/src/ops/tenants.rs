//! Tenants: making, finding and dropping them, and what they may have.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::call::Outcome;
use crate::database::{Database, Receipt};
use crate::ops::{Op, Repeat, Scope, View, on};
use crate::tenant::{TenantInfo, TenantLimits, TenantPlace, TenantUsage};

/// Makes a tenant of this name.
#[derive(Serialize, Deserialize)]
pub struct Create(pub String);

impl Op for Create {
    type On = on::Everything;
    type Answer = TenantPlace;
    const NAME: &'static str = "tenants.create";
    const SCOPE: Scope = Scope::Admin;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        Ok(view.database()?.create_tenant(&self.0)?.tenant.place())
    }

    fn again(self, db: &Database, _: Outcome) -> Result<Self::Answer> {
        Ok(db.tenant(&self.0)?.tenant.place())
    }
}

/// The number of the tenant of this name.
#[derive(Serialize, Deserialize)]
pub struct Find(pub String);

impl Op for Find {
    type On = on::Everything;
    type Answer = TenantPlace;
    const NAME: &'static str = "tenants.find";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        Ok(view.database()?.tenant(&self.0)?.tenant.place())
    }
}

/// Names of all tenants but the default one.
#[derive(Serialize, Deserialize)]
pub struct Names;

impl Op for Names {
    type On = on::Everything;
    type Answer = Vec<String>;
    const NAME: &'static str = "tenants.names";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.tenant_names()
    }
}

/// All tenants but the default one, for listings.
#[derive(Serialize, Deserialize)]
pub struct Infos;

impl Op for Infos {
    type On = on::Everything;
    type Answer = Vec<TenantInfo>;
    const NAME: &'static str = "tenants.infos";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.tenants()
    }
}

/// The tenant of this name, for listings.
#[derive(Serialize, Deserialize)]
pub struct Info(pub String);

impl Op for Info {
    type On = on::Everything;
    type Answer = TenantInfo;
    const NAME: &'static str = "tenants.info";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.tenant_info(&self.0)
    }
}

/// Sets the limits of the tenant of this name.
#[derive(Serialize, Deserialize)]
pub struct SetLimits(pub String, pub TenantLimits);

impl Op for SetLimits {
    type On = on::Everything;
    type Answer = ();
    const NAME: &'static str = "tenants.set_limits";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.set_tenant_limits(&self.0, self.1)
    }
}

/// Deletes the tenant of this name, with everything in it.
#[derive(Serialize, Deserialize)]
pub struct Drop(pub String);

impl Op for Drop {
    type On = on::Everything;
    type Answer = Receipt;
    const NAME: &'static str = "tenants.drop";
    const SCOPE: Scope = Scope::Admin;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.drop_tenant(&self.0)
    }

    fn again(self, db: &Database, _: Outcome) -> Result<Self::Answer> {
        db.receipt_of_drop(&self.0)
    }
}

/// The limits of the requesting tenant.
#[derive(Serialize, Deserialize)]
pub struct Limits;

impl Op for Limits {
    type On = on::Everything;
    type Answer = TenantLimits;
    const NAME: &'static str = "tenants.limits";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.limits()
    }
}

/// The stored totals of the requesting tenant.
#[derive(Serialize, Deserialize)]
pub struct Usage;

impl Op for Usage {
    type On = on::Everything;
    type Answer = TenantUsage;
    const NAME: &'static str = "tenants.usage";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.usage()
    }
}
