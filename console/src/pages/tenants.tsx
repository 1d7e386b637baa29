/** Access: what this key opens, and for operators the tenants with their limits and use. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { type Schemas, data, operates, useSession } from "../api";
import { path } from "../command";
import { Button, DialogButton, Field, Panel } from "../parts/controls";
import { Bar, Facts, bytes, count } from "../parts/figures";
import { Copyable, Recipe } from "../parts/recipe";
import { Answer, Nothing, Problem } from "../parts/states";

export function TenantsPage() {
  const session = useSession();
  const { caller } = session;
  return (
    <>
      <h1>Access</h1>
      <Panel title={session.apiKey === undefined ? "This server asks for no key" : "Your key"}>
        <Facts
          of={[
            ["Tenant", caller.tenant ?? "default"],
            ["Scopes", caller.scopes.join(", ")],
            ["Largest body of a request", bytes(caller.body_bytes_max)],
            ["Requests a second", caller.requests_per_second ?? "no limit"],
            ["Requests at a time", caller.concurrent_requests ?? "no limit"],
            ["Version of the server", caller.version],
          ]}
        />
        {caller.vectors === null || caller.vectors === undefined ? null : <Use name="Vectors" used={caller.vectors} limit={caller.vectors_max} said={count} />}
        {caller.bytes === null || caller.bytes === undefined ? null : <Use name="Bytes" used={caller.bytes} limit={caller.bytes_max} said={bytes} />}
        <Recipe request={{ method: "GET", path: path("caller") }} />
      </Panel>
      {operates(session) ? <Tenants /> : null}
      <p className="help"><a href="/ui/licences.txt">Licences of the libraries in these pages</a></p>
      <Panel title="Keys">
        <p>
          The server shows and makes no keys: who may run commands on its folder makes them. A key that is revoked opens nothing from the
          next request on.
        </p>
        <Copyable name="Make a key" text="nuthatch key create NAME --scope read" />
        <Copyable name="List the keys" text="nuthatch key list" />
        <Copyable name="End a key" text="nuthatch key revoke ID" />
      </Panel>
    </>
  );
}

function Use(props: { name: string; used: number; limit: number | null | undefined; said: (value: number) => string }) {
  const { name, used, limit, said } = props;
  const hasLimit = typeof limit === "number";
  return <Bar name={name} value={used} of={hasLimit ? limit : used} said={hasLimit ? `${said(used)} of ${said(limit)}` : `${said(used)}, no limit`} tone={1} />;
}

function Tenants() {
  const session = useSession();
  const { whole } = session;
  const tenants = useQuery({ queryKey: ["tenants"], queryFn: () => data(whole.GET("/v1/tenants")) });
  return (
    <Panel title="Tenants" actions={<NewTenant />}>
      <Answer of={tenants}>
        {({ tenants }) =>
          tenants.length === 0 ? <Nothing>All data is the default tenant’s.</Nothing> : (
            <ul className="records">
              {tenants.map((tenant) => (
                <li key={tenant.name} className="record">
                  <div className="record-head">
                    <h3>{tenant.name}</h3>
                    <div className="actions">
                      <Button aria-label={`Look at its data: ${tenant.name}`} onPress={() => session.chooseTenant(tenant.name)}>Look at its data</Button>
                      <Limits tenant={tenant} />
                    </div>
                  </div>
                  <Use name="Vectors" used={tenant.vectors} limit={tenant.limits.vectors} said={count} />
                  <Use name="Bytes" used={tenant.bytes} limit={tenant.limits.bytes} said={bytes} />
                  <Facts
                    of={[
                      ["Created", tenant.created],
                      ["Requests a second", tenant.limits.requests_per_second ?? "no limit"],
                      ["Requests at a time", tenant.limits.concurrent_requests ?? "no limit"],
                    ]}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <Recipe isWhole command={["tenant", "list"]} request={{ method: "GET", path: path("tenants") }} />
    </Panel>
  );
}

function NewTenant() {
  const { whole } = useSession();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [error, setError] = useState<Error>();
  const make = async (close: () => void) => {
    try {
      await whole.PUT("/v1/tenants/{tenant}", { params: { path: { tenant: name } } });
      await queries.invalidateQueries({ queryKey: ["tenants"] });
      close();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <DialogButton label="New tenant…" title="New tenant">
      {(close) => (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void make(close);
          }}
        >
          <Field label="Name" value={name} onChange={setName} isRequired autoFocus />
          {error === undefined ? null : <Problem error={error} />}
          <Recipe
            isWhole
            command={["tenant", "create", name === "" ? "NAME" : name]}
            request={{ method: "PUT", path: path("tenants", name === "" ? "NAME" : name) }}
          />
          <div className="actions">
            <Button kind="main" type="submit">Create</Button>
            <Button onPress={close}>Cancel</Button>
          </div>
        </form>
      )}
    </DialogButton>
  );
}

type Limit = keyof Schemas["TenantLimits"];

const LIMITS: [Limit, string, string][] = [
  ["vectors", "Vectors", "--vectors"],
  ["bytes", "Bytes", "--bytes"],
  ["requests_per_second", "Requests a second", "--requests-per-second"],
  ["concurrent_requests", "Requests at a time", "--concurrent-requests"],
];

function Limits({ tenant }: { tenant: Schemas["Tenant"] }) {
  const { whole } = useSession();
  const queries = useQueryClient();
  const [typed, setTyped] = useState<Record<string, string>>(() =>
    Object.fromEntries(LIMITS.map(([limit]) => [limit, tenant.limits[limit] === null || tenant.limits[limit] === undefined ? "" : String(tenant.limits[limit])])),
  );
  const [error, setError] = useState<Error>();
  const given = LIMITS.filter(([limit]) => (typed[limit] ?? "") !== "");
  const body: Schemas["TenantLimits"] = Object.fromEntries(given.map(([limit]) => [limit, Number(typed[limit])]));
  const save = async (close: () => void) => {
    try {
      await whole.PUT("/v1/tenants/{tenant}/limits", { params: { path: { tenant: tenant.name } }, body });
      await queries.invalidateQueries({ queryKey: ["tenants"] });
      close();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <DialogButton label="Limits…" title={`Limits of ${tenant.name}`}>
      {(close) => (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void save(close);
          }}
        >
          <p className="help">An empty field is no limit.</p>
          {LIMITS.map(([limit, name]) => (
            <Field key={limit} label={name} type="number" value={typed[limit] ?? ""} onChange={(value) => setTyped({ ...typed, [limit]: value })} />
          ))}
          {error === undefined ? null : <Problem error={error} />}
          <Recipe
            isWhole
            command={["tenant", "limits", tenant.name, "--no-others", ...given.flatMap(([limit, , flag]) => [flag, typed[limit]])]}
            request={{ method: "PUT", path: `${path("tenants", tenant.name)}/limits`, body }}
          />
          <div className="actions">
            <Button kind="main" type="submit">Save</Button>
            <Button onPress={close}>Cancel</Button>
          </div>
        </form>
      )}
    </DialogButton>
  );
}
