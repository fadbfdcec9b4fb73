// npm run gpu: everything that shows how the xla engine does on the GPU of this machine, one after the other, and a table at
// the end. `npm run gpu -- bench` runs the steps with that word in their names. Without a GPU the tests run on XLA's CPU
// client where python3 has jaxlib, and the benchmarks say that there is nothing to measure.
import { spawn } from "node:child_process";
import { createWriteStream, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPlugin } from "../../../src/engines/xla/pjrt/find-plugin.ts";

interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const xla = (...files: string[]): string[] => ["npx", "vitest", "run", "--config", "vitest.xla.config.ts", ...files];
const NUMBERS = ["tests/engines/native-primitives", "tests/engines/native-nn", "tests/engines/native-conv"];

const STEPS: readonly Step[] = [
  { name: "doctor", command: ["npx", "tsx", "src/cli/main.ts", "doctor"] },
  { name: "test plugin", command: ["npx", "vitest", "run", "tests/engines/xla"] },
  { name: "test endurance", command: xla("tests/engines/xla/endurance") },
  { name: "test float32", command: xla() },
  { name: "test bf16", command: xla(...NUMBERS), env: { HOOKLINE_TEST_PRECISION: "bf16" } },
  {
    name: "test bf16 with cuDNN",
    command: xla(...NUMBERS),
    env: { HOOKLINE_TEST_PRECISION: "bf16", HOOKLINE_TEST_DETERMINISTIC: "false" },
  },
  {
    name: "test webgpu",
    command: ["npx", "vitest", "run", "--config", "vitest.webgpu.config.ts"],
    env: { HOOKLINE_TEST_GPU: "own" },
  },
  { name: "bench gpu", command: ["npm", "run", "--silent", "bench", "gpu"] },
  { name: "bench gpu-lora", command: ["npm", "run", "--silent", "bench", "gpu-lora"] },
  { name: "bench gpu-curves", command: ["npm", "run", "--silent", "bench", "gpu-curves"] },
];

interface Outcome {
  readonly name: string;
  readonly code: number;
  /** The last line of a test run, such as `240 passed, 0 failed`. */
  readonly count: string;
  readonly seconds: number;
  readonly log: string;
}

/** Named, the tests run on it; else they would run on XLA's CPU client wherever python3 has jaxlib. */
const plugin = findPlugin();
const onGpu = plugin ? { HOOKLINE_PJRT_PLUGIN: plugin.path } : {};

/** Shows what a step prints, and keeps it in a file. */
function run({ name, command: [program, ...args], env }: Step, folder: string): Promise<Outcome> {
  const log = join(folder, `${name.replaceAll(" ", "-")}.log`);
  const file = createWriteStream(log);
  const begun = performance.now();
  let tail = "";
  const child = spawn(program!, args, { env: { ...process.env, ...onGpu, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      process.stdout.write(chunk);
      file.write(chunk);
      tail = (tail + chunk.toString()).slice(-4000);
    });
  }
  return new Promise((resolve) =>
    child.on("close", (code) => {
      file.end();
      const count = tail.match(/^\d+ passed, \d+ failed.*$/m)?.[0] ?? "";
      resolve({ name, code: code ?? 1, count, seconds: (performance.now() - begun) / 1000, log });
    }),
  );
}

const asked = process.argv.slice(2);
const steps = STEPS.filter(({ name }) => asked.length === 0 || asked.some((word) => name.includes(word)));
if (steps.length === 0) {
  console.error(`No step has such a name. Steps: ${STEPS.map(({ name }) => name).join(", ")}.`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "hookline-gpu-"));
const outcomes: Outcome[] = [];
for (const step of steps) {
  console.log(`\n── ${step.name}: ${step.command.join(" ")}`);
  outcomes.push(await run(step, folder));
}
console.log();
for (const { name, code, count, seconds, log } of outcomes) {
  const result = code === 0 ? "ok" : `failed (${code})`;
  console.log(
    `${name.padEnd(22)}${result.padEnd(12)}${`${Math.round(seconds)} s`.padStart(7)}  ${count.padEnd(34)}${log}`,
  );
}
process.exitCode = outcomes.every(({ code }) => code === 0) ? 0 : 1;
