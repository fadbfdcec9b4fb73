// The user's part of the configs here: data, and hooks as document 002 writes them.
import type { ContextOf, PipelineContexts } from "hookline";

/** Two clouds of points, one for each class. */
export function clouds({ samples }: { readonly samples: number }) {
  const y = Int32Array.from({ length: samples }, (_, i) => i % 2);
  const x = Float32Array.from({ length: samples * 2 }, (_, i) => (y[i >> 1]! - 0.5) * 2 + Math.sin(i * 7.3));
  return { x: { data: x, shape: [samples, 2] }, y };
}

/** Halves the rate when the loss of more than ten batches was high. */
export class MyCustomHook {
  readonly name = "myCustomHook";
  readonly #threshold: number;
  #high = 0;

  constructor({ threshold = 10 }: { readonly threshold?: number } = {}) {
    this.#threshold = threshold;
  }

  onBatchEnd(ctx: ContextOf<"batchEnd">): void {
    if (ctx.loss > this.#threshold) this.#high++;
  }

  onStepEnd(ctx: ContextOf<"stepEnd">): void {
    if (this.#high <= 10) return;
    this.#high = 0;
    for (const optimizer of ctx.optimizers) for (const group of optimizer.groups) group.lr *= 0.5;
  }

  onTrainEnd(ctx: ContextOf<"trainEnd">): void {
    ctx.log({ "custom/highBatches": this.#high });
  }
}

/** Leaves a number for others. */
export class Producer {
  readonly name = "producer";

  onEpochEnd(ctx: ContextOf<"epochEnd">): void {
    ctx.log({ "custom/important": 0.95 });
  }
}

/** Reads what the one before it left. */
export class Consumer {
  readonly name = "consumer";

  onEpochEnd(ctx: ContextOf<"epochEnd">): void {
    ctx.log({ "custom/received": ctx.metrics["custom/important"] ?? -1 });
  }
}

/** A callback at each of the four points of the pipeline. */
export class PipelineCallback {
  readonly name = "pipelineCallback";
  readonly #keep: number;
  readonly #seen: string[] = [];

  constructor({ keep }: { readonly keep: number }) {
    this.#keep = keep;
  }

  onDataRead() {
    this.#seen.push("dataRead");
    return clouds({ samples: this.#keep });
  }

  onDatasetCreated(ctx: PipelineContexts["datasetCreated"]): void {
    const { x } = ctx.datasets.train as ReturnType<typeof clouds>;
    this.#seen.push(`datasetCreated ${x.shape[0]}`);
  }

  onTrainingComplete(ctx: PipelineContexts["trainingComplete"]): void {
    this.#seen.push(`trainingComplete ${ctx.model}`);
  }

  onEvaluationComplete(ctx: PipelineContexts["evaluationComplete"]): void {
    ctx.results["custom/points"] = this.#seen.length + 1;
    ctx.results["custom/trainRows"] = Number(this.#seen[1]!.split(" ")[1]);
  }
}
