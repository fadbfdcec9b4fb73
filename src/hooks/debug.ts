// debug: prints shapes and ranges of batches, and what in a step is NaN or infinite.
import { printLine } from "../platform/print.ts";
import type { HostArray } from "../core/arrays.ts";
import { checkCadence, withUnit, type Cadence } from "../core/cadence.ts";
import type { ContextOf } from "../core/context.ts";
import type { Diagnosis, NonFinite } from "../core/inspection.ts";
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import type { HostBatch } from "../core/model.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { reportedBadStep } from "./nan-guard.ts";

/** Options of `debug`. */
export interface DebugOptions {
  /** Default `debug`. */
  readonly name?: string;
  /** False turns the hook off, so that it can stay in the program. Default true. */
  readonly enabled?: boolean;
  /** How often to print a batch's shapes, types and ranges with the step's loss. The first batch of each loader is always printed. */
  readonly every?: Cadence;
  /** Prints which tensors of a step are NaN or infinite. Such a step changes nothing, so that its cause can be inspected. Default true. */
  readonly nan?: boolean;
  /** Pauses an attached debugger at a non-finite step, after reporting it. Default false. */
  readonly breakpoint?: boolean;
  /** Receives the lines. Default console.log. */
  readonly print?: (line: string) => void;
}

const short = (value: number): string => String(Number(value.toPrecision(4)));

/** `x float32 [4, 3] from -1.2 to 0.9, 2 not finite` */
function describe(name: string, { data, shape, dtype }: HostArray): string {
  let [low, high, bad] = [Infinity, -Infinity, 0];
  for (const value of data) {
    if (!Number.isFinite(value)) bad++;
    else {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  const type = dtype ?? data.constructor.name.replace("Array", "").toLowerCase();
  const range = low > high ? "" : ` from ${short(low)} to ${short(high)}`;
  return `${name} ${type} [${shape.join(", ")}]${range}${bad > 0 ? `, ${bad} not finite` : ""}`;
}

const describeAll = (batch: HostBatch): string =>
  Object.entries(batch)
    .map(([name, array]) => describe(name, array))
    .join("; ");

function findings({ micro, loaderName, batch, params, index, activation, loss, grads }: Diagnosis): string {
  const list = (what: string, counts: NonFinite): string[] =>
    Object.entries(counts).map(([name, count]) => `${what} ${name} (${count})`);
  const first = activation === undefined ? [] : [`first activation ${activation}`];
  const bad = [...first, ...(Number.isFinite(loss) ? [] : [`loss ${loss}`])];
  const wrong = index === undefined ? [] : [index];
  const all = [...list("batch", batch), ...list("parameter", params), ...wrong, ...bad, ...list("gradient", grads)];
  return `micro-batch ${micro} of ${loaderName}: ${all.join(", ") || "only the norm of the gradients"}`;
}

/**
 * @example
 * debug({ every: "500 steps", enabled: process.env.DEBUG !== undefined })
 */
export const debug = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "debug",
    takes: () => ({
      options: {
        name: is.name,
        enabled: is.boolean,
        every: is.cadence,
        nan: is.boolean,
        breakpoint: is.boolean,
        print: is.function,
      },
    }),
  },
  makeDebug,
);

function makeDebug(options: DebugOptions = {}): Hook {
  const { name = "debug", enabled = true, nan = true, breakpoint = false } = options;
  const print = options.print ?? printLine;
  if (options.every !== undefined) checkCadence("debug: every", options.every);
  if (breakpoint && !nan)
    throw new OptionError("debug: `breakpoint` pauses at a non-finite step, which `nan: false` does not detect.");
  if (!enabled) return { name };
  const cadence = options.every === undefined ? undefined : withUnit(options.every, "steps");
  const shown = new Set<string>();

  function report(ctx: { readonly step: number }, line: string): void {
    print(`${name}: step ${ctx.step}, ${line}`);
  }

  /** `ctx` is an argument so that the debugger shows it. */
  function reportBadStep(ctx: { readonly step: number }, found: Diagnosis): void {
    report(ctx, `not finite, ${findings(found)}`);
    // oxlint-disable-next-line no-debugger -- the purpose of the option
    if (breakpoint) debugger;
  }

  function showBatch(ctx: ContextOf<"batchBegin"> | ContextOf<"evalBatchBegin">): void {
    const source = `${ctx.phase === "train" ? "" : "evaluation "}loader ${ctx.loaderName}`;
    const isNew = !shown.has(source);
    shown.add(source);
    if (isNew || (cadence !== undefined && ctx.phase === "train" && ctx.due(cadence)))
      report(ctx, `batch ${ctx.batchIdx} of ${source}: ${describeAll(ctx.batch)}`);
  }

  return {
    name,
    ...(nan && { needs: ["finite"] }),
    onBatchBegin: showBatch,
    onEvalBatchBegin: showBatch,
    ...((nan || cadence !== undefined) && {
      onStepEnd(ctx: ContextOf<"stepEnd">) {
        if (nan && !ctx.finite) {
          ctx.shared.set(reportedBadStep, ctx.step);
          return ctx.diagnose().then((found) => reportBadStep(ctx, found));
        }
        if (cadence !== undefined && !ctx.skipped && ctx.due(cadence))
          report(
            ctx,
            `loss ${short(ctx.loss)}, lr ${short(ctx.lr)}${nan ? `, gradient norm ${short(ctx.gradNorm)}` : ""}`,
          );
        return undefined;
      },
    }),
  };
}
