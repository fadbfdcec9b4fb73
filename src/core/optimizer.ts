// What the trainer needs of an optimizer (one pure rule per parameter, with every number that may change as an input) and
// of a learning-rate schedule, and how hooks see a running optimizer.
import type { HostTensors, Tensor, Tensors } from "./model.ts";
import type { NameFilter } from "./names.ts";
import type { Json } from "./options.ts";

/** The numbers of one parameter group that can be read and assigned during a run. */
export interface GroupValues {
  lr: number;
  weightDecay: number;
  /** Undefined for optimizers that have none. */
  momentum?: number;
}

/** A group as written by the user: which parameters, and what differs from the optimizer's own options. */
export interface GroupOptions extends Partial<GroupValues> {
  readonly params: NameFilter;
  readonly name?: string;
}

/** How PyTorch's `optimizer.state_dict()` keeps an optimizer, beyond its slots and hyperparameters. */
export interface TorchLayout {
  /** Whether the state of each parameter has a `step`. */
  readonly step: boolean;
  /** Hyperparameters that PyTorch needs to resume: a default might not be what the run was trained with. */
  readonly needs: readonly string[];
  /** Keys of a group that have no counterpart here: whatever PyTorch from 1.13 on looks up in a step. */
  readonly group: Readonly<Record<string, number | boolean | null>>;
}

/** How parameters are updated: a pure function, its slots, and the values of its groups. */
export interface Optimizer {
  readonly name: string;
  /** Values of parameters that no group names. */
  readonly defaults: Readonly<GroupValues>;
  readonly groups: readonly GroupOptions[];
  /** Which parameters this optimizer updates; all of them when absent. */
  readonly params?: NameFilter;
  /** Update only in steps whose batches come from this loader. */
  readonly loader?: string;
  /** Overrides the trainer's schedule for this optimizer. */
  readonly schedule?: Schedule;
  /** What else it was made with (betas, eps, …), for files from which other software continues training. */
  readonly constants?: Readonly<Record<string, number | boolean | readonly number[]>>;
  /** How PyTorch keeps it, for checkpoints that PyTorch resumes from. Absent: each parameter's state has a `step`. */
  readonly torch?: TorchLayout;
  /** State tensors kept per parameter, each zero at the start and of the parameter's shape, under PyTorch's names. */
  readonly slots: readonly string[];
  /** The scalars of update number `t` (from 1) for one group, computed on the host in float64. Always the same keys. */
  hyper(group: Readonly<GroupValues>, t: number): Record<string, number>;
  /** One parameter's update inside a program: consumes all of its arguments but `h`, whose scalars it takes by `.ref`. */
  leaf(p: Tensor, g: Tensor, slots: Tensors, h: Tensors): [p: Tensor, slots: Tensors];
}

/** One parameter group of a running optimizer. Assigning is an audited intervention. */
export interface LiveGroup {
  readonly name: string;
  readonly params: readonly string[];
  lr: number;
  /** What the schedule alone makes of the rate, without what hooks made of it. */
  readonly scheduledLr: number;
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

/** What a user's optimizer step keeps for each parameter: by the name of the slot, then by parameter. */
export type UpdateState = Readonly<Record<string, Tensors>>;

/**
 * A user's optimizer step: from parameters and (clipped) gradients to new parameters, as a pure jax-js function. With `slots`
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

/** The point of the run at which a schedule computes its factor. */
export interface ScheduleTime {
  /** Steps done before this one: 0 at the first step. */
  readonly step: number;
  readonly epoch: number;
  /** Undefined when the length of the run is not known (a stream, a time limit). */
  readonly totalSteps: number | undefined;
  readonly totalEpochs: number | undefined;
}

/** The learning rate over time: a factor on the rate of each group, as a pure function of the counters. */
export interface Schedule {
  readonly name: string;
  /** When the factor is computed: every step, or once at the start of each epoch. Never both. */
  readonly interval: "step" | "epoch";
  /** The factor on each group's base rate. */
  factor(at: ScheduleTime): number;
  /** The metric that `observe` wants after each eval (plateau). */
  readonly monitor?: string;
  observe?(value: number): void;
  /** Forgets what it has observed, for a new run. */
  reset?(): void;
  state?(): Json;
  load?(state: Json): void;
}
