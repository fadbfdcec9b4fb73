// Writes event files and what must be read back from them: npx tsx tests/interop/tensorboard-run.ts FOLDER
// Three runs: one is interrupted after its last checkpoint and resumed from it, one fails, one fails and is resumed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "../../src/core/options.ts";
import { histogram, image, text, type Media } from "../../src/core/media.ts";
import { Rng } from "../../src/data/random.ts";
import type { RunEnd, RunFacts } from "../../src/runs/types.ts";
import { tensorboard } from "../../src/loggers/tensorboard/tensorboard.ts";
import { runEnd, runFacts } from "../support/logger-facts.ts";

/** JSON has no NaN: those are texts. */
type Number = number | "NaN" | "Infinity" | "-Infinity";

export interface ExpectedRun {
  /** By tag: step, seconds and value of each. */
  readonly scalars: Record<string, [number, number, Number][]>;
  /** By tag: step, and for each bin its edges and its count. */
  readonly histograms: Record<string, [number, [number, number, number][]][]>;
  readonly texts: Record<string, [number, string][]>;
  readonly images: Record<string, [number, { width: number; height: number; channels: number; pixels: number[] }][]>;
  readonly hparams: Record<string, number | string | boolean>;
  readonly status: "success" | "failure";
}

const START = 1_700_000_000_000;
const end = (status: RunEnd["status"], step: number): RunEnd => runEnd({ status, step, time: START + step * 250 });

const facts = (hparams: Record<string, Json>, startedAt: number, resumedAt?: number): RunFacts =>
  runFacts({ name: "", id: "", resumedAt, startedAt, hparams });

const number = (value: number): Number => (Number.isFinite(value) ? value : (String(value) as "NaN"));

/** What a step logs. `seed` differs between parts, so that what was logged twice can be told apart. */
function logged(step: number, seed: number): { scalars: Record<string, number>; media: Record<string, Media> } {
  const rng = new Rng(seed, step);
  const scalars: Record<string, number> = { loss: Math.fround(rng.next()), lr: Math.fround(1e-3 / step) };
  if (step % 50 === 0) {
    scalars["val/loss"] = Math.fround(rng.next());
    scalars["grüße/a b 𝛼"] = -0;
  }
  if (step === 7) scalars.loss = NaN;
  if (step === 8) scalars.loss = Infinity;
  if (step === 9) scalars.loss = -Infinity;
  const media: Record<string, Media> = {};
  if (step % 20 === 0) media["weights/0"] = histogram(Float32Array.from({ length: 200 }, () => rng.next() - 0.5));
  if (step % 100 === 0) {
    media["grads/custom"] = histogram({ edges: [-10, -1, 0.5, 1e6], counts: [0, 3 + step, 0] });
    media.sample = text(`step **${step}**: grüße\n\n| a | b |\n|---|---|\n| ${seed} | 𝛼 |`);
    for (const channels of [1, 3, 4]) {
      const data = Uint8Array.from({ length: 5 * 9 * channels }, () => rng.int(256));
      media[`image/${channels}`] = image({ data, shape: [5, 9, channels] });
    }
  }
  return { scalars, media };
}

function empty(hparams: ExpectedRun["hparams"], status: ExpectedRun["status"]): ExpectedRun {
  return { scalars: {}, histograms: {}, texts: {}, images: {}, hparams, status };
}

function expect(run: ExpectedRun, step: number, { scalars, media }: ReturnType<typeof logged>): void {
  for (const [tag, value] of Object.entries(scalars))
    (run.scalars[tag] ??= []).push([step, (START + step * 250) / 1000, number(value)]);
  for (const [tag, item] of Object.entries(media)) {
    if (item.kind === "text") (run.texts[tag] ??= []).push([step, item.text]);
    else if (item.kind === "image") {
      const { width, height, channels, pixels } = item;
      (run.images[tag] ??= []).push([step, { width, height, channels, pixels: [...pixels] }]);
    } else {
      const { edges, counts } = item;
      (run.histograms[tag] ??= []).push([step, counts.map((count, i) => [edges[i]!, edges[i + 1]!, count])]);
    }
  }
}

interface Part {
  readonly from: number;
  readonly to: number;
  readonly resumedAt?: number;
  readonly status: RunEnd["status"];
}

async function write(dir: string, hparams: Record<string, Json>, part: Part, shown: ExpectedRun, last: number) {
  const backend = tensorboard({ dir });
  await backend.open(facts(hparams, START + part.from * 250, part.resumedAt));
  for (let step = part.from; step <= part.to; step++) {
    const what = logged(step, part.from);
    if (step <= last) expect(shown, step, what);
    backend.log({ step, epoch: 0, time: START + step * 250, elapsed: step, ...what });
    if (step % 64 === 0) await backend.flush?.();
  }
  await backend.close(end(part.status, part.to));
}

/** Writes `resumed`, `failed` and `recovered` into the folder; what TensorBoard must show of them is in `expected.json` too. */
export async function writeRuns(folder: string): Promise<Record<string, ExpectedRun>> {
  const resumed = empty(
    { lr: 0.001, "optimizer.name": "adam", "optimizer.nesterov": false, sizes: "[784,10]" },
    "success",
  );
  const hparams = { lr: 0.001, optimizer: { name: "adam", nesterov: false }, sizes: [784, 10], patience: null };
  const first = { from: 1, to: 300, status: "interrupted" } as const;
  await write(join(folder, "resumed"), hparams, first, resumed, 240);
  const second = { from: 241, to: 400, resumedAt: 240, status: "completed" } as const;
  await write(join(folder, "resumed"), hparams, second, resumed, Infinity);

  const failed = empty({ lr: 0.1, dropout: 0.5, augment: true, bound: "Infinity" }, "failure");
  const others = { lr: 0.1, dropout: 0.5, augment: true, bound: Infinity };
  await write(join(folder, "failed"), others, { from: 1, to: 60, status: "error" }, failed, Infinity);

  const recovered = empty({ lr: 0.2 }, "success");
  const broken = { from: 1, to: 30, status: "error" } as const;
  await write(join(folder, "recovered"), { lr: 0.2 }, broken, recovered, 20);
  const mended = { from: 21, to: 40, resumedAt: 20, status: "completed" } as const;
  await write(join(folder, "recovered"), { lr: 0.2 }, mended, recovered, Infinity);

  const expected = { resumed, failed, recovered };
  writeFileSync(join(folder, "expected.json"), JSON.stringify(expected));
  return expected;
}

const [, script, folder] = process.argv;
if (script?.endsWith("tensorboard-run.ts") && folder) await writeRuns(folder);
