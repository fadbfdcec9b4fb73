// The first minutes of a new user: the package as it is published, in an empty directory, to a trained model and a test that passes.
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { specifierFor } from "../../src/cli/init/init.ts";
import { readPage } from "../support/pages.ts";
import { root } from "../support/sources.ts";
import { installHookline, type Installed } from "./installed.ts";

const QUIET = ["--prefer-offline", "--no-audit", "--no-fund"];
const home = realpathSync(mkdtempSync(join(tmpdir(), "hookline-starter-")));
const demo = join(home, "demo");
let installed: Installed;

const run = async (cwd: string, command: string, ...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd, maxBuffer: 1 << 24, timeout: 900_000 })).stdout;

/** What a user would write who has nothing but the package. */
const PROGRAM = `
import { modelCheckpoint, Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import { linear, mse } from "hookline/nn";
import { sgd } from "hookline/optim";

const x = Float32Array.from({ length: 32 }, (_, i) => i / 32);
const data = { x: { data: x, shape: [32, 1] }, y: { data: x.map((v) => 3 * v - 1), shape: [32, 1] } };
let engine;
const trainer = (epochs) =>
  new Trainer({
    model: linear(1, 1),
    loss: mse(),
    optimizer: sgd({ lr: 0.1 }),
    train: new DataLoader(data, { batchSize: 4 }),
    epochs,
    runDir: "run",
    engine: process.argv[2] ?? "auto",
    hooks: [
      modelCheckpoint(),
      { name: "look", onTrainBegin: (ctx) => (engine = ctx.device) },
    ],
  });
await trainer(1).fit();
const { status, resumed, metrics } = await trainer(60).fit({ resume: "auto" });
console.log(JSON.stringify({ engine, status, resumed: resumed.step, learnt: metrics["train/loss"] < 0.01 }));
`;
/** The block of a page that is this file. */
const fileOf = (page: string, name: string): string =>
  new RegExp(`^\`\`\`ts no-run\\n// ${name}\\n([^]*?)^\`\`\`$`, "m").exec(readPage(page))![1]!;

interface Told {
  readonly engine: string;
  readonly status: string;
  readonly resumed: number;
  readonly learnt: boolean;
}

beforeAll(async () => {
  installed = await installHookline();
  const [{ filename }] = JSON.parse(
    await run(installed.package, "npm", "pack", "--ignore-scripts", "--json", "--pack-destination", home),
  ) as [{ filename: string }];
  mkdirSync(join(home, "start"));
  // As npx does it with a package that is not there yet: into a place of its own.
  await run(join(home, "start"), "npm", "install", ...QUIET, "--prefix", ".", join(home, filename));
});
afterAll(() => {
  installed.remove();
  rmSync(home, { recursive: true, force: true });
});

