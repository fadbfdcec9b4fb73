// scoreChoices and dpo give the numbers that fixtures/make-scores.py computes with transformers and PEFT.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Trainer } from "hookline";
import { readWeights } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import {
  architectureOf,
  dpo,
  type Examples,
  languageModel,
  loadModel,
  scoreChoices,
  type Tokenizer,
} from "hookline/lm";
import { adamw } from "hookline/optim";
import { ENGINE } from "./engines.ts";
import { adapterFolder, goldenFolder, relativeError } from "./golden-files.ts";

const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));

interface Pairs {
  readonly x: readonly (readonly (readonly number[])[])[];
  readonly y: Pairs["x"];
}

interface Golden {
  readonly choices: {
    readonly questions: readonly { prompt: string; choices: readonly string[]; answer: number }[];
    readonly logLikelihoods: readonly (readonly number[])[];
    readonly accuracy: number;
    readonly byCharacters: number;
  };
  readonly dpo: {
    readonly beta: number;
    readonly pairs: { readonly chosen: Pairs; readonly rejected: Pairs };
    readonly steps: readonly { loss: number; chosen: number; rejected: number; accuracy: number }[];
  };
}

const golden = read(new URL("fixtures/scores.json", import.meta.url).pathname) as Golden;

/** A token is a character. */
const characters = {
  vocabularySize: 97,
  encode: (text: string) => Int32Array.from(text, (letter) => letter.charCodeAt(0) - 30),
} as Tokenizer;

test("choices have the likelihoods that transformers gives them", async () => {
  const folder = goldenFolder("llama");
  const architecture = architectureOf(read(`${folder}/config.json`));
  const tensors = await readWeights(`${folder}/model.safetensors`);
  const model = languageModel(architecture, { tensors, tokenizer: characters });
  const { questions, logLikelihoods, accuracy, byCharacters } = golden.choices;
  const text = questions.map((each) => JSON.stringify(each)).join("\n");
  const scores = await scoreChoices(model, { text }, { engine: ENGINE, batchSize: 3 });
  for (const [i, expected] of logLikelihoods.entries())
    expect(relativeError(scores.logLikelihoods[i]!, expected)).toBeLessThan(1e-5);
  expect(scores).toMatchObject({ questions: 4, accuracy, accuracyByCharacters: byCharacters });
  await expect(scoreChoices(model, { text: '{"prompt": "a", "choices": ["b"]}' })).rejects.toThrow(
    ':1: expected {"prompt"',
  );
});

test("dpo steps are those computed by hand with PEFT", async () => {
  const { beta, pairs, steps } = golden.dpo;
  const model = await loadModel(goldenFolder("llama"), { adapter: adapterFolder("llama") });
  const [count, time] = [pairs.chosen.x.flat().length, pairs.chosen.x[0]![0]!.length];
  const field = (nested: Pairs["x"]) => ({ data: Int32Array.from(nested.flat(2)), shape: [count, time] });
  const fields = {
    x: field(pairs.chosen.x),
    y: field(pairs.chosen.y),
    rejectedX: field(pairs.rejected.x),
    rejectedY: field(pairs.rejected.y),
    row: { data: Int32Array.from({ length: count }, (_, i) => i), shape: [count, 1] },
  };
  const data = {
    kind: "preference",
    loader: ({ batchSize }) => new DataLoader(fields, { batchSize }),
    validationLoader: () => undefined,
  } as Partial<Examples> as Examples;
  const losses: number[] = [];
  await using trainer = new Trainer({
    ...(await dpo(model, data, { batchSize: count / steps.length, beta, engine: ENGINE })),
    optimizer: adamw({ lr: 1e-2, weightDecay: 0.01 }),
    epochs: 1,
    engine: ENGINE,
    signals: false,
    hooks: [{ name: "losses", onStepEnd: ({ loss }) => void losses.push(loss) }],
  });
  const { metrics } = await trainer.fit();
  const mean = (name: "chosen" | "rejected" | "accuracy"): number =>
    steps.reduce((sum, step) => sum + step[name], 0) / steps.length;
  expect(
    relativeError(
      losses,
      steps.map(({ loss }) => loss),
    ),
  ).toBeLessThan(1e-3);
  for (const name of ["chosen", "rejected", "accuracy"] as const)
    expect(metrics[`train/rewards/${name}`], name).toBeCloseTo(mean(name), 3);
  expect(metrics["train/rewards/margin"]).toBeCloseTo(mean("chosen") - mean("rejected"), 3);
});
