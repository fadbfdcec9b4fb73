// What a case of bad input is, and the small things that the cases are made of.
import { DataLoader, type Loader } from "hookline/data";
import { Trainer, type ContextOf, type EventName, type Hook, type RunResult } from "hookline";
import { tinyData, tinyTrainer } from "hookline/testing";

export interface Case {
  /** Does what a user should not do. */
  readonly run: () => unknown;
  /** The class of the error that it must give. */
  readonly error: abstract new (...args: never[]) => Error;
  /** What its message must say. */
  readonly says: readonly string[];
  /** The class of its cause, for errors of hooks. */
  readonly cause?: abstract new (...args: never[]) => Error;
}

export type Cases = Readonly<Record<string, Case>>;

/** A value of the wrong type, as a program without type checks would pass it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says what it pretends to be
export const wrong = <T>(value: unknown): T => value as T;

/** A tiny trainer with options that need not fit their types. */
export const trainer = (options: object = {}): Trainer => tinyTrainer(options);

/** Its run. */
export const fit = (options: object = {}, limits: object = {}): Promise<RunResult> => trainer(options).fit(limits);

/** A run with one hook `h` that does something at an event; the context is loosely typed, as in plain JavaScript. */
export const during = <E extends EventName>(
  event: E,
  act: (ctx: ContextOf<E>) => unknown,
  options: object = {},
): Promise<RunResult> => {
  const method = `on${event[0]!.toUpperCase()}${event.slice(1)}`;
  return fit({ ...options, hooks: [wrong<Hook>({ name: "h", [method]: act })] });
};

/** Four samples of the tiny regression. */
export const four = tinyData(4);
export const loader = (data: unknown = four, options: object = { batchSize: 4 }): Loader =>
  new DataLoader(data as typeof four, options);

/** A stream of ready batches. */
export const stream = (batches: readonly unknown[], options: object = {}): Loader => loader(() => batches, options);

/** A loader of the user's own that gives the same thing over and over. */
export const ownLoader = (batch: unknown, length: number | undefined = 4): Loader => {
  const state = { epoch: 0, batches: 0, samples: 0 };
  return {
    length,
    begin: () => void (state.batches = 0),
    next: () => (state.batches++ < 4 ? wrong(batch) : undefined),
    skip: () => state.batches++ < 4,
    state: () => state,
    load: () => undefined,
  };
};
