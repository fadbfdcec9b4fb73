// lrMonitor: logs the learning rate of every parameter group of every optimizer.
import { boundaryEvent, checkCadence, type Cadence } from "../core/cadence.ts";
import type { ContextOf } from "../core/context.ts";
import type { LiveGroup } from "../core/optimizer.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";

/** Options of `lrMonitor`. */
export interface LrMonitorOptions {
  readonly name?: string;
  /** Steps between entries, or another cadence; one in epochs logs at epoch ends. Default 1. */
  readonly every?: Cadence;
  /** Also log `momentum`, for groups that have one. Default false. */
  readonly momentum?: boolean;
  /** Also log `weightDecay`. Default false. */
  readonly weightDecay?: boolean;
}

type Optimizers = ContextOf<"stepEnd">["optimizers"];

/**
 * One group: `lr`. Several groups: `lr/<group>`; several optimizers: `lr/<optimizer>` or `lr/<optimizer>/<group>`.
 * @example
 * lrMonitor({ every: "1 epoch", weightDecay: true })
 */
export const lrMonitor = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "lrMonitor",
    takes: () => ({
      options: {
        name: is.name,
        every: is.cadence,
        momentum: is.boolean,
        weightDecay: is.boolean,
      },
    }),
  },
  makeLrMonitor,
);

function makeLrMonitor(options: LrMonitorOptions = {}): Hook {
  const { name = "lrMonitor", every = 1, momentum = false, weightDecay = false } = options;
  checkCadence(`${name}: every`, every);
  const kinds = ["lr", ...(momentum ? ["momentum"] : []), ...(weightDecay ? ["weightDecay"] : [])] as const;

  const values = (optimizers: Optimizers): Record<string, number> => {
    const entries = groupsOf(optimizers).flatMap(([suffix, group]) =>
      kinds.map((kind) => [kind + suffix, group[kind as "lr" | "momentum" | "weightDecay"]] as const),
    );
    return Object.fromEntries(entries.filter((entry): entry is [string, number] => entry[1] !== undefined));
  };

  return {
    name,
    stage: "monitor",
    every,
    logs: kinds.flatMap((kind) => [kind, `${kind}/*`]),
    ...(boundaryEvent(`${name}: every`, every) === "epochEnd"
      ? { onEpochEnd: (ctx: ContextOf<"epochEnd">) => ctx.log(values(ctx.optimizers)) }
      : { onStepEnd: (ctx: ContextOf<"stepEnd">) => ctx.log(values(ctx.optimizers)) }),
  };
}

/** Every group with the suffix that distinguishes it. */
function groupsOf(optimizers: Optimizers): [suffix: string, group: LiveGroup][] {
  return optimizers.flatMap(({ name, groups }) =>
    groups.map((group): [string, LiveGroup] => {
      const parts = [...(optimizers.length > 1 ? [name] : []), ...(groups.length > 1 ? [group.name] : [])];
      return [parts.map((part) => `/${part}`).join(""), group];
    }),
  );
}
