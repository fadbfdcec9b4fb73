// A jax-js function as a graph, for tests of what becomes of it.
import type { Graph } from "../../src/engines/lower/graph.ts";
import { lower } from "../../src/engines/lower/lower.ts";
import { trace, type Aval } from "../../src/engines/lower/trace.ts";
import type { Tensor } from "../../src/core/model.ts";

export const f32 = (...shape: number[]): Aval => ({ shape, dtype: "float32" });

export const lowered = (fn: (...args: Tensor[]) => Tensor | Tensor[], ...avals: Aval[]): Graph =>
  lower(trace(fn, avals));
