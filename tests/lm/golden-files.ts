// The small random checkpoints that fixtures/make-golden.py makes with transformers, and what transformers computes of them.
import { fileURLToPath } from "node:url";
import { readWeights } from "hookline/checkpoint";
import type { HostArray } from "../../src/core/arrays.ts";

export const GOLDEN = [
  "llama",
  "llama-untied",
  "llama3-rope",
  "linear-rope",
  "mistral",
  "qwen2",
  "qwen3",
  "smollm3",
  "gemma",
  "gemma2",
  "gemma3",
  "gpt2",
] as const;

export type GoldenName = (typeof GOLDEN)[number];

export const goldenFolder = (name: GoldenName): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

export interface Golden {
  readonly ids: HostArray;
  /** Next tokens; −100 does not count. */
  readonly y: HostArray;
  readonly logits: HostArray;
  readonly loss: number;
  /** The largest difference of transformers' float32 logits from its float64 ones. */
  readonly noise: number;
  /** By parameter. */
  readonly gradients: ReadonlyMap<string, HostArray>;
  /** The first ten are the prompt; the others follow greedily. */
  readonly generated: readonly number[];
}

export async function readGolden(name: GoldenName): Promise<Golden> {
  const { ids, labels, logits, loss, noise, generated, ...rest } = await readWeights(
    `${goldenFolder(name)}/golden.safetensors`,
  );
  const [batch, time] = ids!.shape as [number, number];
  // transformers compares logits at t with labels at t + 1.
  const next = (_: unknown, i: number): number => (i % time === time - 1 ? -100 : labels!.data[i + 1]!);
  return {
    ids: ids!,
    y: { data: Int32Array.from({ length: batch * time }, next), shape: [batch, time] },
    logits: logits!,
    loss: loss!.data[0]!,
    noise: noise!.data[0]!,
    gradients: new Map(Object.entries(rest).map(([key, value]) => [key.replace(/^grad\./, ""), value])),
    generated: [...generated!.data],
  };
}

/** The largest difference, relative to the largest of `expected`. */
export function relativeError(got: ArrayLike<number>, expected: ArrayLike<number>): number {
  let [most, error] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    most = Math.max(most, Math.abs(expected[i]!));
    const difference = Math.abs(got[i]! - expected[i]!);
    error = Number.isNaN(difference) ? Infinity : Math.max(error, difference);
  }
  return got.length === expected.length ? error / most : Infinity;
}

/** Of these there are adapters, which fixtures/make-adapters.py makes with PEFT. */
export const ADAPTERS = ["llama", "llama-untied", "qwen3", "gemma3", "gpt2"] as const;

export const adapterFolder = (name: (typeof ADAPTERS)[number]): string =>
  fileURLToPath(new URL(`./fixtures/adapters/${name}`, import.meta.url));

/** Adapters with DoRA. */
export const doraFolder = (name: "llama" | "gpt2"): string =>
  fileURLToPath(new URL(`./fixtures/adapters/dora-${name}`, import.meta.url));
