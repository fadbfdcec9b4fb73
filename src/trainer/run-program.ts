// Running a compiled program, with errors that name the batch and the way out.
import { HooklineError, ProgramError } from "../core/errors.ts";
import { messageOf } from "../core/maybe.ts";
import type { MaybePromise } from "../core/loader.ts";
import type { HostBatch } from "../core/model.ts";
import type { Buffer, Tree } from "../engines/engine.ts";
import { layerOf } from "../nn/tap.ts";
import { describeBatch } from "./batch-input.ts";

export interface Source {
  readonly what: string;
  readonly loader: string;
  readonly host: HostBatch;
}

/** An error of a traced program, with the batch and the layer that it happened in. */
export function explain(error: unknown, { what, loader, host }: Source): Error {
  if (error instanceof HooklineError && !(error instanceof ProgramError)) return error;
  const where = `on a batch ${describeBatch(host)} of loader \`${loader}\``;
  const message = messageOf(error);
  const layer = layerOf(error);
  const advice = /freed|\.ref/.test(message)
    ? "an array was used twice. In jax-js the first use consumes it: keep it for the next with x.ref. jax-js says: "
    : "";
  return new ProgramError(
    `The ${what} failed ${where}${layer === undefined ? "" : `, in layer \`${layer}\``}: ${advice}${message}`,
    { cause: error },
  );
}

export function runProgram<T>(
  program: (...args: Tree<Buffer>[]) => MaybePromise<T>,
  source: Source,
  ...args: Tree<Buffer>[]
): MaybePromise<T> {
  try {
    const out = program(...args);
    if (!(out instanceof Promise)) return out;
    return out.catch((error: unknown) => {
      throw explain(error, source);
    });
  } catch (error) {
    throw explain(error, source);
  }
}
