// The declarations in the package as users compile them: without `skipLibCheck`, and without the types of Node or the DOM.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installHookline, type Installed } from "../cli/installed.ts";
import { ENTRIES } from "../support/bundle.ts";
import { importsOf, root } from "../support/sources.ts";

let installed: Installed;
beforeAll(async () => void (installed = await installHookline()), 120_000);
afterAll(() => installed.remove(), 60_000);

const PROGRAM = `import { Trainer, type RunResult } from "hookline";
import { DataLoader } from "hookline/data";
import { linear, mse } from "hookline/nn";
import { sgd } from "hookline/optim";
${Object.keys(ENTRIES)
  .map((name, i) => `export * as entry${i} from ${JSON.stringify(name)};`)
  .join("\n")}
const x = { data: new Float32Array(8), shape: [4, 2] };
const train = new DataLoader({ x, y: { data: new Float32Array(4), shape: [4, 1] } }, { batchSize: 2 });
const trainer = new Trainer({ model: linear(2, 1), loss: mse(), optimizer: sgd({ lr: 0.1 }), train, epochs: 1 });
export const result: Promise<RunResult> = trainer.fit();
`;

/** What `tsc --init` writes, as far as it matters here. */
const INIT = {
  module: "nodenext",
  target: "esnext",
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  moduleDetection: "force",
};

const CONFIGS: Readonly<Record<string, object>> = {
  "tsc --init": INIT,
  "es2022 alone": { ...INIT, target: "es2022", lib: ["es2022"] },
  "es2022 and the DOM": { ...INIT, target: "es2022", lib: ["es2022", "dom"] },
  "a bundler": { ...INIT, module: "esnext", moduleResolution: "bundler", lib: ["es2023", "dom"] },
};

/** The compiler of this repository and that of its API reference, which is an older one. */
const COMPILERS = ["package.json", "typedoc/package.json"].map((from) => {
  const found = createRequire(join(root, from)).resolve("typescript/package.json");
  const { version } = createRequire(import.meta.url)(found) as { version: string };
  return { version, tsc: join(dirname(found), "bin/tsc") };
});

describe.each(COMPILERS)("TypeScript $version", ({ tsc }) => {
  test.each(Object.entries(CONFIGS))("%s", { timeout: 120_000 }, (_, options) => {
    const dir = installed.project({
      "program.ts": PROGRAM,
      "tsconfig.json": JSON.stringify({
        compilerOptions: { ...options, noEmit: true, skipLibCheck: false },
        files: ["program.ts"],
      }),
    });
    let said = "";
    try {
      execFileSync(process.execPath, [tsc, "-p", dir], { cwd: dir, encoding: "utf8" });
    } catch (error) {
      said = (error as { stdout: string }).stdout;
    }
    expect(said).toBe("");
  });
});

test.each(Object.entries(ENTRIES))("%s brings the names that its declarations need", (_, barrel) => {
  expect(importsOf(barrel).map(({ from }) => from)).toContain("src/core/ambient.ts");
});
