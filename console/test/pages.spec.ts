/** Every page, dark and light: it shows what there is, axe finds nothing, nothing inline or foreign is loaded. */
import { createRequire } from "node:module";
import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { Page } from "@playwright/test";

import { expect, signIn, test } from "./place";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PICTURES = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const PICTURE_BYTES_MAX = 150 * 1024;

interface Shown {
  name: string;
  hash: string;
  /** Until what the page is about is there. */
  until: (page: Page) => Promise<void>;
  /** The name of its picture in the guide. */
  picture?: string;
}

const sees = (page: Page, text: string | RegExp) => expect(page.getByText(text).first()).toBeVisible();

const PAGES: Shown[] = [
  { name: "collections", hash: "#/collections", until: (page) => sees(page, "sightings") },
  {
    name: "records",
    hash: "#/collections/sightings",
    picture: "console-records",
    until: async (page) => {
      await expect(page.getByRole("heading", { name: "bird-00" })).toBeVisible();
      await page.getByText("bird", { exact: true }).and(page.locator("label")).click();
      await page.getByText("team", { exact: true }).and(page.locator("label")).click();
      await expect(page.getByRole("button", { name: /^Only team = core 20 records/ })).toBeVisible();
    },
  },
  { name: "schema", hash: "#/collections/sightings?tab=schema", until: (page) => sees(page, "Types of its values") },
  {
    name: "map",
    hash: "#/collections/sightings?tab=map",
    picture: "console-map",
    until: async (page) => {
      await expect(page.locator("figure.map circle.point").first()).toBeVisible();
      await page.getByRole("button", { name: /Colour by/ }).click();
      await page.getByRole("option", { name: "bird", exact: true }).click();
      await expect(page.locator(".legend li")).toHaveCount(5);
    },
  },
  {
    name: "search",
    hash: "#/search?collection=sightings&like=bird-03",
    picture: "console-search",
    until: async (page) => {
      await page.getByRole("searchbox", { name: "Words" }).fill("heron in the lake");
      await page.getByRole("button", { name: "Search", exact: true }).click();
      await expect(page.getByRole("heading", { name: "Both, fused" })).toBeVisible();
      await expect(page.getByRole("heading", { name: "How it was found" })).toHaveCount(3);
    },
  },
  { name: "trees", hash: "#/trees", until: (page) => sees(page, "handbook") },
  { name: "files", hash: "#/trees/handbook", until: (page) => sees(page, "guides/") },
  {
    name: "file",
    hash: "#/trees/handbook?path=guides%2Fcounting.md",
    until: async (page) => {
      await sees(page, "Begin before dawn.");
      await page.getByRole("button", { name: /^Compare with/ }).last().click();
      await expect(page.locator(".patch .plus").first()).toContainText("Begin before dawn.");
    },
  },
  {
    name: "grep",
    hash: "#/trees/handbook?tab=grep",
    picture: "console-grep",
    until: async (page) => {
      await page.getByLabel("Pattern").fill("heron");
      await page.getByRole("button", { name: "Search", exact: true }).click();
      await expect(page.locator("mark").first()).toHaveText("heron");
    },
  },
  {
    name: "diff",
    hash: "#/trees/handbook?tab=diff",
    picture: "console-diff",
    until: async (page) => {
      await expect(page.getByLabel("From", { exact: true })).toHaveValue("v1");
      await page.getByRole("button", { name: "Compare", exact: true }).click();
      await sees(page, "2 paths differ");
      await page.getByRole("button", { name: "guides/counting.md" }).click();
      await expect(page.locator(".patch .plus").first()).toContainText("Begin before dawn.");
    },
  },
  {
    name: "code",
    hash: "#/trees/handbook?tab=code&name=count",
    picture: "console-code",
    until: async (page) => {
      await expect(page.getByRole("button", { name: "report", exact: true }).first()).toBeVisible();
    },
  },
  { name: "tree", hash: "#/trees/handbook?tab=about", until: (page) => sees(page, "Contents of all trees together") },
  {
    name: "graph",
    hash: "#/graphs/food?node=roach",
    picture: "console-graph",
    until: async (page) => {
      await page.getByRole("button", { name: "pike, fish" }).press("Enter");
      await expect(page.getByRole("button", { name: "osprey, bird" })).toBeVisible();
    },
  },
  { name: "graphs", hash: "#/graphs", until: (page) => sees(page, "food") },
  { name: "caches", hash: "#/caches", until: (page) => sees(page, "answers") },
  {
    name: "cache",
    hash: "#/caches/answers",
    picture: "console-cache",
    until: async (page) => {
      await page.getByRole("textbox", { name: "Prompt" }).fill("What does the osprey eat?");
      await page.getByRole("button", { name: "Explain" }).click();
      await sees(page, /^Answered by entry/);
    },
  },
  { name: "memory", hash: "#/memory", picture: "console-memory", until: (page) => sees(page, /of a budget of/) },
  { name: "access", hash: "#/tenants", until: (page) => sees(page, "Look at its data") },
  { name: "audit", hash: "#/audit", until: (page) => sees(page, "key.create") },
  {
    name: "doctor",
    hash: "#/health",
    until: async (page) => {
      await page.getByRole("button", { name: "Check", exact: true }).click();
      await sees(page, /^All is well/);
    },
  },
];

