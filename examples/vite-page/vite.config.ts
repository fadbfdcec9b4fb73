import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const src = fileURLToPath(new URL("../../src/", import.meta.url));

export default defineConfig({
  // The worker loads what it needs later in parts; without this line all of hookline would be in one file.
  worker: { format: "es" },
  // In this repository hookline is its sources. A project that has installed it needs no alias.
  resolve: {
    alias: [
      { find: /^hookline$/, replacement: `${src}index.ts` },
      { find: /^hookline\/(.+)$/, replacement: `${src}$1/index.ts` },
    ],
  },
});
