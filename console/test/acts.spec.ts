/** What people do: find, change, copy, and get there by the keyboard alone. */
import type { Page } from "@playwright/test";

import { expect, signIn, test } from "./place";

/** A whole filter; what is offered to complete it is closed. */
async function write(page: Page, where: string) {
  await page.getByRole("combobox", { name: "Filter (where)" }).fill(where);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("listbox")).toHaveCount(0);
}

test("a filter is completed by the keyboard: field, test, value", async ({ page, place }) => {
  await signIn(page, place, place.keys.reader, "#/collections/sightings");
  const filter = page.getByRole("combobox", { name: "Filter (where)" });
  await filter.pressSequentially("te");
  await expect(page.getByRole("option", { name: /^team/ })).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(filter).toHaveValue("team ");
  await filter.pressSequentially("= ");
  await expect(page.getByRole("option", { name: /'ops'/ })).toBeVisible();
  await filter.pressSequentially("o");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(filter).toHaveValue("team = 'ops' ");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(page.getByText("20 of 60")).toBeVisible();
  const command = await page.getByLabel("Shell", { exact: true }).first().innerText();
  expect(place.shell(command).trim()).toMatch(/^20\b/);
});

test("a filter that cannot be read says where it is wrong", async ({ page, place }) => {
  await signIn(page, place, place.keys.reader, "#/collections/sightings");
  await write(page, "team = core");
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page.getByRole("alert").first()).toContainText("single quotes");
});

test("pages of records go on and back", async ({ page, place }) => {
  await signIn(page, place, place.keys.reader, "#/collections/sightings");
  const first = page.locator("ol.records h3").first();
  await expect(first).toHaveText("bird-00");
  await page.getByRole("button", { name: "Next page" }).click();
  await expect(first).toHaveText("bird-25");
  await page.getByRole("button", { name: "Next page" }).click();
  await expect(page.getByRole("button", { name: "Next page" })).toBeDisabled();
  await page.getByRole("button", { name: "Previous page" }).click();
  await expect(first).toHaveText("bird-25");
});

test("a count by value narrows the filter", async ({ page, place }) => {
  await signIn(page, place, place.keys.reader, "#/collections/sightings");
  await page.locator("label", { hasText: /^team$/ }).click();
  await page.getByRole("button", { name: /^Only team = field/ }).click();
  await expect(page.getByRole("combobox", { name: "Filter (where)" })).toHaveValue("team = 'field'");
  await expect(page.getByText("20 of 60")).toBeVisible();
});

test("a long text is shown whole when somebody asks for it", async ({ page, place }) => {
  const text = `${"The heron waits. ".repeat(60)}Then it goes.`;
  const answer = await fetch(`${place.address}/v1/collections/sightings/records`, {
    method: "POST",
    headers: { authorization: `Bearer ${place.keys.admin}`, "content-type": "application/json" },
    body: JSON.stringify({ records: [{ id: "long", text, payload: { length: text.length } }] }),
  });
  expect(answer.status).toBe(200);
  await signIn(page, place, place.keys.reader, `#/collections/sightings?where=${encodeURIComponent("exists(length)")}`);
  await expect(page.getByRole("heading", { name: "long" })).toBeVisible();
  await expect(page.getByText("Then it goes.")).toHaveCount(0);
  await page.getByRole("button", { name: "Show all of long" }).press("Enter");
  await expect(page.getByText("Then it goes.")).toBeVisible();
  place.run("rm", "long", "--collection", "sightings");
});