/** What axe finds, one line each. Its own code is no script of the page: the policy of the page does not concern it. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    type Node = { target: unknown; failureSummary?: string };
    type Found = { violations: { id: string; help: string; nodes: Node[] }[] };
    const { axe } = globalThis as unknown as { axe: { run: (options: object) => Promise<Found> } };
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${String(node.target)} ${node.failureSummary ?? ""}`));
  });
}

for (const theme of ["light", "dark"] as const) {
  test.describe(theme, () => {
    test.use({ colorScheme: theme });
    for (const shown of PAGES) {
      test(`${shown.name} is shown and accessible`, async ({ page, place }) => {
        await signIn(page, place, place.keys.admin, shown.hash);
        await shown.until(page);
        expect(await findings(page)).toEqual([]);
        if (shown.picture !== undefined && theme === "light" && process.env["NUTHATCH_PICTURES"] !== undefined) {
          const path = `${PICTURES}${shown.picture}.png`;
          await page.evaluate(() => {
            if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
            scrollTo(0, 0);
          });
          await page.screenshot({ path });
          expect(statSync(path).size).toBeLessThanOrEqual(PICTURE_BYTES_MAX);
        }
      });
    }

    test("the entrance is accessible", async ({ page, place }) => {
      await page.goto(`${place.address}/ui/`);
      await expect(page.getByLabel("API key")).toBeFocused();
      expect(await findings(page)).toEqual([]);
    });

    test("a dialog is accessible", async ({ page, place }) => {
      await signIn(page, place, place.keys.admin, "#/collections/sightings");
      await page.getByRole("button", { name: "Edit fields…" }).first().click();
      await expect(page.getByRole("dialog")).toBeVisible();
      expect(await findings(page)).toEqual([]);
    });
  });
}

test("somebody chooses dark or light for themselves", async ({ page, place }) => {
  await signIn(page, place, place.keys.reader);
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.getByRole("button", { name: /Colours/ }).click();
  await page.getByRole("option", { name: "dark" }).click();
  await expect.poll(back).not.toBe(light);
  const dark = await back();
  await page.reload();
  expect(await back()).toBe(dark);
});

test("the whole console is small", async ({ page, place }) => {
  const sizes = new Map<string, number>();
  page.on("response", async (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith("/ui/")) sizes.set(pathname, Number((await response.request().sizes()).responseBodySize));
  });
  await signIn(page, place, place.keys.reader);
  await expect.poll(() => sizes.size).toBeGreaterThanOrEqual(3);
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  console.log(`the console: ${total} bytes over the wire in ${sizes.size} files`);
  expect(total).toBeLessThanOrEqual(1024 * 1024);
});
