// Scores of many rows: how likely the model finds what counts in each.
import type { HostTensors } from "../../core/model.ts";
import { DataLoader } from "../../data/data-loader.ts";
import type { Engine } from "../../engines/engine.ts";
import type { EngineName } from "../../engines/select.ts";
import { sgd } from "../../optim/sgd.ts";
import { Trainer } from "../../trainer/trainer.ts";
import type { LanguageModel } from "../model/language-model.ts";
import { scorer } from "../model/sequence-scores.ts";
import { IGNORED } from "../text/examples/convert.ts";
import { paddedLengths } from "../text/examples/rows.ts";

/** Tokens, and for each the label of the next. */
export interface ScoredRow {
  readonly x: Int32Array;
  readonly y: Int32Array;
}

export interface Scores {
  /** The sum of the logarithms of the labels' probabilities, by row. */
  readonly scores: Float64Array;
  /** Whether the model would have written just these labels. */
  readonly greedy: readonly boolean[];
}

export interface ScoreSettings {
  readonly batchSize: number;
  readonly engine?: EngineName | Engine | undefined;
}

export async function scoreRows(
  model: Pick<LanguageModel, "init" | "apply" | "base">,
  rows: readonly ScoredRow[],
  { batchSize, engine = "auto" }: ScoreSettings,
): Promise<Scores> {
  const sizes = rows.map(({ x }) => x.length);
  const dataset = { length: rows.length, get: (i: number) => ({ ...rows[i]!, row: Int32Array.of(i) }) };
  const lengths = paddedLengths(Math.max(...sizes));
  const pad = { x: 0, y: IGNORED };
  const loader = () => new DataLoader(dataset, { batchSize, buckets: { by: sizes, lengths, pad } });
  await using trainer = new Trainer({
    model: scorer(model),
    inputs: (batch) => batch,
    loss: (outputs) => (outputs as never)["score"],
    train: loader(),
    // Nothing is trained, and this one keeps no state.
    optimizer: sgd({ lr: 0 }),
    engine,
    signals: false,
  });
  const { score, greedy, row } = (await trainer.predict(loader())) as HostTensors;
  const scores = new Float64Array(rows.length);
  const isGreedy: boolean[] = [];
  for (const [i, at] of [...row!.data].entries()) {
    scores[at] = score!.data[i]!;
    isGreedy[at] = greedy!.data[i] === 1;
  }
  return { scores, greedy: isGreedy };
}
