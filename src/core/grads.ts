// What a hook sees of the gradients. The arrays stay on the engine; only the numbers asked for come back.
import type { HostArray } from "./arrays.ts";
import type { Tensor } from "./model.ts";
import type { NameFilter } from "./names.ts";

/** Which statistics, and of which parameters. */
export interface GradStatsOptions {
  /** Percentiles of the values, each from 0 to 100. */
  readonly percentiles?: readonly number[];
  /** Number of equal bins between the least and the greatest value. */
  readonly histogram?: number;
  readonly filter?: NameFilter;
}

/** Statistics of one gradient, or of any other array. */
export interface GradStats {
  readonly norm: number;
  readonly mean: number;
  readonly std: number;
  readonly min: number;
  readonly max: number;
  /** Values that are NaN or infinite. */
  readonly nonFinite: number;
  /** In the order asked for. */
  readonly percentiles?: readonly number[];
  readonly histogram?: { readonly edges: readonly number[]; readonly counts: readonly number[] };
}

/** The gradients of the step at hand. They stay on the engine: what is asked of them comes back as a promise. */
export interface Grads {
  /** Parameters that have a gradient here, in canonical order. */
  readonly names: readonly string[];
  /** Global L2 norm. */
  norm(): Promise<number>;
  /** L2 norm per parameter. */
  norms(): Promise<Record<string, number>>;
  /** A host copy of one gradient. */
  get(name: string): Promise<HostArray>;
  /** Statistics per parameter, computed on the engine in one program. */
  stats(options?: GradStatsOptions): Promise<Record<string, GradStats>>;
  /** Multiplies all gradients. */
  scale(k: number): Promise<void>;
  /** Scales all gradients down so that the global norm is at most `norm`; resolves to the norm before. */
  clip(norm: number): Promise<number>;
  /** Replaces each gradient by a jax-js function of it. */
  map(fn: (grad: Tensor, name: string) => Tensor): Promise<void>;
}
