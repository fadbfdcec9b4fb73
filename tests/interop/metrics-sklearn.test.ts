// Metrics against scikit-learn on a thousand random cases, weighted and not; then over other batches and over ranks.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { AnyMetric, Figure, Hook, HostBatch, Model, Tensor, Trainer } from "hookline";
import { DataLoader, Rng } from "hookline/data";
import * as nn from "hookline/nn";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { onAll } from "../support/local-ranks.ts";

const python = "/usr/bin/python3";
const env = { ...process.env, OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1" };
const present = spawnSync(python, ["-c", "import sklearn"], { env }).status === 0;
if (!present) console.warn("Metrics are not compared with scikit-learn: apt-get install python3-sklearn");

type Values = Record<string, number | number[]>;

interface Kind {
  /** Columns of the outputs. */
  readonly width: number;
  /** The targets of a row, given its outputs. */
  readonly targets: (rng: Rng, width: number) => number[];
  readonly whole: boolean;
  /** Are targets one column narrower, that is labels? */
  readonly areLabels: boolean;
  readonly metrics: Record<string, AnyMetric>;
}

const averages = (names: readonly ("binary" | "macro" | "micro" | "weighted")[]): Record<string, AnyMetric> =>
  Object.fromEntries(
    names.flatMap((average, i) => [
      [`f1 ${average}`, nn.f1({ average })],
      // The averages are the same code: one of each other score is enough.
      ...(i === 0 ? [[`precision ${average}`, nn.precision({ average })]] : []),
      ...(i === 1 ? [[`recall ${average}`, nn.recall({ average })]] : []),
    ]),
  );

const decisions = {
  logLoss: nn.logLoss(),
  calibrationError: nn.calibrationError(),
  rocAuc: nn.rocAuc(),
  averagePrecision: nn.averagePrecision(),
  "f1 by class": nn.f1({ perClass: true }),
  confusion: nn.confusionMatrix(),
};
const binary = { ...decisions, ...averages(["binary", "macro", "micro", "weighted"]) };

const kinds: Record<string, Kind> = {
  logit: {
    width: 1,
    targets: (rng) => [rng.int(2)],
    whole: false,
    areLabels: false,
    metrics: { ...binary, accuracy: nn.binaryAccuracy() },
  },
  two: {
    width: 2,
    targets: (rng) => [rng.int(2)],
    whole: true,
    areLabels: true,
    metrics: { ...binary, accuracy: nn.accuracy() },
  },
  classes: {
    width: 4,
    targets: (rng, width) => [rng.int(width)],
    whole: true,
    areLabels: true,
    metrics: {
      ...decisions,
      ...averages(["macro", "micro", "weighted"]),
      accuracy: nn.accuracy(),
      top2: nn.accuracy({ topK: 2 }),
      balanced: nn.recall({ average: "macro" }),
      "rocAuc weighted": nn.rocAuc({ average: "weighted" }),
    },
  },
  labels: {
    width: 3,
    targets: (rng, width) => Array.from({ length: width }, () => rng.int(2)),
    whole: false,
    areLabels: false,
    metrics: {
      ...averages(["macro", "micro", "weighted"]),
      accuracy: nn.binaryAccuracy(),
      rocAuc: nn.rocAuc(),
      averagePrecision: nn.averagePrecision(),
    },
  },
  regression: {
    width: 2,
    targets: (rng, width) => Array.from({ length: width }, () => 100 + rng.normal()),
    whole: false,
    areLabels: false,
    metrics: { mae: nn.mae(), rmse: nn.rmse(), mape: nn.mape(), r2: nn.r2() },
  },
  retrieval: {
    width: 6,
    targets: (rng, width) => Array.from({ length: width }, (_, i) => (i === 0 ? 5 : rng.int(4))),
    whole: false,
    areLabels: false,
    metrics: { ndcg: nn.ndcg(), ndcg3: nn.ndcg({ k: 3 }) },
  },
  item: {
    width: 5,
    targets: (rng, width) => [rng.int(width)],
    whole: true,
    areLabels: true,
    metrics: { mrr: nn.mrr(), ndcg: nn.ndcg() },
  },
};

interface Case {
  readonly kind: string;
  readonly batch: HostBatch;
}

function makeCase(kind: string, index: number): Case {
  const { width, targets, whole, areLabels } = kinds[kind]!;
  const rng = new Rng(index, width);
  // Whole batches of 16 and a rest of 4, 8 or 12: few shapes to compile.
  const rows = 4 + 4 * rng.int(10);
  // Few different scores in every third case: many of them equal.
  const score = (): number => (index % 3 === 0 ? rng.int(5) / 2 - 1 : 2 * rng.normal());
  const offset = kind === "regression" ? 100 : 0;
  const x = Float32Array.from({ length: rows * width }, () => offset + score());
  // No ties among the largest scores of classes, for which scikit-learn's top-k takes the last.
  if (kind === "classes") x.forEach((value, i) => (x[i] = value + i * 1e-3));
  const y = Array.from({ length: rows }, () => targets(rng, width)).flat();
  const data = whole ? Int32Array.from(y) : Float32Array.from(y);
  const weight = Float32Array.from({ length: rows }, () => 0.1 + 2 * rng.next());
  return {
    kind,
    batch: {
      x: { data: x, shape: [rows, width] },
      y: { data, shape: areLabels ? [rows] : [rows, width] },
      ...(index % 2 === 1 && { weight: { data: weight, shape: [rows] } }),
    },
  };
}

const PER_KIND = 145;
const cases = Object.keys(kinds).flatMap((kind) => Array.from({ length: PER_KIND }, (_, i) => makeCase(kind, i)));

/** A model whose outputs are its inputs. */
const same: Model<Tensor> = { init: () => ({ unused: { data: new Float32Array(1), shape: [1] } }), apply: (_, x) => x };

interface Evaluator {
  readonly trainer: Trainer;
  figures: Readonly<Record<string, Figure>>;
}

function evaluator(kind: string, options: TinyOptions = {}): Evaluator {
  const found: { figures: Evaluator["figures"] } = { figures: {} };
  const look: Hook = { name: "look", onEvalEnd: (ctx) => void (found.figures = ctx.figures) };
  const loss = (x: unknown): Tensor => (x as Tensor).mean();
  const trainer = tinyTrainer({
    model: same,
    loss,
    warn: () => undefined,
    metrics: kinds[kind]!.metrics,
    hooks: [look],
    ...options,
  });
  return Object.assign(found, { trainer });
}

async function evaluate(from: Evaluator, { batch }: Case, batchSize: number): Promise<Values> {
  const found = await from.trainer.evaluate(new DataLoader(batch, { batchSize }));
  const values: Values = Object.fromEntries(Object.entries(found).map(([name, v]) => [name.replace("test/", ""), v]));
  const figure = from.figures["test/confusion"];
  return figure ? { ...values, confusion: [...figure.data.data] } : values;
}

/** Where values differ from those expected. */
function differences(found: Values, expected: Values, tolerance: number): string[] {
  const numbers = (value: number | number[] | undefined): number[] =>
    Array.isArray(value) ? value : [value ?? Number.NaN];
  return Object.entries(expected).flatMap(([name, value]) => {
    const ours = numbers(found[name]);
    const isFar = (each: number, i: number): boolean =>
      !(Math.abs(each - ours[i]!) <= tolerance * Math.max(1, Math.abs(each)));
    return numbers(value).some(isFar) ? [`${name}: ${ours.join(" ")}, expected ${numbers(value).join(" ")}`] : [];
  });
}

const evaluators = new Map<string, Evaluator>();
const of = (kind: string): Evaluator => {
  if (!evaluators.has(kind)) evaluators.set(kind, evaluator(kind));
  return evaluators.get(kind)!;
};
afterAll(async () => {
  for (const { trainer } of evaluators.values()) await trainer.close();
});

describe.skipIf(!present)("the same as in scikit-learn", () => {
  let expected: Values[] = [];

  beforeAll(() => {
    const script = fileURLToPath(new URL("metrics-sklearn.py", import.meta.url));
    const input = JSON.stringify(
      cases.map(({ kind, batch: { x, y, weight } }) => ({
        kind,
        x: [...x!.data],
        shape: x!.shape,
        y: [...y!.data],
        yShape: y!.shape,
        weight: weight ? [...weight.data] : null,
      })),
    );
    const done = spawnSync(python, [script], { env, input, encoding: "utf8", maxBuffer: 2 ** 26 });
    if (done.status !== 0) throw new Error(done.stderr);
    expected = JSON.parse(done.stdout) as Values[];
  });

  it.each(Object.keys(kinds))("%s, in batches of 16", async (kind) => {
    const wrong: string[] = [];
    let compared = 0;
    for (const [i, each] of cases.entries()) {
      if (each.kind !== kind) continue;
      const found = await evaluate(of(kind), each, 16);
      compared += Object.keys(expected[i]!).length;
      wrong.push(...differences(found, expected[i]!, 2e-5).map((line) => `case ${i}: ${line}`));
    }
    expect(wrong).toEqual([]);
    expect(compared).toBeGreaterThan(PER_KIND);
  });
});

describe("cut into other batches or spread over ranks, the values are the same", () => {
  const isLarge = ({ batch }: Case): boolean => batch.x!.shape[0] === 36 && batch.weight !== undefined;
  const some = Object.keys(kinds).map((kind) => cases.find((each) => each.kind === kind && isLarge(each))!);

  it.each(some)("$kind", async (each) => {
    const whole = await evaluate(of(each.kind), each, 64);
    expect(Object.keys(whole).length).toBeGreaterThan(1);
    expect(differences(await evaluate(of(each.kind), each, 5), whole, 1e-5)).toEqual([]);
    // Three ranks share batches of 16, and of the last one some have nothing.
    const found = await onAll(3, async (strategy) => {
      const rank = evaluator(each.kind, { strategy });
      const values = await evaluate(rank, each, 16);
      await rank.trainer.close();
      return values;
    });
    for (const values of found) expect(differences(values, whole, 1e-5)).toEqual([]);
  });
});
