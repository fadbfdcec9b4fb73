// What a look at a bad step finds: everything in it that is not finite, in the order in which a step computes it.

/** How many values are NaN or infinite, by name in canonical order; names without any are left out. */
export type NonFinite = Readonly<Record<string, number>>;

/** The first micro-batch of the step with something that is not finite; the last one when there is none. */
export interface Diagnosis {
  /** Which of the step's micro-batches, from 0. */
  readonly micro: number;
  readonly loaderName: string;
  /** Fields of the batch. */
  readonly batch: NonFinite;
  /** Parameters as they were before the step, and still are. */
  readonly params: NonFinite;
  readonly loss: number;
  /** When the loss is not finite: a label or an id that is out of range, in words. */
  readonly index: string | undefined;
  /** When the loss is not finite: the first point of the model, in the order of the program, that is not either. */
  readonly activation: string | undefined;
  readonly grads: NonFinite;
}
