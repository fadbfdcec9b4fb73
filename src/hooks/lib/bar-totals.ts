// How long a run and its evaluations are, as far as the trainer's options tell.
import { batchesAllowed, type BatchLimit } from "../../core/limits.ts";
import type { ContextOf } from "../../core/context.types.ts";

type Config = ContextOf<"trainBegin">["config"];

interface Sized {
  readonly length?: number;
  readonly next?: unknown;
}

/** The loader, where there is just one. */
const single = (option: unknown): Sized | undefined => {
  const loader = option as Sized | undefined;
  return typeof loader?.next === "function" ? loader : undefined;
};

const whole = (value: unknown): number | undefined => (Number.isSafeInteger(value) ? (value as number) : undefined);

/** Batches that are used of so many. */
function limited(length: number | undefined, of: "train" | "eval", { limitBatches }: Config): number | undefined {
  // Data of unknown length may end before the limit.
  if (length === undefined) return undefined;
  return Math.min(length, batchesAllowed(limitBatches as BatchLimit | undefined, of, length, of));
}

/** Epochs of this run. By its steps where it can be: `fit({ epochs })` may ask for others than the trainer's options. */
export function epochsIn({
  config,
  totalSteps,
}: Pick<ContextOf<"trainBegin">, "config" | "totalSteps">): number | undefined {
  const batches = limited(single(config.train)?.length, "train", config);
  const { accumulate, epochs } = config;
  if (batches === undefined || totalSteps === undefined) return whole(epochs);
  const steps = Math.ceil(batches / (whole(accumulate) ?? 1));
  return steps > 0 ? Math.ceil(totalSteps / steps) : undefined;
}

/** Names of the evaluation loaders, which are the prefixes of their metrics. */
export function evalNames({ eval: option }: Config): string[] {
  if (option === undefined) return [];
  return single(option) ? ["val"] : Object.keys(option as object);
}

export function evalBatchesIn(config: Config, name: string): number | undefined {
  const loader = single(config.eval) ?? (config.eval as Readonly<Record<string, Sized>> | undefined)?.[name];
  return evalNames(config).includes(name) ? limited(loader?.length, "eval", config) : undefined;
}
