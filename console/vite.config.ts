import { fileURLToPath } from "node:url";

import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  base: "/ui/",
  resolve: {
    // The client in clients/typescript is built with the packages of this folder.
    alias: { "openapi-fetch": here("node_modules/openapi-fetch") },
  },
  server: { proxy: { "/v1": "http://127.0.0.1:7700" } },
  build: {
    outDir: "dist",
    // Nothing stands in the page itself: its policy allows neither scripts, styles nor pictures there.
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    target: "es2022",
    license: { fileName: "licences.json" },
    rolldownOptions: {
      output: {
        entryFileNames: "assets/console-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
        codeSplitting: false,
      },
    },
  },
});