test("a record is added, changed and deleted", async ({ page, place }) => {
  await signIn(page, place, place.keys.admin, "#/collections/sightings");
  await page.getByRole("button", { name: "Add a record…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Id").fill("wren");
  await dialog.getByLabel("Text").fill("The wren sings.");
  await dialog.getByLabel("Fields, as a JSON object").fill('{"team": "guest", "year": 2026}');
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("The record wren is added.")).toBeVisible();

  await write(page, "team = 'guest'");
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page.getByText("1 of 61")).toBeVisible();
  await page.getByRole("button", { name: "Edit fields…" }).click();
  const fields = dialog.getByLabel("Fields, as a JSON object");
  await fields.fill("{");
  await expect(dialog.getByRole("alert")).toContainText("not JSON");
  await expect(dialog.getByRole("button", { name: "Save" })).toBeDisabled();
  await fields.fill('{"team": "guest", "year": 2027, "seen": true}');
  const command = await dialog.getByLabel("Shell", { exact: true }).innerText();
  expect(command).toBe("nuthatch tag wren --collection sightings --meta year=2027 --meta seen=true");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("The fields of wren are changed.")).toBeVisible();
  const stored = JSON.parse(place.run("get", "wren", "--collection", "sightings", "--json")) as { text: string; payload: unknown }[];
  expect(stored[0]).toMatchObject({ text: "The wren sings.", payload: { team: "guest", year: 2027, seen: true } });

  await page.getByRole("button", { name: "Delete…" }).click();
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page.getByText("The record wren is deleted.")).toBeVisible();
  await expect(page.getByText("No record passes.")).toBeVisible();
});

test("a search is the same as its command and its request", async ({ page, place }) => {
  await signIn(page, place, place.keys.admin, "#/search?collection=sightings&like=bird-01");
  await page.getByRole("searchbox", { name: "Words" }).fill("osprey lake");
  await write(page, "year >= 2021");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  const both = page.getByRole("region", { name: "Both, fused" });
  await expect(both.locator(".hits h3").first()).toBeVisible();
  const shown = await both.locator(".hits h3").allInnerTexts();
  expect(shown).toHaveLength(10);

  const command = `${await page.getByLabel("Shell", { exact: true }).innerText()} --json`;
  const told = JSON.parse(place.shell(command)) as { hits: { id: string }[] };
  expect(told.hits.map((hit) => hit.id)).toEqual(shown);

  await page.getByText("curl and Python").click();
  const curl = await page.getByLabel("curl", { exact: true }).innerText();
  expect(curl).toContain('"authorization: Bearer $NUTHATCH_KEY"');
  const answered = JSON.parse(place.shell(`${curl} --silent --show-error`)) as { hits: { id: string }[] };
  expect(answered.hits.map((hit) => hit.id)).toEqual(shown);
  expect(await page.getByLabel("Python", { exact: true }).innerText()).toContain('os.environ["NUTHATCH_KEY"]');
});

test("a search uses the vectors of the field that was chosen, and says so", async ({ page, place }) => {
  await signIn(page, place, place.keys.admin, "#/search?collection=pictures&like=picture-5");
  for (const field of ["small", "large"]) {
    await page.getByRole("button", { name: /Vectors of the field/ }).click();
    await page.getByRole("option", { name: field }).click();
    await page.getByRole("button", { name: "Search", exact: true }).click();
    const command = page.getByLabel("Shell", { exact: true });
    await expect(command).toContainText(`--using ${field}`);
    await expect(page.locator(".hits h3")).toHaveCount(5);
    const shown = await page.locator(".hits h3").allInnerTexts();
    const told = JSON.parse(place.shell(`${await command.innerText()} --json`)) as { hits: { id: string }[] };
    expect(told.hits.map((hit) => hit.id)).toEqual(shown);
  }
});

test("a search as of a moment does not see what came later", async ({ page, place }) => {
  await signIn(page, place, place.keys.admin, "#/search?collection=sightings");
  await page.getByRole("button", { name: "Hold this moment" }).click();
  await expect(page.getByRole("button", { name: /back to now/ })).toBeVisible();
  place.run("rm", "bird-59", "--collection", "sightings");
  const find = async () => {
    await write(page, "bird = 'swift' and year = 2025");
    await page.getByRole("searchbox", { name: "Words" }).fill("swift");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await expect(page.locator(".hits h3").first()).toBeVisible();
    return page.getByRole("region", { name: "By words" }).locator(".hits h3").allInnerTexts();
  };
  expect(await find()).toContain("bird-59");
  await page.getByRole("button", { name: /back to now/ }).click();
  await expect.poll(find).not.toContain("bird-59");
});

