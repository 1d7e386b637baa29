/** Nothing beyond what the key may do, whatever somebody asks the console for. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

import { SECRET, expect, signIn, test, watched } from "./place";

const CHANGES = /^(Add a record|Edit fields|Delete|New collection|New tenant|Limits|Merge segments|Drop the collection|Report an answer)/;

test("a key that the server does not know opens nothing", async ({ page, place }) => {
  await page.goto(`${place.address}/ui/`);
  for (const wrong of ["nonsense", "nuthatch_000000000000_00", `${place.keys.admin}0`]) {
    await page.getByLabel("API key").fill(wrong);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("alert")).toContainText("API key");
  }
  await expect(page.getByRole("navigation", { name: "Pages" })).toHaveCount(0);
});

test("a key that reads is offered no change", async ({ page, place }) => {
  await signIn(page, place, place.keys.reader);
  const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
  expect(await links.allInnerTexts()).toEqual(["Collections", "Search", "Documents and code", "Graphs", "Caches", "Access"]);
  for (const hash of ["#/collections", "#/collections/sightings", "#/collections/sightings?tab=schema", "#/caches/answers", "#/tenants"]) {
    await page.goto(`${place.address}/ui/${hash}`);
    await expect(page.locator("h1")).toBeVisible();
    await expect(page.getByText("Asking the server…")).toHaveCount(0);
    expect(await page.getByRole("button", { name: CHANGES }).allInnerTexts()).toEqual([]);
  }
});

test("a key that only writes sees itself and no data", async ({ page, place }) => {
  await signIn(page, place, place.keys.writer);
  expect(await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allInnerTexts()).toEqual(["Access"]);
  await page.goto(`${place.address}/ui/#/collections/sightings`);
  await expect(page.getByRole("alert")).toContainText("opens no page");
  await expect(page.locator("body")).not.toContainText(SECRET);
});

test("whoever signs out, or opens another tab, is asked for a key", async ({ page, place, context }) => {
  await signIn(page, place, place.keys.reader, "#/collections/sightings");
  await page.reload();
  await expect(page.getByRole("heading", { name: "bird-00" })).toBeVisible();
  const other = await context.newPage();
  await other.goto(`${place.address}/ui/#/collections/sightings`);
  await expect(other.getByLabel("API key")).toBeVisible();
  await other.close();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("API key")).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("API key")).toBeVisible();
  expect(await context.cookies()).toEqual([]);
  const kept = await page.evaluate(() => JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]));
  expect(kept).not.toContain("nuthatch_");
});

/** Addresses within the console that a tenant's key has no right to, or that nobody has. */
function tries(): string[] {
  const names = ["sightings", "amber-notes", "../sightings", "..%2Fsightings", "default/sightings", "%00", "sightings%00", "'; drop", "<img src=x onerror=alert(1)>", "handbook", "food", "answers"];
  const pages = ["collections", "trees", "graphs", "caches"];
  const tails = ["", "?tab=schema", "?tab=map", "?where=1%3D1", "?tab=code&name=count", "?path=..%2F..%2Fkeys.json", "?as_of=v1&path=README.md"];
  const named = pages.flatMap((page) => names.flatMap((name) => tails.map((tail) => `#/${page}/${encodeURIComponent(name)}${tail}`)));
  const searches = names.map((name) => `#/search?collection=${encodeURIComponent(name)}&like=bird-07`);
  return [...named, ...searches, "#/memory", "#/audit", "#/health", "#/tenants", "#/constructor", "#/__proto__", "#code=00", "#/%E0%A4%A"];
}

test("a tenant's key finds nothing of another tenant's by any address", async ({ page, place, wrongs }) => {
  test.setTimeout(300_000);
  await signIn(page, place, place.keys.amber);
  const bodies: string[] = [];
  page.on("response", async (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith("/v1/")) bodies.push(await response.text().catch(() => ""));
  });
  const all = tries();
  expect(all.length).toBeGreaterThan(200);
  const leaks = new RegExp(`${SECRET}|bird-0|How we count birds|osprey|kingfisher`);
  for (const hash of all) {
    await page.evaluate((hash) => (location.hash = hash), hash);
    await expect(page.locator("h1, [role=alert]").first()).toBeVisible();
    await expect(page.getByText("Asking the server…")).toHaveCount(0);
    // The names that were tried stand in answers; what they name must not.
    expect(await page.locator("main").innerText(), hash).not.toMatch(new RegExp(leaks.source.replace("|bird-0", "")));
  }
  await page.waitForLoadState("networkidle");
  expect(bodies.length).toBeGreaterThan(100);
  const leaking = bodies.filter((body) => leaks.test(body) && !/"status":4\d\d/.test(body));
  expect(leaking).toEqual([]);
  expect(wrongs).toEqual([]);
});

test("text of records does not become a part of the page", async ({ page, place }) => {
  const text = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
  const answer = await fetch(`${place.address}/v1/collections/sightings/records`, {
    method: "POST",
    headers: { authorization: `Bearer ${place.keys.admin}`, "content-type": "application/json" },
    body: JSON.stringify({ records: [{ id: "a-hostile", text, payload: { team: text, hostile: true } }] }),
  });
  expect(answer.status).toBe(200);
  await signIn(page, place, place.keys.reader, `#/collections/sightings?where=${encodeURIComponent("exists(hostile)")}`);
  await expect(page.getByText("onerror").first()).toBeVisible();
  expect(await page.locator("main img, main script").count()).toBe(0);
  expect(await page.title()).not.toContain("owned");
  place.run("rm", "a-hostile", "--collection", "sightings");
});

test("`nuthatch ui` signs one browser in, once", async ({ page, place, browser }) => {
  const command = process.env["NUTHATCH"] ?? "nuthatch";
  const child = spawn(command, ["--data-dir", place.folder, "ui", "--no-open", "--read-only"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const url = String((await lines.next()).value);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/ui\/#code=[0-9a-f]{64}$/);
    // What is watched is another server's page.
    const mine = await (await browser.newContext()).newPage();
    const wrongs = watched(mine, new URL(url).origin);
    await mine.goto(url);
    await expect(mine.getByRole("link", { name: "sightings" })).toBeVisible();
    expect(mine.url()).not.toContain("code");
    await expect(mine.getByRole("button", { name: "New collection…" })).toHaveCount(0);
    await mine.reload();
    await expect(mine.getByRole("link", { name: "sightings" })).toBeVisible();
    const theirs = await (await browser.newContext()).newPage();
    await theirs.goto(url);
    await expect(theirs.getByRole("alert")).toContainText("nuthatch ui");
    await expect(theirs.getByText("sightings")).toHaveCount(0);
    expect(wrongs).toEqual([]);
  } finally {
    child.kill("SIGINT");
  }
  const code = await new Promise((done) => child.once("exit", done));
  expect(code).toBe(0);
  await page.close();
});
