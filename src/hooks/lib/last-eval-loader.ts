// With several evaluation loaders, a check comes after the last: then every metric is of this evaluation.

/** Its name. One loader is called `val`; of several the last one in the trainer's option is the last to be evaluated. */
export function lastEvalLoader(option: unknown): string | undefined {
  const loaders = (option ?? {}) as Readonly<Record<string, unknown>>;
  return typeof loaders.next === "function" ? "val" : Object.keys(loaders).at(-1);
}
