// The types of the context: what each event shows and allows. They derive from the rows of FIELDS and VERBS.
import type { CommonFields } from "./common-fields.ts";
import type { ContextMethods, EventFields, FieldName, FIELDS } from "./context.ts";
import type { BuiltinEvent, CustomEvents, EventName } from "./events.ts";
import type { HostBatch, HostTensors, Tensors } from "./model.ts";
import type { NameFilter } from "./names.ts";
import type { SkipScopesOf, Verbs, VerbsOf } from "./verbs.ts";

/** What runs now: training, an evaluation inside it, or `evaluate`/`predict` on their own. */
export type Phase = "train" | "eval" | "standalone" | "predict";
/** How a run stands, or how it ended. */
export type RunStatus = "training" | "completed" | "stopped" | "interrupted" | "error";
export type Metrics = Readonly<Record<string, number>>;

/** One parameter group of a running optimizer. Assigning is an audited intervention. */
export interface LiveGroup {
  readonly name: string;
  readonly params: readonly string[];
  lr: number;
  weightDecay: number;
  /** Undefined for optimizers without momentum; assigning there is an error. */
  momentum: number | undefined;
}

/** A running optimizer. */
export interface LiveOptimizer {
  readonly name: string;
  readonly groups: readonly LiveGroup[];
  /** Updates done so far. */
  readonly updates: number;
  /**
   * What it keeps for each parameter after the last finished step, as host copies: by the name of the state, such as
   * Adam's `exp_avg` and `exp_avg_sq`, then by parameter. Read from the engine when it is called; of all its parameters,
   * or of those that `params` chooses.
   * @example const { exp_avg } = await ctx.optimizers[0]!.state("head.");
   */
  state(params?: NameFilter): Promise<Readonly<Record<string, HostTensors>>>;
}

/** What an own optimizer step keeps for each parameter: by the name of the slot, then by parameter. */
export type UpdateState = Readonly<Record<string, Tensors>>;

/**
 * Own optimizer step: from parameters and (clipped) gradients to new parameters, as a pure jax-js function. With `slots`
 * it keeps state from step to step, which begins as zeros and is saved with checkpoints; then it returns
 * `[params, state]`.
 * @example Object.assign((params, grads, { lr, state: { velocity } }) => …, { slots: ["velocity"] })
 */
export interface UpdateFn {
  (
    params: Tensors,
    grads: Tensors,
    hyper: { readonly lr: Tensors[string]; readonly state: UpdateState },
  ): Tensors | [Tensors, UpdateState];
  /** Names of what it keeps, one array of the parameter's shape each. */
  readonly slots?: readonly string[];
}

/** What every event has. */
type CommonContext = ContextMethods & Pick<CommonFields, keyof CommonFields>;

/** The fields that an event has besides. */
type FieldsOf<E extends BuiltinEvent> = {
  [F in FieldName]: E extends (typeof FIELDS)[F]["events"][number] ? F : never;
}[FieldName];

type BuiltinContext<E extends BuiltinEvent, B> = CommonContext &
  Pick<EventFields<B>, FieldsOf<E>> &
  Pick<Verbs, Exclude<VerbsOf<E>, "skip">> &
  (SkipScopesOf<E> extends never ? unknown : { skip(scope: SkipScopesOf<E>, reason?: string): void });

/** The context as one event shows it: a field or verb that is not valid there is a compile error. */
export type ContextOf<E extends EventName, B = HostBatch> = E extends BuiltinEvent
  ? BuiltinContext<E, B>
  : E extends keyof CustomEvents
    ? CommonContext &
        Pick<Verbs, Exclude<VerbsOf<"stepEnd">, "skip">> & {
          skip(scope: SkipScopesOf<"stepEnd">, reason?: string): void;
          readonly payload: CustomEvents[E];
        }
    : never;