describe("from the packed tarball", () => {
  test("hookline init demo && cd demo && npm i && npx hookline train", async () => {
    await run(home, join(home, "start/node_modules/.bin/hookline"), "init", "demo");
    const { dependencies } = JSON.parse(readFileSync(join(demo, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
    };
    expect(dependencies.hookline).toMatch(/^file:\.\.\/hookline-.*\.tgz$/);
    await run(demo, "npm", "install", ...QUIET);
    const result = JSON.parse(await run(demo, "npx", "hookline", "train", "--json")) as {
      models: { model: { results: Record<string, number> } };
    };
    expect(result.models.model.results["test/accuracy"]).toBeGreaterThan(0.9);
    expect(await run(demo, "npx", "hookline", "runs")).toContain("spirals");
  });

  test("the project's own test passes, its types are right, and its editor finds the schema", async () => {
    expect(await run(demo, "npm", "test")).toMatch(/^# pass 4$/m);
    expect(await run(demo, "npm", "run", "check")).not.toContain("error");
    const [, schema] = /^# yaml-language-server: \$schema=(.*)$/m.exec(
      readFileSync(join(demo, "hookline.yaml"), "utf8"),
    )!;
    expect(existsSync(join(demo, schema!))).toBe(true);
  });

  test("a misspelt option of its own data or hook is an error", async () => {
    for (const misspelt of ["data.noize=0.1", "hooks.milestones.moniter=val/loss"])
      await expect(run(demo, "npx", "hookline", "train", "--epochs", "1", "--set", misspelt)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/unknown option `(noize|moniter)`\. Did you mean `(noise|monitor)`\? It takes: /),
      });
  });

  describe("a program in it runs as its README says", () => {
    const inDemo = (files: Readonly<Record<string, string>>): void => {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(demo, name), text);
      onTestFinished(() => Object.keys(files).forEach((name) => rmSync(join(demo, name))));
    };
    const runProgram = (): Promise<string> => {
      const [, command] = /^(node .*)program\.ts /m.exec(readFileSync(join(demo, "README.md"), "utf8"))!;
      return run(demo, "sh", "-c", `${command}program.ts`);
    };

    test("with a file of the project", async () => {
      const program =
        'import { spirals } from "./data.ts";\nconst { y }: { y: Int32Array } = spirals({ points: 9 });\n';
      inDemo({ "program.ts": `${program}console.log(y.length);\n` });
      expect(await runProgram()).toBe("9\n");
    });

    test("the sample of docs/config.md, with the project's config", async () => {
      inDemo({ "program.ts": fileOf("docs/config.md", "train.ts") });
      expect(await runProgram()).toMatch(/'test\/accuracy': 0\.\d/);
    });

    test("the same with a config of TypeScript", async () => {
      inDemo({
        "program.ts": fileOf("docs/config.md", "train.ts").replace("hookline.yaml", "other.config.ts"),
        "other.config.ts": 'export default { extends: "./hookline.yaml", name: "other" as string };\n',
      });
      expect(await runProgram()).toMatch(/'test\/accuracy': 0\.\d/);
    });

    test("the sample of docs/engines.md, with loaders in threads", async () => {
      const digits = fileOf("docs/engines.md", "digits.ts").replaceAll("50_000", "200").replaceAll("10_000", "56");
      inDemo({
        "program.ts": fileOf("docs/engines.md", "train.ts").replace(
          /^await trainer.fit.*/m,
          "console.log((await trainer.fit()).steps);",
        ),
        "digits.ts": digits,
      });
      mkdirSync(join(demo, "digits"));
      onTestFinished(() => rmSync(join(demo, "digits"), { recursive: true }));
      for (let i = 0; i < 256; i++)
        writeFileSync(
          join(demo, `digits/${i}.raw`),
          Uint8Array.from({ length: 785 }, (_, k) => (k === 784 ? i % 10 : i)),
        );
      expect(await runProgram()).toBe("10\n");
    });
  });

  test("no optional peer comes with it, and a program trains on wasm", async () => {
    const peers = Object.keys(manifest.peerDependencies);
    expect(peers.filter((name) => existsSync(join(home, "start/node_modules", name)))).toEqual([]);
    writeFileSync(join(home, "start/train.mjs"), PROGRAM);
    const told = JSON.parse(await run(join(home, "start"), process.execPath, "train.mjs")) as Told;
    expect(told).toEqual({ engine: "wasm", status: "completed", resumed: 8, learnt: true });
    await expect(run(join(home, "start"), process.execPath, "train.mjs", "native")).rejects.toThrow(
      'Engine "native": onnxruntime-node is not installed. Install it with',
    );
  });

  test("what is written is what is told", () => {
    expect(
      readdirSync(demo)
        .filter((name) => !["node_modules", "runs", "package-lock.json"].includes(name))
        .sort(),
    ).toEqual([".gitignore", "README.md", "data.ts", "hookline.yaml", "hooks", "package.json", "tsconfig.json"]);
  });
});

describe("where npm finds this copy again", () => {
  const own = (): string => join(installed.package, "..");
  test("a checkout: by its path", () => {
    expect(specifierFor("/projects/demo", root.replace(/\/$/, ""))).toMatch(/^file:\.\.\/\.\.\//);
  });

  test("an installation that no lock file tells of: by its version", () => {
    expect(specifierFor("/projects/demo", join(own(), "hookline"))).toMatch(/^\^\d+\.\d+\.\d+/);
  });

  test("a tarball: by its path, from the project", () => {
    expect(specifierFor(demo, join(home, "start/node_modules/hookline"))).toMatch(/^file:\.\.\/hookline-.*\.tgz$/);
  });
});
