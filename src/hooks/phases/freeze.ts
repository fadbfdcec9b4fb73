// freeze: excludes parameters from training by name, for all or part of the run.
import { checkCadence, type CadenceOptions, type Quantity } from "../../core/cadence.ts";
import { OptionError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import { selectNames, type NameFilter } from "../../core/names.ts";
import { component } from "../../core/component.ts";
import { checkOptions, is } from "../../core/options.ts";
import { sharedKey } from "../../core/shared.ts";
import { Applied } from "./phases.ts";

/** Which parameters are frozen, and when. */
export interface FreezeRule {
  /** Which parameters: a name or part of one, a glob, a list of these, or a function. */
  readonly params: NameFilter;
  /** When they are frozen. Default: from the first step. */
  readonly from?: Quantity;
  /** When they are trained again: `"2 epochs"`, `"500 steps"`, `"10%"`. Default never. */
  readonly until?: Quantity;
}

/** Options of `freeze`. */
export interface FreezeOptions extends Partial<FreezeRule> {
  /** Default `freeze`. */
  readonly name?: string;
  /** Several rules, for gradual unfreezing; instead of `params`. */
  readonly schedule?: readonly FreezeRule[];
}

const RULE = {
  params: is.or(is.name, is.arrayOf(is.name), is.function),
  from: is.or(is.nonNegative, is.name),
  until: is.or(is.nonNegative, is.name),
};
/** What each freeze hook of the trainer has frozen: a parameter is trained if none of them freezes it. */
const frozenParams = sharedKey<ReadonlyMap<string, readonly string[]>>("frozenParams");

function rulesOf({ params, from, until, schedule }: FreezeOptions): readonly FreezeRule[] {
  const one = [params, from, until].some((option) => option !== undefined);
  if (one === (schedule !== undefined) || (one && params === undefined)) {
    throw new OptionError(
      `freeze: give either \`params\` or \`schedule\`, such as freeze({ params: "encoder", until: "2 epochs" }).`,
    );
  }
  for (const each of schedule ?? []) checkOptions("freeze: schedule", each, RULE, ["params"]);
  return schedule ?? [{ params: params!, ...window(from, until) }];
}

/** The part of the run between two points, as a cadence. */
const window = (from: Quantity | undefined, until: Quantity | undefined): CadenceOptions => ({
  ...(from !== undefined && { from }),
  ...(until !== undefined && { until }),
});

/**
 * Frozen parameters get no gradient and no weight decay: they do not change by a single bit.
 * @example
 * freeze({ params: "encoder", until: "2 epochs" })
 * freeze({ schedule: [{ params: "encoder.0", until: "4 epochs" }, { params: "encoder", until: "2 epochs" }] })
 */
export const freeze = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "freeze",
    takes: () => ({ options: { name: is.name, ...RULE, schedule: is.arrayOf(is.object) } }),
  },
  makeFreeze,
);

function makeFreeze(options: FreezeOptions): Hook {
  const { name = "freeze" } = options;
  const rules = rulesOf(options).map(({ params, from, until }) => {
    const when = window(from, until);
    checkCadence("freeze", when);
    return { params, when };
  });
  const applied = new Applied("");

  return {
    name,
    onTrainBegin(ctx) {
      applied.renew();
      for (const { params } of rules) {
        if (selectNames(params, ctx.params.names).length > 0) continue;
        const filter = typeof params === "function" ? "the function" : JSON.stringify(params);
        throw new OptionError(`${name}: ${filter} matches no parameter. Parameters: ${ctx.params.names.join(", ")}.`);
      }
    },
    onStepBegin(ctx) {
      const active = rules.filter(({ when }) => ctx.due(when));
      // Names are matched only when the set of active rules changes.
      if (!applied.take(active.map((rule) => rules.indexOf(rule)).join())) return;
      const { names } = ctx.params;
      const mine = active.flatMap(({ params }) => selectNames(params, names));
      const all = new Map(ctx.shared.get(frozenParams)).set(name, mine);
      ctx.shared.set(frozenParams, all);
      const frozen = new Set([...all.values()].flat());
      if (frozen.size === names.length) throw new OptionError(`${name}: nothing is left to train.`);
      const trained = names.filter((each) => !frozen.has(each));
      ctx.setTrainable((each) => !frozen.has(each), `trains ${trained.length} of ${names.length} parameters`);
    },
    // Checkpoints store which parameters are frozen; a resumed hook must know that it may unfreeze them.
    state: () => ({ json: applied.state() }),
    load: ({ json }) => applied.load(json as string | null),
  };
}
