import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "test",
  // Each worker has a server and a browser of its own; two processors are what most machines of tests have.
  workers: 2,
  timeout: 60_000,
  // A machine that does more than this may lose a browser; what fails twice is no accident.
  retries: 1,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  outputDir: "test-results",
  use: {
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
    viewport: { width: 1280, height: 800 },
    // Pictures and layouts are compared with those of other runs by people: nothing moves.
    contextOptions: { reducedMotion: "reduce" },
  },
});
