// Offline files against others' readers: one in plain Python, and `wandb sync` itself where it is installed.
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { histogram, image, text, type Media } from "../../src/core/media.ts";
import { wandb } from "../../src/loggers/wandb/wandb.ts";
import { ending, facts, range, record, START, temporaryFolder } from "../loggers/queue-runs.ts";
import { parseExtended, wandbServer } from "../support/wandb-server.ts";

const reader = fileURLToPath(new URL("./wandb-read.py", import.meta.url));
const hasPython = spawnSync("python3", ["--version"]).status === 0;
// A folder with the program, for those who have it elsewhere: WANDB_BIN=/path/to/wandb npx vitest run tests/interop/wandb
const program = process.env["WANDB_BIN"] ?? "wandb";
const hasWandb = spawnSync(program, ["--version"], { timeout: 120_000 }).status === 0;
if (!hasPython) console.log("Skipped: .wandb files. Install python3");
if (!hasWandb) console.log("Skipped: `wandb sync`. Install it: pip install wandb");

const STEPS = 3000;

/** The folder of a run: 3000 steps, a value of several blocks, numbers that JSON lacks. */
async function writeRun(): Promise<string> {
  const dir = temporaryFolder();
  const backend = wandb({ mode: "offline", project: "digits", name: "my run", tags: ["a", "b"] });
  await backend.open(facts({ dir, hparams: { lr: 0.1, model: { width: 32 }, long: "é".repeat(50_000) } }));
  for (let step = 1; step <= STEPS; step++) {
    const loss = step === 7 ? Number.NaN : step === 8 ? -Infinity : 1 / step;
    const media: Record<string, Media> =
      step === 9
        ? {
            w: histogram({ edges: [0, 1, 2], counts: [3, 4] }),
            t: text("é\n😀"),
            x: image({ data: Uint8Array.of(0, 255), shape: [1, 2] }),
          }
        : {};
    backend.log({ ...record(step, { loss, "system/cpu": step % 100 }), media });
    if (step % 1000 === 0) await backend.flush?.();
  }
  await backend.close(ending(STEPS, "error"));
  const [folder] = readdirSync(join(dir, "wandb"));
  expect(folder).toBe("offline-run-20231114_221320-run-1");
  return join(dir, "wandb", folder!);
}

it.skipIf(!hasPython)("a reader in Python finds all that was logged", async () => {
  const folder = await writeRun();
  const { stdout, stderr } = spawnSync("python3", [reader, join(folder, "run-run-1.wandb")], { maxBuffer: 1 << 28 });
  expect(String(stderr)).toBe("");
  type Found = { num: number; kind: string; value: Record<string, unknown> };
  const found = String(stdout)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Found);
  expect(found.map(({ num }) => num)).toEqual(range(1, found.length));
  const [header, run, ...rest] = found;
  expect(header).toMatchObject({ kind: "header" });
  expect(run!.value).toEqual({
    id: "run-1",
    project: "digits",
    name: "my run",
    tags: ["a", "b"],
    start: START / 1000,
    config: { lr: 0.1, model: { width: 32 }, long: "é".repeat(50_000) },
  });
  const history = rest
    .filter(({ kind }) => kind === "history")
    .map(({ value }) => value as { step: number; items: object });
  expect(history.map(({ step }) => step)).toEqual(range(1, STEPS));
  expect(history[6]!.items).toMatchObject({ loss: "NaN", _step: 7, _runtime: 0.07, _timestamp: START / 1000 + 0.07 });
  expect(history[7]!.items).toMatchObject({ loss: "-Infinity" });
  expect(history[8]!.items).toMatchObject({ w: { _type: "histogram", bins: [0, 1, 2], values: [3, 4] }, t: "é\n😀" });
  const [shown] = rest
    .filter(({ kind }) => kind === "files")
    .map(({ value }) => value as unknown as { path: string }[]);
  expect(shown).toEqual([{ path: expect.stringMatching(/^media\/images\/x_9_[\da-f]{20}\.png$/), type: 2 }]);
  expect(history[8]!.items).toMatchObject({ x: { _type: "image-file", path: shown![0]!.path, width: 2, height: 1 } });
  expect(String(readFileSync(join(folder, "files", shown![0]!.path)).subarray(1, 4))).toBe("PNG");
  const stats = rest.filter(({ kind }) => kind === "stats").map(({ value }) => value);
  expect(stats).toHaveLength(STEPS);
  expect(stats[0]).toEqual({ time: START / 1000 + 0.01, items: { cpu: 1 } });
  expect(rest.at(-2)).toMatchObject({
    kind: "summary",
    value: { loss: 1 / STEPS, _step: STEPS, _wandb: { runtime: 30 } },
  });
  expect(rest.at(-1)).toMatchObject({ kind: "exit", value: { code: 1, runtime: 30 } });
});

it.skipIf(!hasWandb)("`wandb sync` sends all of it", async () => {
  const folder = await writeRun();
  const server = await wandbServer();
  onTestFinished(() => server.close());
  const env = {
    ...process.env,
    WANDB_API_KEY: server.apiKey,
    WANDB_BASE_URL: server.url,
    WANDB_ERROR_REPORTING: "false",
  };
  const child = spawn(program, ["sync", folder], { env, stdio: "ignore" });
  await new Promise((resolve) => void child.on("close", resolve));
  const run = server.runs.get("run-1")!;
  const history = run.files.get("wandb-history.jsonl")!.map(parseExtended);
  expect(history.map(({ _step }) => _step)).toEqual(range(1, STEPS));
  expect(history[6]).toMatchObject({ loss: "NaN" });
  expect(run.files.get("wandb-events.jsonl")).toHaveLength(STEPS);
  expect(parseExtended(run.files.get("wandb-summary.json")!.at(-1)!)).toMatchObject({ loss: 1 / STEPS, _step: STEPS });
  expect(run.config).toMatchObject({ lr: { value: 0.1 }, model: { value: { width: 32 } } });
  expect(run).toMatchObject({ state: "failed", exitCode: 1 });
});
