// confusionMatrix: how often each class was taken for each other one, drawn at the end of an evaluation.
import { numpy as np } from "@jax-js/jax";
import type { HostArray } from "../../../core/arrays.ts";
import { component } from "../../../core/component.ts";
import { ProgramError } from "../../../core/errors.ts";
import type { ArrayMetric } from "../../../core/model.ts";
import { CLASS_CHECKS, className, type ClassOptions, decide, expectClasses, roomFor } from "../decisions.ts";
import { drawMatrix } from "./matrix-image.ts";
import { matrixText } from "./matrix-text.ts";

/** A confusion matrix to be drawn: `counts` [actual, chosen] of classes with these names. */
export interface ConfusionCounts {
  readonly counts: HostArray<Float64Array>;
  readonly names: readonly string[];
}

/**
 * How often each class was taken for each other one. It has no value of its own: it is drawn in the terminal by
 * `progressBar` and `hookline eval`, sent as an image to loggers that take images, and hooks read it in `ctx.figures`.
 * @example metrics: { confusion: confusionMatrix({ names: ["cat", "dog"] }) }
 */
export const confusionMatrix = /* @__PURE__ */ component(
  { kind: "metric", name: "confusionMatrix", takes: () => ({ options: CLASS_CHECKS }) },
  makeConfusionMatrix,
);

function makeConfusionMatrix(options: ClassOptions = {}): ArrayMetric {
  return {
    evalOnly: true,
    ...(!options.names && { named: (names: readonly string[]) => makeConfusionMatrix({ ...options, names }) }),
    size: roomFor(options) ** 2,
    values: [],
    update(outputs, batch) {
      const { reading, chosen, actual, weight } = decide("confusionMatrix", outputs, batch, options);
      if (reading === "labels")
        throw new ProgramError(
          "confusionMatrix: several labels may apply to a sample at once, so none is taken for another; use precision and recall with `perClass`.",
        );
      expectClasses("confusionMatrix", chosen.shape[1]!, options);
      return { counts: np.dot(actual.transpose(), chosen.mul(weight)) };
    },
    compute: () => ({}),
    figure({ counts }) {
      const names = Array.from({ length: counts!.shape[0]! }, (_, i) => className(options.names, i));
      const matrix: ConfusionCounts = { counts: counts!, names };
      return { data: counts!, text: matrixText(matrix), image: drawMatrix(matrix) };
    },
  };
}
