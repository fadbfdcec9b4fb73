// What a compiled program does, step by step, and the buffers that it does it with.
import type { TypedArray } from "../../../core/arrays.ts";
import type { DType } from "../../lower/graph.ts";
import type { Convolution, Kind } from "../conv/convolution.ts";
import type { Contraction } from "./contract.ts";
import type { Kernel } from "../kernel.ts";

/** Where a buffer comes from. `temporary` ones live from the step that writes them to the last that reads them. */
export type BufferSource =
  | { readonly kind: "input"; readonly index: number }
  | { readonly kind: "output"; readonly index: number }
  | { readonly kind: "constant"; readonly data: TypedArray }
  | { readonly kind: "temporary" };

export interface PlannedBuffer {
  /** In elements. */
  readonly length: number;
  readonly source: BufferSource;
}

/** Numbers are indices into the plan's buffers. */
export type Step =
  | { readonly kind: "kernel"; readonly kernel: Kernel; readonly buffers: readonly number[] }
  | {
      readonly kind: "contraction";
      readonly contraction: Contraction;
      readonly left: number;
      readonly right: number;
      readonly out: number;
    }
  | {
      readonly kind: "convolution";
      readonly how: Kind;
      readonly convolution: Convolution;
      readonly image: number;
      readonly kernel: number;
      readonly out: number;
    }
  /** Rows of `length` numbers, in ascending order, or the order itself. */
  | {
      readonly kind: "sort" | "argsort";
      readonly from: number;
      readonly to: number;
      readonly rows: number;
      readonly length: number;
      readonly dtype: DType;
    };

export interface Plan {
  readonly buffers: readonly PlannedBuffer[];
  readonly steps: readonly Step[];
}
