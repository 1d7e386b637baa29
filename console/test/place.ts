/** A server with data of every kind, and a page that is watched for what it must not do. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { type Page, test as base, expect } from "@playwright/test";

const COMMAND = process.env["NUTHATCH"] ?? "nuthatch";
const DIM = 8;

export { expect };

/** What stands in data of the default tenant alone, and must never reach another one's page. */
export const SECRET = "plover-7261";

export class Place {
  readonly folder = mkdtempSync(join(tmpdir(), "nuthatch-console-"));
  address = "";
  keys = { admin: "", reader: "", writer: "", amber: "" };
  #server: ChildProcess | undefined;

  /** Runs the command on the folder. */
  run(...given: string[]): string {
    return execFileSync(COMMAND, ["--data-dir", this.folder, ...given], { encoding: "utf8", env: environment() });
  }

  shell(script: string): string {
    const env = { ...environment(), NUTHATCH_DIR: this.folder, NUTHATCH_KEY: this.keys.admin };
    const nuthatch = `nuthatch() { ${JSON.stringify(COMMAND)} "$@"; }\n`;
    return execFileSync("bash", ["-ec", nuthatch + script], { encoding: "utf8", env });
  }

  async start() {
    this.run("tenant", "create", "amber", "--vectors", "1000");
    const key = (name: string, ...more: string[]) => {
      const said = JSON.parse(this.run("key", "create", name, "--json", ...more)) as { key?: string; token?: string };
      return said.key ?? said.token ?? "";
    };
    this.keys = {
      admin: key("admin", "--scope", "admin"),
      reader: key("reader", "--scope", "read"),
      writer: key("writer", "--scope", "write"),
      amber: key("amber", "--scope", "read", "--scope", "write", "--tenant", "amber"),
    };
    [this.#server, this.address] = await served(["--data-dir", this.folder, "serve", "--listen", "127.0.0.1:0"]);
    await fill(this.#asks(this.keys.admin));
    await fillOther(this.#asks(this.keys.admin, "amber"));
  }

  async stop() {
    const server = this.#server;
    if (server !== undefined && server.exitCode === null) {
      const ended = new Promise((done) => server.once("exit", done));
      server.kill("SIGTERM");
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  #asks(key: string, tenant?: string) {
    return async (method: string, path: string, body?: unknown): Promise<unknown> => {
      const headers = { authorization: `Bearer ${key}`, ...(tenant === undefined ? {} : { "x-nuthatch-tenant": tenant }) };
      const type = body === undefined ? {} : { "content-type": "application/json" };
      const answer = await fetch(`${this.address}${path}`, {
        method,
        headers: { ...headers, ...type },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const said = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${said}`);
      return said === "" ? undefined : (JSON.parse(said) as unknown);
    };
  }
}

function environment() {
  const { NUTHATCH_DIR: _, NUTHATCH_TENANT: __, ...env } = process.env;
  return env;
}

/** A server that answers, and where. */
export async function served(given: string[]): Promise<[ChildProcess, string]> {
  const child = spawn(COMMAND, given, { stdio: ["ignore", "ignore", "pipe"], env: environment() });
  let address: string | undefined;
  for await (const line of createInterface({ input: child.stderr })) {
    address ??= /listening at (http:\/\/[\d.:]+)/.exec(line)?.[1];
    if (/ ready\b/.test(line) && address !== undefined) {
      // What it says later is not for us, and must not stop it.
      child.stderr.resume();
      return [child, address];
    }
  }
  throw new Error("the server ended before it was ready");
}

type Ask = (method: string, path: string, body?: unknown) => Promise<unknown>;

const BIRDS = ["osprey", "heron", "kingfisher", "nuthatch", "swift"];
const DOES = ["fishes in the lake", "waits in the reeds", "dives from a branch", "climbs down the trunk", "sleeps on the wing"];
const TEAMS = ["core", "ops", "field"];

/** Records near one of five directions, the same each time. */
function vectorOf(at: number): number[] {
  return Array.from({ length: DIM }, (_, component) => (component === at % 5 ? 1 : 0.15 * Math.sin(at * 7.3 + component * 3.1)));
}

async function fill(ask: Ask) {
  await ask("PUT", "/v1/collections/sightings", { embedder: "none", dim: DIM });
  const records = Array.from({ length: 60 }, (_, at) => ({
    id: `bird-${String(at).padStart(2, "0")}`,
    text: `The ${BIRDS[at % 5]} ${DOES[(at * 3) % 5]}${at === 7 ? `, ${SECRET}` : ""}.`,
    payload: { team: TEAMS[at % 3], year: 2020 + (at % 6), bird: BIRDS[at % 5], tags: at % 4 === 0 ? ["rare", "lake"] : ["common"] },
    vector: vectorOf(at),
  }));
  await ask("POST", "/v1/collections/sightings/records", { records });
  const [small, large] = [{ dim: 2 }, { dim: 4 }];
  await ask("PUT", "/v1/collections/pictures", { embedder: "none", vectors: { small, large } });
  await ask("POST", "/v1/collections/pictures/records", {
    records: Array.from({ length: 6 }, (_, at) => ({
      id: `picture-${at}`,
      text: `A picture of a ${BIRDS[at % 5]}.`,
      vectors: { small: [1, at], large: [at, 1, 0, 0] },
    })),
  });
  await ask("POST", "/v1/trees/handbook/write", {
    put: [
      { path: "README.md", content: "# Handbook\n\nHow we count birds.\n" },
      { path: "guides/counting.md", content: "# Counting\n\nBegin at dawn.\nCount each heron once.\nWrite it down.\n" },
      { path: "src/count.py", content: "def count(birds):\n    return len(birds)\n\n\ndef report(birds):\n    return f'{count(birds)} birds'\n" },
      { path: "src/main.py", content: "from count import report\n\n\ndef main():\n    print(report(['heron']))\n" },
    ],
  });
  await ask("POST", "/v1/trees/handbook/snapshots", { name: "v1" });
  await ask("POST", "/v1/trees/handbook/write", {
    put: [
      { path: "guides/counting.md", content: "# Counting\n\nBegin before dawn.\nCount each heron once.\nWrite it down at once.\n" },
      { path: "guides/ringing.md", content: "# Ringing\n\nHold the heron gently.\n" },
    ],
  });
  await ask("PUT", "/v1/graphs/food");
  const node = (id: string, type: string) => ({ id, type, properties: { since: 2020 } });
  await ask("POST", "/v1/graphs/food/nodes", {
    nodes: [...BIRDS.map((bird) => node(bird, "bird")), node("pike", "fish"), node("roach", "fish"), node("midge", "insect"), node("beetle", "insect")],
  });
  const edge = (source: string, target: string, weight = 1) => ({ source, type: "eats", target, weight });
  await ask("POST", "/v1/graphs/food/edges", {
    edges: [
      edge("osprey", "pike", 3), edge("heron", "roach", 2), edge("kingfisher", "roach"), edge("pike", "roach"),
      edge("roach", "midge"), edge("swift", "midge", 5), edge("nuthatch", "beetle"),
    ],
  });
  await ask("PUT", "/v1/caches/answers");
  await ask("POST", "/v1/caches/answers/store", { prompt: "What does the osprey eat?", response: "Fish.", vector: vectorOf(0) });
  await ask("POST", "/v1/caches/answers/store", { prompt: "Where does the swift sleep?", response: "On the wing.", vector: vectorOf(4) });
  await ask("POST", "/v1/caches/answers/lookup", { prompt: "What does the osprey eat?", vector: vectorOf(0) });
  await ask("POST", "/v1/caches/answers/lookup", { prompt: "what does the osprey eat", vector: vectorOf(0) });
  await ask("POST", "/v1/caches/answers/lookup", { prompt: "Who won the cup?", vector: vectorOf(2) });
}

async function fillOther(ask: Ask) {
  await ask("PUT", "/v1/collections/amber-notes", { embedder: "none" });
  await ask("POST", "/v1/collections/amber-notes/records", { records: [{ id: "own", text: "A note of amber's own.", payload: { team: "amber" } }] });
}

/** Whatever a page does that it must not: errors, refused scripts or styles, requests to elsewhere. */
export function watched(page: Page, address: string): string[] {
  const wrongs: string[] = [];
  page.on("pageerror", (error) => wrongs.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // Of a request that the server refuses, Chromium says so; tests that provoke one look at its text.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) wrongs.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const { origin } = new URL(request.url());
    if (origin !== address && !request.url().startsWith("blob:")) wrongs.push(`request to ${request.url()}`);
  });
  return wrongs;
}

export async function signIn(page: Page, place: Place, key: string, hash = "") {
  await page.goto(`${place.address}/ui/${hash}`);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("navigation", { name: "Pages" })).toBeVisible();
}

/** A test with a server, a page on it, and what the page did wrong: nothing, when the test ends. */
export const test = base.extend<{ wrongs: string[] }, { place: Place }>({
  place: [
    async ({}, use) => {
      const place = new Place();
      try {
        await place.start();
        await use(place);
      } finally {
        await place.stop();
      }
    },
    { scope: "worker", timeout: 120_000 },
  ],
  wrongs: [
    async ({ page, place }, use) => {
      const wrongs = watched(page, place.address);
      await use(wrongs);
      expect(wrongs).toEqual([]);
    },
    { auto: true },
  ],
});
