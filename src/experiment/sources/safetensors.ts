// Data from a file of tensors: .safetensors, or whatever else weights are kept in.
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import type { Arrays } from "../../data/source.ts";

/** Options of `safetensors`. */
export interface SafetensorsOptions {
  /** In a config relative to it and in its project, in code to the working directory. Its tensors are the fields, each with the samples in its first dimension. */
  readonly file: string;
}

/** @example data: safetensors({ file: "digits.safetensors" }) */
export const safetensors = /* @__PURE__ */ component(
  { kind: "data", name: "safetensors", takes: () => ({ options: { file: is.pathToRead }, required: ["file"] }) },
  (options: SafetensorsOptions): (() => Promise<Arrays>) => {
    return async () => {
      const { readWeights } = await import("../../checkpoint/weights/read-weights.ts");
      return readWeights(options.file);
    };
  },
);
