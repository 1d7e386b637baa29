/** Against a real server: `NUTHATCH` names the command, else it is looked for on the path. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { type Client, NuthatchError, connect, packed, unpacked } from "../src/index.js";

let server: ChildProcess;
let url = "";
let client: Client;
const folder = mkdtempSync(join(tmpdir(), "nuthatch-client-"));

before(async () => {
  const flags = ["serve", "--data-dir", folder, "--listen", "127.0.0.1:0", "--log-format", "json"];
  server = spawn(process.env["NUTHATCH"] ?? "nuthatch", flags, { stdio: ["ignore", "ignore", "pipe"] });
  const log = createInterface({ input: server.stderr! });
  for await (const line of log) {
    url = /listening at (http:[^\s"]+)/.exec(line)?.[1] ?? url;
    if (line.includes('"ready"')) break;
  }
  server.stderr!.resume();
  client = connect(url);
});

after(async () => {
  server.kill("SIGTERM");
  await new Promise((ended) => server.once("exit", ended));
  rmSync(folder, { recursive: true });
});

const notes = { path: { collection: "notes" } };

test("records are written, searched and read with their types", async () => {
  await client.PUT("/v1/collections/{collection}", { params: notes, body: { embedder: "none", metric: "l2", vectors: {} } });
  const written = await client.POST("/v1/collections/{collection}/records", {
    params: notes,
    body: {
      records: [
        { id: "a", text: "the osprey fishes", vector: packed([0.5, 1]), payload: { year: 2024 } },
        { id: "b", text: "the heron waits", vector: [3, 4], payload: { year: 2025 } },
      ],
    },
  });
  assert.deepEqual(written.data, { inserted: 2, replaced: 0 });

  const found = await client.POST("/v1/collections/{collection}/search", {
    params: notes,
    body: { text: "osprey", vector: [0.5, 1], where: "year < 2025", include: ["payload", "vector"], vector_format: "base64" },
  });
  const hit = found.data?.hits[0];
  assert.equal(hit?.id, "a");
  assert.deepEqual(hit?.payload, { year: 2024 });
  assert.deepEqual(unpacked(hit?.vector as string), new Float32Array([0.5, 1]));

  const counted = await client.GET("/v1/collections/{collection}/count", { params: { ...notes, query: { where: "year = 2025" } } });
  assert.equal(counted.data?.count, 1);
});

test("keys are counted and listed", async () => {
  const keyspace = { path: { keyspace: "visits" } };
  const sum = await client.POST("/v1/keyspaces/{keyspace}/increment", { params: keyspace, body: { key: "page", by: 2 } });
  assert.equal(sum.data?.value, 2);
  const page = await client.POST("/v1/keyspaces/{keyspace}/scan", { params: keyspace, body: { limit: 10, keys_only: true, reverse: false } });
  assert.deepEqual(page.data?.entries.map((entry) => entry.key), ["page"]);
});

test("a value of any bytes comes back as it was", async () => {
  const params = { path: { keyspace: "images", key: "a b/ü" } };
  const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
  await client.PUT("/v1/keyspaces/{keyspace}/keys/{key}", {
    params,
    body: new Blob([bytes]),
    headers: { "content-type": "application/octet-stream" },
  });
  const stored = await client.GET("/v1/keyspaces/{keyspace}/keys/{key}", { params, parseAs: "blob" });
  assert.deepEqual(new Uint8Array((await stored.data?.arrayBuffer()) ?? new ArrayBuffer(0)), bytes);
});

test("a snapshot shows what was, and its commit conflicts with what has changed", async () => {
  const keyspace = { path: { keyspace: "accounts" } };
  const put = (value: string) => ({ keys: { keyspace: "accounts", changes: [{ put: { key: "anna", value } }] } });
  await client.POST("/v1/batches", { body: { writes: [put("10")] } });
  const id = (await client.POST("/v1/snapshots")).data?.id ?? "";
  await client.POST("/v1/batches", { body: { writes: [put("7")] } });
  const header = { "x-nuthatch-snapshot": id };
  const then = await client.POST("/v1/keyspaces/{keyspace}/get", { params: { ...keyspace, header }, body: { keys: ["anna"] } });
  assert.deepEqual(then.data?.values, ["10"]);
  const reads = [{ keys: { keyspace: "accounts", keys: ["anna"] } }];
  const late = client.POST("/v1/snapshots/{snapshot}/commit", {
    params: { path: { snapshot: id } },
    body: { reads, writes: [put("6")] },
  });
  await assert.rejects(late, (error: unknown) => error instanceof NuthatchError && error.kind === "conflict");
});

test("a problem is thrown with its kind, its remedy and the thing that it is about", async () => {
  const asked = client.GET("/v1/collections/{collection}", { params: { path: { collection: "nothing" } } });
  await assert.rejects(asked, (error: unknown) => {
    assert.ok(error instanceof NuthatchError);
    assert.deepEqual([error.status, error.kind], [404, "not_found"]);
    assert.deepEqual(error.subject, { what: "collection", name: "nothing" });
    assert.match(error.message, /nothing.*check the name/);
    return true;
  });
});

test("a tenant's data is its own", async () => {
  await client.PUT("/v1/tenants/{tenant}", { params: { path: { tenant: "acme" } } });
  const acme = connect(url, { tenant: "acme" });
  assert.equal((await acme.GET("/v1/caller")).data?.tenant, "acme");
  assert.deepEqual((await acme.GET("/v1/collections")).data?.collections, []);
});

test("a vector is the same packed and unpacked", () => {
  const vector = new Float32Array([0.1, -0, 1e30, 1 / 3]);
  assert.deepEqual(unpacked(packed(vector)), vector);
});
