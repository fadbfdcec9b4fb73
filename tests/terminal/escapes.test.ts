// Escapes that were planted in names, reasons, keys and files reach no terminal, whatever prints them.
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeSafetensors } from "../../src/checkpoint/formats/safetensors.ts";
import { installHookline, type Ended, type Installed } from "../cli/installed.ts";
import { CONFIG, tinyProject } from "../cli/tiny-project.ts";
import { root, sources } from "../support/sources.ts";
import { PLANTED, unsafeIn } from "./planted.ts";
import { compiled } from "../support/programs.ts";

const SHOWN = "\\u001b]0;owned\\u0007\\u001b[2J";

test("only these files print, and each says why", () => {
  const WRITERS: Readonly<Record<string, string>> = {
    "src/platform/print.ts": "sanitizes",
    "src/terminal/terminal.ts": "sanitizes, and draws live lines",
    "src/terminal/live-region.ts": "stands before what others print",
    "src/cli/output.ts": "turns stdout over to stderr",
    "src/cli/launch/launch.ts": "passes on what mpirun's processes print",
    "src/tune/runners/trial-processes.ts": "passes on what a trial's process prints",
    "src/distributed/join-watch-worker.ts": "speaks for a main thread that hangs, of numbers alone",
    "src/cli/init/starter.ts": "a file of the user's",
  };
  const prints =
    /\bconsole\.(?:log|info|warn|error|debug|dir|table|trace)\b|\b(?:stdout|stderr)\.write\b|\bwriteSync\(\s*[12]\b/;
  const found = sources("src").filter((file) =>
    prints.test(readFileSync(join(root, file), "utf8").replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, "")),
  );
  expect(found.filter((file) => WRITERS[file] === undefined)).toEqual([]);
});

describe("a program", () => {
  const child = compiled(new URL("./escapes-child.ts", import.meta.url));
  const command = [process.execPath, child];
  const hasScript = spawnSync("script", ["--version"]).status === 0;

  /** What it prints, both streams together. */
  const output = (file: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> =>
    new Promise((resolve, reject) => {
      const options = { env: { ...process.env, ...env }, encoding: "utf8", maxBuffer: 2 ** 26 } as const;
      execFile(file, args, options, (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stdout}${stderr}`)) : resolve(stdout + stderr),
      );
    });

  /** Everything that was planted shows somewhere. */
  function expectAll(text: string): void {
    for (const place of [
      "talks",
      "fails",
      "mistake ",
      "enough ",
      "logged/",
      "layer",
      "metric",
      "eval",
      "alone",
      "space",
      "option",
      "objective",
      "study",
      "failure ",
    ])
      expect(text, place).toContain(`${place}p${SHOWN}`);
  }

  test("in a pipe prints no control characters", async () => {
    const printed = await output(command[0]!, command.slice(1), { NO_COLOR: "1" });
    expect(unsafeIn(printed)).toEqual([]);
    expectAll(printed);
  });

  test.skipIf(!hasScript)("on a terminal prints none but those of the live lines", async () => {
    const line = command.map((word) => `'${word}'`).join(" ");
    const env = { TERM: "xterm-256color", COLUMNS: "4000", FORCE_COLOR: "1", CI: "" };
    const printed = await output("script", ["-qec", line, "/dev/null"], env);
    expect(printed).toContain("\u001B[?25l");
    expect(unsafeIn(printed, true)).toEqual([]);
    expectAll(printed);
  });
});

describe("a command", () => {
  let installed: Installed;
  let dir: string;
  const hookline = (...args: readonly string[]): Promise<Ended> => installed.hookline(dir, ...args);
  const key = JSON.stringify(PLANTED);
  const planted = CONFIG.replace("epochs: 3", "epochs: 1\nmetrics: { PLANTED: ./more.ts#metric }")
    .replace("PLANTED", key)
    .replace("hooks:\n", "hooks:\n  - ./more.ts#talks\n");
  const more = `const planted = ${key};
export const metric = () => ({ update: (y) => ({ sum: y.ref.sum() }), compute: () => 1 });
export const talks = () => ({ name: "talks" + planted, onEpochEnd: (ctx) => ctx.stop("enough " + planted) });
export const broken = () => ({ name: "broken" + planted, onStepEnd() { throw new Error("mistake " + planted); } });
`;
  const sweep = `name: planted
experiment: ./planted.yaml
space:
  optimizer.lr: { use: choice, options: [0.1] }
  seed: { use: choice, options: [1, 2] }
objective: { metric: ${JSON.stringify(`val/${PLANTED}`)}, mode: max }
sampler: random
trials: 2
`;

  beforeAll(async () => {
    installed = await installHookline();
    dir = installed.project({ ...tinyProject(), "planted.yaml": planted, "more.ts": more, "sweep.yaml": sweep });
    const tensor = { dtype: "F32", shape: [1], bytes: new Uint8Array(4) } as const;
    writeFileSync(join(dir, "planted.safetensors"), encodeSafetensors({ [`t${PLANTED}`]: tensor }));
    mkdirSync(join(dir, "runs"), { recursive: true });
  });
  afterAll(() => installed.remove());

  /** In its order: later ones read what earlier ones have left. */
  const COMMANDS: readonly (readonly [args: readonly string[], code: number])[] = [
    [["train", "planted.yaml", "--run-dir", `runs/${PLANTED}`], 0],
    [["train", "planted.yaml", "--run-dir", `runs/json${PLANTED}`, "--json"], 0],
    [["train", "planted.yaml", "--dry-run", "--run-dir", `runs/dry${PLANTED}`], 0],
    [["train", "planted.yaml", "--run-dir", "runs/broken", "--set", "hooks=./more.ts#broken"], 1],
    [["train", "hookline.yaml", "--set", `optimizer.${PLANTED}=1`], 2],
    [["train", "hookline.yaml", "--set", `${PLANTED}={ ${key}: 1 }`], 2],
    [["train", PLANTED], 2],
    [["runs"], 0],
    [["runs", "--json"], 0],
    [["runs", "--metric", PLANTED], 2],
    [["runs", "--plot", `val/${PLANTED}`], 0],
    [["eval", `runs/${PLANTED}`], 0],
    [["predict", `runs/${PLANTED}`], 0],
    [["resume", `runs/${PLANTED}`], 2],
    [["inspect", `runs/${PLANTED}`], 0],
    [["inspect", "planted.safetensors"], 0],
    [["inspect", PLANTED], 2],
    [["convert", "planted.safetensors", `out${PLANTED}.pt`], 0],
    [["hooks", "--explain", "planted.yaml"], 0],
    [["hooks", "--explain", "planted.yaml", "--event", PLANTED], 2],
    [["tune", "sweep.yaml"], 0],
    [["studies"], 0],
    [["studies", "runs/planted"], 0],
    [["studies", "runs/planted", "--report", "--json"], 0],
    [["init", PLANTED], 0],
    [[PLANTED], 2],
    [["train", `--${PLANTED}`], 2],
  ];

  test.each(COMMANDS.map(([args, code]) => ({ args, code, title: args.join(" ").replaceAll(PLANTED, "PLANTED") })))(
    "$title",
    async ({ args, code }) => {
      const ended = await hookline(...args);
      const printed = ended.stdout + ended.stderr;
      expect(printed).toContain(SHOWN);
      expect(unsafeIn(printed)).toEqual([]);
      expect(ended.code, printed).toBe(code);
      if (args.includes("--json")) JSON.parse(ended.stdout);
    },
  );
});
