// A program that cannot be compiled here runs on jax-js: its arguments are copied there, and its results back.
import { sizeOf, type TypedArray } from "../../core/arrays.ts";
import { EngineError } from "../../core/errors.ts";
import { leaves, type Buffer, type Tree } from "../engine.ts";
import { JaxEngine } from "../jax/jax-engine.ts";
import type { Aval } from "../lower/trace.ts";

import { type EngineMemory, viewOf } from "./memory.ts";

type Run = (...args: Tree<Buffer>[]) => Tree<Buffer>;

export class Fallback {
  readonly #jax = JaxEngine.onWasm();
  readonly #memory: EngineMemory;

  constructor(memory: EngineMemory) {
    this.#memory = memory;
  }

  /** The function as a program for arguments of these shapes, between addresses of the engine's memory. */
  compile(fn: (...args: never[]) => unknown, args: readonly Tree<Aval>[], outputs: readonly Aval[]) {
    const program = this.#jax.jit(fn as never, { donate: [...args.keys()] }) as unknown as Run;
    return {
      run: (from: readonly number[], to: readonly number[]): void => {
        let next = 0;
        const put = (aval: Aval): Buffer => {
          const data = viewOf(this.#memory, from[next++]!, aval).slice();
          return this.#jax.put({ data, shape: aval.shape, ...(aval.dtype === "bool" && { dtype: "bool" }) });
        };
        const results = leaves(program(...args.map((arg) => mapAvals(arg, put))));
        for (const [i, aval] of outputs.entries()) this.#fetch(results[i]!, to[i]!, aval);
      },
      close: (): void => {},
    };
  }

  #fetch(result: Buffer, to: number, aval: Aval): void {
    const data = this.#jax.read(result) as TypedArray;
    if (data.length !== sizeOf(aval.shape)) throw new EngineError(`Engine "native": jax-js gave no numbers back.`);
    viewOf(this.#memory, to, aval).set(data);
    this.#jax.free(result);
  }

  async close(): Promise<void> {
    await this.#jax.close();
  }
}

function mapAvals(tree: Tree<Aval>, put: (aval: Aval) => Buffer): Tree<Buffer> {
  if (Array.isArray((tree as Aval).shape)) return put(tree as Aval);
  if (Array.isArray(tree)) return tree.map((branch: Tree<Aval>) => mapAvals(branch, put));
  return Object.fromEntries(
    Object.entries(tree as Record<string, Tree<Aval>>).map(([name, branch]) => [name, mapAvals(branch, put)]),
  );
}
