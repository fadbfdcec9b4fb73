// weightMonitor: logs norms of parameters and the relative size of updates.
import { checkCadence, type Cadence } from "../core/cadence.ts";
import type { ComputeFn, DeviceTensors } from "../core/inspection.ts";
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import type { HostTensors, Tensor, Tensors } from "../core/model.ts";
import { selectNames, type NameFilter } from "../core/names.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";

/** Options of `weightMonitor`. */
export interface WeightMonitorOptions {
  readonly name?: string;
  /** Steps between measurements, or another cadence. Default 100. */
  readonly every?: Cadence;
  /** `weight/norm` over all parameters and `weight/norm/<parameter>` of each. Default true. */
  readonly norm?: boolean;
  /**
   * `weight/update` and `weight/update/<parameter>`: the norm of this step's change relative to the parameter's norm; about
   * 1e-3 is usual. Needs a cadence in steps, epochs or %, since the parameters before the step must be kept. Default true.
   */
  readonly updateRatio?: boolean;
  /** Which parameters: part of a name, a glob, a list of these, or a function. Default all. */
  readonly filter?: NameFilter;
}

const squares = (x: Tensor): Tensor => x.ref.mul(x).sum();

/**
 * @example
 * weightMonitor({ every: 50, filter: "*.weight" })
 */
export const weightMonitor = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "weightMonitor",
    takes: () => ({
      options: {
        name: is.name,
        every: is.cadence,
        norm: is.boolean,
        updateRatio: is.boolean,
        filter: is.or(is.name, is.arrayOf(is.name), is.function),
      },
    }),
  },
  makeWeightMonitor,
);

function makeWeightMonitor(options: WeightMonitorOptions = {}): Hook {
  const { name = "weightMonitor", every = 100, norm = true, updateRatio = true, filter } = options;
  checkCadence(`${name}: every`, every);
  const chosen = (names: readonly string[]): readonly string[] =>
    filter === undefined ? names : selectNames(filter, names);
  /** The parameters that were chosen; a frozen base is not among them. */
  let watched: readonly string[] = [];
  let before: { readonly step: number; readonly params: DeviceTensors } | undefined;

  const drop = (): void => {
    before?.params.free();
    before = undefined;
  };

  // One function per hook, so that it is compiled once.
  const ownSquares: ComputeFn = (params) => keyed("own", (param) => squares(params[param]!.ref));
  const allSquares: ComputeFn = (params, old) => ({
    ...ownSquares(params),
    ...keyed("moved", (param) => squares(params[param]!.ref.sub(old[param]!.ref))),
  });
  const keyed = (key: string, of: (param: string) => Tensor): Tensors =>
    Object.fromEntries(watched.map((param) => [`${key} ${param}`, of(param)]));

  return {
    name,
    stage: "monitor",
    every,
    logs: ["weight/*"],
    onTrainBegin(ctx) {
      const { names } = ctx.params;
      if (chosen(names).length === 0)
        throw new OptionError(`${name}: \`filter\` matches no parameter. Parameters: ${names.join(", ")}.`);
    },
    ...(updateRatio && {
      onStepBegin(ctx) {
        drop();
        before = { step: ctx.step, params: ctx.params.snapshot() };
      },
    }),
    async onStepEnd(ctx) {
      watched = chosen(ctx.params.names);
      const kept = before?.step === ctx.step ? before.params : undefined;
      const sums = await (kept ? ctx.params.compute(allSquares, kept) : ctx.params.compute(ownSquares));
      drop();
      try {
        const host = await sums.read();
        const own = rooted(host, "own", watched);
        if (norm) ctx.log(named("weight/norm", watched, own));
        if (kept) ctx.log(named("weight/update", watched, ratios(rooted(host, "moved", watched), own)));
      } finally {
        sums.free();
      }
    },
    // After a failure within a step, the copy still exists.
    onClose: drop,
  };
}

/** The norm of each parameter, and last that of all together. */
function rooted(sums: HostTensors, key: string, params: readonly string[]): number[] {
  const each = params.map((param) => sums[`${key} ${param}`]!.data[0]!);
  return [...each, each.reduce((a, b) => a + b, 0)].map(Math.sqrt);
}

/** Undefined for a parameter that is zero. */
const ratios = (moved: readonly number[], own: readonly number[]): (number | undefined)[] =>
  moved.map((x, i) => (own[i] === 0 ? undefined : x / own[i]!));

/** `prefix/<parameter>` for each and `prefix` for all. */
function named(
  prefix: string,
  params: readonly string[],
  values: readonly (number | undefined)[],
): Record<string, number> {
  const keys = [...params.map((param) => `${prefix}/${param}`), prefix];
  const entries = keys.flatMap((key, i) => (values[i] === undefined ? [] : [[key, values[i]] as const]));
  return Object.fromEntries(entries);
}
