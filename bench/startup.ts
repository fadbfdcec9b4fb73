// How long a command takes to begin: help against a bare Node, and the starter project's training up to its first step.
import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installHookline, type Installed } from "../tests/cli/installed.ts";
import type { Report } from "./lib/report.ts";
import { median, p10, quantile } from "./lib/stats.ts";

const HELP_ROUNDS = 41;
const TRAIN_ROUNDS = 9;

/** Says when the first step is done, and ends the run. */
const FIRST_STEP = `export const firstStep = () => ({
  name: "firstStep",
  onStepEnd(ctx) {
    if (ctx.step === 1) process.stderr.write(\`first step at \${performance.timeOrigin + performance.now()}\\n\`);
    ctx.stop("one step is enough");
  },
});
`;

function timeOf(args: readonly string[]): Promise<number> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: "ignore" });
    child.on("close", (code) =>
      code === 0 ? resolve(performance.now() - begun) : reject(new Error(`exit code ${code}`)),
    );
  });
}

/** Contenders take turns, so that a busy moment meets both. */
async function helpTimes(installed: Installed): Promise<{ bare: number[]; help: number[] }> {
  const bin = join(installed.package, "dist/cli/main.js");
  const [bare, help]: [number[], number[]] = [[], []];
  for (let round = -2; round < HELP_ROUNDS; round++) {
    const both = [await timeOf(["-e", "0"]), await timeOf([bin, "--help"])] as const;
    if (round < 0) continue;
    bare.push(both[0]);
    help.push(both[1]);
  }
  return { bare, help };
}

async function firstSteps(installed: Installed): Promise<number[]> {
  const dir = installed.project();
  rmSync(dir, { recursive: true });
  await installed.hookline(join(dir, ".."), "init", dir);
  const config = join(dir, "hookline.yaml");
  writeFileSync(join(dir, "first-step.ts"), FIRST_STEP);
  writeFileSync(config, `${readFileSync(config, "utf8")}  - ./first-step.ts#firstStep\n`);
  const times: number[] = [];
  for (let round = -1; round < TRAIN_ROUNDS; round++) {
    const begun = performance.timeOrigin + performance.now();
    const { code, stderr } = await installed.hookline(dir, "train", "--engine", "wasm", "--fresh");
    const at = Number(/first step at ([\d.]+)/.exec(stderr)?.[1]);
    if (code !== 0 || !Number.isFinite(at)) throw new Error(`hookline train ended with ${code}: ${stderr}`);
    if (round >= 0) times.push(at - begun);
  }
  return times;
}

export async function run(): Promise<Report> {
  const installed = await installHookline();
  try {
    const { bare, help } = await helpTimes(installed);
    const train = await firstSteps(installed);
    const row = (label: string, times: readonly number[]): [string, ...number[]] => [
      label,
      p10(times),
      median(times),
      quantile(times, 0.9),
    ];
    return {
      name: "startup",
      title: "From the start of a process, ms",
      columns: ["p10", "median", "p90"],
      rows: [row("node -e 0", bare), row("hookline --help", help), row("hookline train, first step", train)],
      aims: [
        {
          what: "help beyond a bare Node, median",
          measured: median(help) - median(bare),
          unit: "ms",
          limit: 60,
          must: true,
        },
        {
          what: "first step of the starter project, median",
          measured: median(train),
          unit: "ms",
          limit: 1500,
          must: true,
        },
      ],
    };
  } finally {
    installed.remove();
  }
}
