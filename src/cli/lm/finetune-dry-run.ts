// hookline finetune --dry-run: one example as the model reads it, with what counts in color, and the time of three steps.
import type { HostBatch } from "../../core/model.ts";
import type { ConfigDocument } from "../../experiment/config/config-tree.ts";
import { Experiment } from "../../experiment/experiment.ts";
import type { LanguageModel } from "../../lm/model/language-model.ts";
import { isStyled, paint, print } from "../output.ts";
import type { Prepared } from "./finetune.ts";

/** Tokens of the example that are shown. */
const MOST_SHOWN = 400;
const STEPS = 3;

export async function finetuneDryRun(prepared: Prepared, { raw }: ConfigDocument): Promise<void> {
  const { model, examples, options } = prepared;
  const loader = examples.loader({ batchSize: 1, shuffle: false });
  loader.begin(0, 0);
  const batch = (await loader.next())!;
  print(`\nThe first row, ${isStyled(process.stdout) ? "with what counts in green" : "with what counts in «»"}:\n`);
  print(firstExample(model, batch));
  const times = await stepTimes(options);
  const [first, ...rest] = times;
  const step = Math.min(...rest);
  const { accumulate = 1, epochs = 1, loader: { batchSize = 1 } = {} } = options;
  const tokens = batchSize * examples.statistics.length * accumulate;
  // The last step of an epoch may have fewer rows.
  const steps = epochs * Math.ceil(examples.statistics.rows / (batchSize * accumulate));
  print(
    `\nThree steps: ${first!.toFixed(2)} s with compiling, then ${rest.map((each) => `${each.toFixed(2)} s`).join(", ")}; ` +
      `${Math.round(tokens / step).toLocaleString("en-US")} tokens a second, so ${minutes(steps * step)} for ${steps} steps.`,
  );
  print(`\nThe config:\n${JSON.stringify(raw, undefined, 2)}\n\nNothing was written.`);
}

const minutes = (seconds: number): string =>
  seconds < 90 ? `${Math.max(2, Math.ceil(seconds))} seconds` : `about ${Math.round(seconds / 60)} minutes`;

/** The tokens as text. A label belongs to the token that it predicts, which is the next. */
function firstExample({ tokenizer }: LanguageModel, { x, y, segments }: HostBatch): string {
  const first = segments?.data[0] ?? 0;
  const pieces: { readonly ids: number[]; readonly counts: boolean }[] = [{ ids: [x!.data[0]!], counts: false }];
  const add = (id: number, counts: boolean): void => {
    if (pieces.at(-1)!.counts === counts) pieces.at(-1)!.ids.push(id);
    else pieces.push({ ids: [id], counts });
  };
  const length = Math.min(x!.data.length, MOST_SHOWN);
  for (let i = 0; i < length && (segments?.data[i] ?? first) === first; i++) {
    const label = y!.data[i]!;
    const next = i + 1 < length && (segments?.data[i + 1] ?? first) === first ? x!.data[i + 1]! : undefined;
    if (label >= 0) add(label, true);
    else if (next !== undefined) add(next, false);
  }
  return pieces
    .map(({ ids, counts }) => {
      const text = tokenizer.decode(ids);
      if (!counts) return text;
      return isStyled(process.stdout) ? paint(process.stdout, "green", text) : `«${text}»`;
    })
    .join("");
}

/** Seconds of the first steps, without files. */
async function stepTimes(options: Prepared["options"]): Promise<number[]> {
  const times: number[] = [];
  let at = performance.now();
  const { runDir: _none, epochs: _epochs, ...rest } = options;
  const clock = {
    name: "clock",
    onStepBegin: () => void (at = performance.now()),
    // Reading the loss waits for the step.
    onStepEnd: ({ loss }: { readonly loss: number }) =>
      void (Number.isNaN(loss), times.push((performance.now() - at) / 1000)),
  };
  const { loaders: _loaders, evalEvery: _evalEvery, ...training } = rest;
  await new Experiment({ ...training, steps: STEPS, evaluate: async () => ({}), hooks: [clock] }).run();
  return times;
}
