// Lowers the rate when a metric stops improving, as torch's ReduceLROnPlateau with its relative threshold.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import { type Json, is } from "../../core/options.ts";
import type { Schedule } from "../../core/optimizer.ts";

/** Options of `plateau`. */
export interface PlateauOptions {
  /** Default "val/loss". */
  readonly monitor?: string;
  /** Whether lower or higher is better. Default "min". */
  readonly mode?: "min" | "max";
  /** What each reduction multiplies the rate by. Default 0.1. */
  readonly factor?: number;
  /** Evaluations without improvement before the rate is reduced. Default 10. */
  readonly patience?: number;
  /** The relative change that counts as an improvement. Default 1e-4. */
  readonly threshold?: number;
  /** Evaluations after a reduction that do not count. Default 0. */
  readonly cooldown?: number;
  /** The rate never goes below this part of the base rate. Default 0. */
  readonly minFactor?: number;
}

interface PlateauState {
  readonly factor: number;
  /** Null before the first value: JSON has no infinity. */
  readonly best: number | null;
  readonly bad: number;
  readonly cooling: number;
}

const START: PlateauState = { factor: 1, best: null, bad: 0, cooling: 0 };

/**
 * Multiplies the rate by `factor` once `monitor` has not improved for more than `patience` evaluations. The rate changes
 * right after that evaluation, also within an epoch.
 * @example plateau({ monitor: "val/loss", patience: 3 })
 */
export const plateau = /* @__PURE__ */ component(
  {
    kind: "schedule",
    name: "plateau",
    takes: () => ({
      options: {
        monitor: is.name,
        mode: is.oneOf("min", "max"),
        factor: is.fraction,
        patience: is.wholeFrom(0),
        threshold: is.nonNegative,
        cooldown: is.wholeFrom(0),
        minFactor: is.nonNegative,
      },
    }),
  },
  makePlateau,
);

function makePlateau(options: PlateauOptions = {}): Schedule {
  const { monitor = "val/loss", mode = "min", patience = 10, threshold = 1e-4, cooldown = 0, minFactor = 0 } = options;
  const shrink = options.factor ?? 0.1;
  let state = START;

  const better = (value: number, best: number | null): boolean => {
    if (best === null) return !Number.isNaN(value);
    return mode === "min" ? value < best * (1 - threshold) : value > best * (1 + threshold);
  };

  return {
    name: "plateau",
    interval: "step",
    monitor,
    factor: () => state.factor,
    observe(value) {
      let { factor, best, bad, cooling } = state;
      if (better(value, best)) [best, bad] = [value, 0];
      else bad++;
      if (cooling > 0) [cooling, bad] = [cooling - 1, 0];
      if (bad > patience) {
        factor = Math.min(factor, Math.max(factor * shrink, minFactor));
        [cooling, bad] = [cooldown, 0];
      }
      state = { factor, best, bad, cooling };
    },
    reset() {
      state = START;
    },
    state: () => ({ ...state }),
    load(saved) {
      state = readState(saved);
    },
  };
}

function readState(saved: Json): PlateauState {
  const { factor, best, bad, cooling } = (saved ?? {}) as unknown as Partial<PlateauState>;
  if (typeof factor !== "number" || typeof bad !== "number" || typeof cooling !== "number" || best === undefined) {
    throw new OptionError("plateau: this saved state is not a plateau's. Was the run saved with another schedule?");
  }
  return { factor, best, bad, cooling };
}
