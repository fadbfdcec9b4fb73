// Running a compiled program, with errors that name the batch and the way out.
import { HooklineError, ProgramError } from "../core/errors.ts";
import type { MaybePromise } from "../core/loader.ts";
import type { HostBatch } from "../core/model.ts";
import type { Buffer, Tree } from "../engines/engine.ts";
import { describeBatch } from "./batch-input.ts";
import type { Compiled } from "./program-cache.ts";

export interface Source {
  readonly what: string;
  readonly loader: string;
  readonly host: HostBatch;
}

function explain(error: unknown, { what, loader, host }: Source): Error {
  if (error instanceof HooklineError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const advice = /freed|\.ref/.test(message)
    ? " In jax-js an array is consumed by its first use: keep it for the next with x.ref."
    : "";
  return new ProgramError(
    `The ${what} failed on a batch ${describeBatch(host)} of loader \`${loader}\`: ${message}.${advice}`,
    { cause: error },
  );
}

export function runProgram(program: Compiled, source: Source, ...args: Tree<Buffer>[]): MaybePromise<Tree<Buffer>> {
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
