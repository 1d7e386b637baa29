/**
 * Puts what `vite build` made into the server's sources: node bundle.mjs write | check.
 *
 * Each file is compressed and named in crates/server/src/console/bundle.rs, which the server includes. Building the server needs no
 * node. `check` compares contents, because two versions of node may compress the same bytes differently.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const BYTES_MAX = 1024 * 1024;

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = here("../crates/server/console/");
const list = here("../crates/server/src/console/bundle.rs");

const TYPES = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
};

const packages = JSON.parse(readFileSync(here("dist/licences.json"), "utf8"));
const notice = packages.map(({ name, version, identifier, text }) => `${name} ${version} (${identifier})\n\n${text ?? ""}\n`);

/** By the name in the sources, which stays the same from build to build: what a browser asks for, and the bytes. */
const files = new Map([
  ["index.html", { name: "index.html", bytes: readFileSync(here("dist/index.html")) }],
  ["licences.txt", { name: "licences.txt", bytes: Buffer.from(notice.join(`\n${"-".repeat(72)}\n\n`)) }],
]);
for (const name of readdirSync(here("dist/assets")).sort()) {
  const stable = name.replace(/-[\w-]{8}\.(\w+)$/, ".$1");
  if (files.has(stable)) throw new Error(`two files are called ${stable}`);
  files.set(stable, { name, bytes: readFileSync(here(`dist/assets/${name}`)) });
}

const entry = (stable) => {
  const { name } = files.get(stable);
  const type = TYPES[name.split(".").at(-1)];
  if (type === undefined) throw new Error(`${name} has no media type in bundle.mjs`);
  const path = `concat!(env!("CARGO_MANIFEST_DIR"), "/console/${stable}.gz")`;
  return `File {\n    name: "${name}",\n    media_type: "${type}",\n    gzip: include_bytes!(${path}),\n}`;
};
const indented = (text) => text.replaceAll("\n", "\n    ");
const assets = [...files.keys()].filter((stable) => stable !== "index.html" && stable !== "licences.txt");
const rust = `//! The files of the console. \`make console\` writes this list.

use super::File;

pub(super) const INDEX: File = ${entry("index.html")};

/// Under which licences the packages are that the pages are made of.
pub(super) const LICENCES: File = ${entry("licences.txt")};

pub(super) const ASSETS: &[File] = &[
${assets.map((stable) => `    ${indented(entry(stable))},`).join("\n")}
];
`;
const licences = `${JSON.stringify(packages.map(({ name, version, identifier }) => ({ name, version, licence: identifier })), null, 2)}\n`;

const packed = [...files].map(([stable, { bytes }]) => [`${stable}.gz`, gzipSync(bytes, { level: 9 }), bytes]);
const total = packed.reduce((sum, [, gzip]) => sum + gzip.length, 0);
if (total > BYTES_MAX) throw new Error(`the console has ${total} bytes compressed, and may have ${BYTES_MAX}`);

switch (process.argv[2]) {
  case "write":
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    for (const [name, gzip] of packed) writeFileSync(`${target}${name}`, gzip);
    writeFileSync(`${target}licences.json`, licences);
    writeFileSync(list, rust);
    console.log(`${packed.length} files, ${total} bytes compressed of at most ${BYTES_MAX}`);
    break;
  case "check": {
    const kept = new Map(readdirSync(target).map((name) => [name, readFileSync(`${target}${name}`)]));
    const differs = packed.filter(([name, , bytes]) => !kept.has(name) || !gunzipSync(kept.get(name)).equals(bytes)).map(([name]) => name);
    if (kept.get("licences.json")?.toString() !== licences) differs.push("licences.json");
    if (!existsSync(list) || readFileSync(list, "utf8") !== rust) differs.push("bundle.rs");
    const wanted = new Set(["licences.json", ...packed.map(([name]) => name)]);
    differs.push(...[...kept.keys()].filter((name) => !wanted.has(name)));
    if (differs.length > 0) {
      console.error(`error: ${differs.join(", ")} in crates/server is not what console/ makes; run \`make console\``);
      process.exit(1);
    }
    console.log(`${packed.length} files as console/ makes them, ${total} bytes compressed of at most ${BYTES_MAX}`);
    break;
  }
  default:
    console.error("usage: node bundle.mjs write | check");
    process.exit(2);
}