test("a copied request names the tenant that was chosen", async ({ page, place }) => {
  await signIn(page, place, place.keys.admin);
  await page.getByRole("button", { name: /Tenant/ }).click();
  await page.getByRole("option", { name: "amber" }).click();
  await expect(page.getByRole("link", { name: "amber-notes" })).toBeVisible();
  await expect(page.getByText("sightings")).toHaveCount(0);
  expect(await page.getByLabel("Shell", { exact: true }).innerText()).toBe("nuthatch --tenant amber ls --collections");
  await page.getByText("curl and Python").click();
  const said = place.shell(`${await page.getByLabel("curl", { exact: true }).innerText()} --silent --show-error`);
  expect(said).toContain("amber-notes");
  expect(said).not.toContain("sightings");
});

test("an administrator goes from tenant to tenant and back, and administers the whole meanwhile", async ({ page, place }) => {
  await signIn(page, place, place.keys.admin, "#/tenants");
  await page.getByRole("button", { name: "Look at its data: amber" }).click();
  await expect(page.getByRole("button", { name: "amber Tenant" })).toBeVisible();
  await page.getByRole("link", { name: "Audit log" }).click();
  await expect(page.getByText("key.create").first()).toBeVisible();
  expect(await page.getByLabel("Shell", { exact: true }).innerText()).toBe("nuthatch audit --limit 50");
  await page.getByRole("link", { name: "Access" }).click();
  await expect(page.getByRole("heading", { name: "amber" })).toBeVisible();
  await page.getByRole("button", { name: /Tenant/ }).first().click();
  await page.getByRole("option", { name: "default tenant" }).click();
  await page.getByRole("link", { name: "Collections" }).click();
  await expect(page.getByRole("main")).toBeFocused();
  await expect(page.getByRole("link", { name: "sightings" })).toBeVisible();
});

test("a tree's state gets a name, under which it is compared", async ({ page, place }) => {
  await signIn(page, place, place.keys.admin, "#/trees/handbook?tab=about");
  await page.getByRole("button", { name: "Name this state…" }).click();
  await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("v2");
  await page.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("link", { name: "v2" })).toBeVisible();
  expect(place.run("snapshot", "list", "--tree", "handbook")).toContain("v2");
  place.run("snapshot", "rm", "v2", "--tree", "handbook");
});

test("a verdict changes what the cache counts", async ({ page, place }) => {
  await signIn(page, place, place.keys.admin, "#/caches/answers");
  await page.getByRole("textbox", { name: "Prompt" }).fill("Where does the swift sleep?");
  await page.getByRole("button", { name: "Explain" }).click();
  const entry = /entry (\d+)/.exec(await page.getByText(/^Answered by entry/).innerText())?.[1] ?? "";
  await page.getByRole("button", { name: "Report an answer as wrong…" }).click();
  await page.getByRole("dialog").getByLabel("Entry").fill(entry);
  await page.getByRole("button", { name: "Report it" }).click();
  await expect(page.getByText(`Entry ${entry} is reported as wrong.`)).toBeVisible();
  await page.getByRole("button", { name: "Explain" }).click();
  await expect(page.getByText("1, 0")).toBeVisible();
});

test("a tenant gets limits", async ({ page, place }) => {
  await signIn(page, place, place.keys.admin, "#/tenants");
  await page.getByRole("button", { name: "Limits…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Vectors").fill("500");
  await dialog.getByLabel("Requests a second").fill("");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("0 of 500")).toBeVisible();
});

test("the keyboard alone reaches the content, the tabs and a dialog, and leaves it where it was", async ({ page, place }) => {
  await signIn(page, place, place.keys.admin, "#/collections/sightings");
  await expect(page.getByRole("heading", { name: "bird-00" })).toBeVisible();
  await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
  await page.getByRole("tab", { name: "Records" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("tab", { name: "Schema" })).toBeFocused();
  await expect(page.getByRole("heading", { name: "Settings and size" })).toBeVisible();
  await page.keyboard.press("ArrowLeft");
  const add = page.getByRole("button", { name: "Add a record…" });
  await add.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(add).toBeFocused();
});
