// The state of a run as a progress bar shows it.
import type { ContextOf } from "../../core/context.ts";
import type { Figure } from "../../core/model.ts";
import { evalLoaderNames, selectNames, type NameFilter } from "../../core/names.ts";
import type { EvalProgress, Progress } from "./lines.ts";
import type { ProgressBarOptions } from "./progress-bar.ts";
import { safeLine } from "../../core/safe-text.ts";
import { Pace } from "../../terminal/eta.ts";
import { Curve } from "../../terminal/sparkline.ts";
import { builtinOrNone } from "../../platform/builtin.ts";
import { batchesAllowed, type BatchLimit } from "../../core/loop/counters.ts";

type Seen = Pick<ContextOf<"trainBegin">, "step" | "epoch" | "totalSteps" | "metrics" | "tokensSeen">;

type StateOptions = Pick<ProgressBarOptions, "metrics" | "sparkline" | "memory">;

interface Evaluation {
  readonly name: string;
  readonly total: number | undefined;
  readonly at: number;
  /** A standalone evaluation, outside a run. */
  readonly alone: boolean;
}

const seconds = (ms: number): number => ms / 1000;

export class BarState {
  /** Batches of the current evaluation so far. */
  evalBatches = 0;
  /** What metrics have drawn of the last evaluation of each loader. */
  #figures: Record<string, Figure> = {};
  readonly #filter: NameFilter | undefined;
  readonly #sparkline: boolean;
  readonly #showsMemory: boolean;
  readonly #pace = new Pace();
  readonly #curve = new Curve();
  #seen: Seen = { step: 0, epoch: 0, totalSteps: undefined, metrics: {}, tokensSeen: 0 };
  /** Where this part of the run began. */
  #first = { step: 0, tokensSeen: 0 };
  #memory: number | undefined;
  #epochs: number | undefined;
  #elapsedBefore = 0;
  #startedAt = 0;
  #loss: number | undefined;
  #lookedAt = -1;
  #lr: number | undefined;
  #values: Progress["values"] = [];
  /** Metrics of evaluations, in order of first appearance. */
  #evalMetrics = new Set<string>();
  #evaluation: Evaluation | undefined;
  #compiling: () => number | undefined = () => undefined;

  constructor({ metrics, sparkline = true, memory = false }: StateOptions) {
    this.#filter = metrics;
    this.#sparkline = sparkline;
    this.#showsMemory = memory;
  }

  begin(ctx: ContextOf<"trainBegin">): void {
    this.#elapsedBefore = ctx.elapsed;
    this.#startedAt = performance.now();
    this.#epochs = epochsIn(ctx);
    this.#compiling = () => ctx.compiling;
    this.#pace.begin(ctx.step);
    this.#first = { step: ctx.step, tokensSeen: ctx.tokensSeen };
    this.#memory = undefined;
    this.#curve.clear();
    this.#loss = this.#lr = this.#evaluation = undefined;
    this.#figures = {};
    const prefixes = evalLoaderNames(ctx.config.eval).map((name) => `${name}/`);
    this.#evalMetrics = new Set(
      Object.keys(ctx.metrics).filter((name) => prefixes.some((prefix) => name.startsWith(prefix))),
    );
    this.follow(ctx);
  }

  /** Reads only what is shown, since the loss must be read from the device. */
  look(ctx: ContextOf<"stepEnd">, now: number): void {
    this.#pace.mark(ctx.step, seconds(now));
    this.#lookedAt = ctx.step;
    // A skipped step has the loss of an earlier one.
    if (!ctx.skipped && (this.#sparkline || this.#shows("loss"))) {
      this.#loss = ctx.loss;
      if (this.#sparkline) this.#curve.add(ctx.loss);
    }
    if (this.#shows("lr")) this.#lr = ctx.lr;
    if (this.#showsMemory)
      this.#memory = ctx.deviceMemory?.bytesInUse ?? builtinOrNone("node:process")?.memoryUsage.rss();
    this.follow(ctx);
  }

  /** Takes over counters and metrics, which costs nothing. */
  follow({ step, epoch, totalSteps, metrics, tokensSeen }: Seen): void {
    this.#seen = { step, epoch, totalSteps, metrics, tokensSeen };
    const known: Record<string, number | undefined> = { ...metrics, loss: this.#loss, lr: this.#lr };
    const names = [...new Set(["loss", "lr", ...Object.keys(metrics)])].filter((name) => known[name] !== undefined);
    const shown =
      this.#filter === undefined
        ? names.filter((name) => name === "loss" || name === "lr" || this.#evalMetrics.has(name))
        : selectNames(this.#filter, names);
    this.#values = shown.map((name) => [name, known[name]!]);
  }

  #shows(name: string): boolean {
    return this.#filter === undefined || selectNames(this.#filter, [name]).length > 0;
  }

  evalBegin(ctx: ContextOf<"evalBegin">): void {
    const { loaderName: name, phase, config } = ctx;
    const alone = phase === "standalone";
    if (!alone) {
      this.#pace.mark(ctx.step, seconds(performance.now()));
      this.follow(ctx);
    }
    this.evalBatches = 0;
    // A standalone evaluation has its own loader, even if the name is the same.
    this.#evaluation = { name, total: alone ? undefined : evalBatchesIn(config, name), at: performance.now(), alone };
  }

  /** Lines of text for each figure, with its name above. */
  get figureLines(): string[] {
    return Object.entries(this.#figures).flatMap(([name, { text }]) => ["", safeLine(name), ...text.split("\n")]);
  }

  get isAlone(): boolean {
    return this.#evaluation?.alone === true;
  }

  evalEnd(ctx: ContextOf<"evalEnd">): void {
    const began = this.#evaluation;
    if (began?.alone) this.#figures = {};
    if (!ctx.partial) Object.assign(this.#figures, ctx.figures);
    if (began === undefined || began.alone) return;
    this.#evaluation = undefined;
    this.#pace.evaluated(ctx.step, seconds(performance.now() - began.at));
    if (!ctx.partial) for (const name of Object.keys(ctx.evalMetrics)) this.#evalMetrics.add(name);
    this.follow(ctx);
  }

  epochEnd(ctx: Seen): void {
    this.#pace.mark(ctx.step, seconds(performance.now()));
    this.follow(ctx);
    this.#replaceStale(ctx);
  }

  /** The run has ended, and with it any evaluation. */
  end(ctx: Seen): void {
    this.#evaluation = undefined;
    this.#compiling = () => undefined;
    this.follow(ctx);
    this.#replaceStale(ctx);
    // It is the rate of a step that will not happen.
    this.#values = this.#values.filter(([name]) => name !== "lr");
  }

  /** Loss and rate may be of an earlier step; at the end of an epoch its mean loss replaces them. */
  #replaceStale({ step, metrics }: Seen): void {
    if (this.#lookedAt === step) return;
    const mean = metrics["train/loss"];
    this.#values = this.#values.flatMap(([name, value]) => {
      if (name === "loss") return mean === undefined ? [] : [["train/loss", mean] as const];
      return name === "lr" ? [] : [[name, value] as const];
    });
  }

  get progress(): Progress {
    const now = performance.now();
    const { step, epoch, totalSteps } = this.#seen;
    const epochs = this.#epochs === undefined || epoch >= this.#epochs ? undefined : this.#epochs;
    return {
      epoch: epoch + 1,
      epochs,
      step,
      totalSteps,
      elapsed: this.#elapsedBefore + seconds(now - this.#startedAt),
      // During an evaluation the estimate of the remaining steps stands still.
      left: totalSteps === undefined ? undefined : this.#pace.left(totalSteps, seconds(this.#evaluation?.at ?? now)),
      secondsPerStep: this.#pace.secondsPerStep,
      tokensPerSecond: this.#tokensPerSecond,
      memory: this.#memory,
      values: this.#values,
      compiling: this.#compiling(),
      curve: this.#curve.points,
    };
  }

  /** The mean tokens of a step, at the pace of the last steps. */
  get #tokensPerSecond(): number | undefined {
    const steps = this.#seen.step - this.#first.step;
    const tokens = this.#seen.tokensSeen - this.#first.tokensSeen;
    const { secondsPerStep } = this.#pace;
    return secondsPerStep === undefined || tokens <= 0 || steps <= 0 ? undefined : tokens / steps / secondsPerStep;
  }

  get evaluation(): EvalProgress | undefined {
    if (this.#evaluation === undefined) return undefined;
    const { name, total, at } = this.#evaluation;
    return { name, total, batches: this.evalBatches, seconds: seconds(performance.now() - at) };
  }
}

type Config = ContextOf<"trainBegin">["config"];

interface Sized {
  readonly length?: number;
  readonly next?: unknown;
}

/** The loader, if there is only one. */
const single = (option: unknown): Sized | undefined => {
  const loader = option as Sized | undefined;
  return typeof loader?.next === "function" ? loader : undefined;
};

const whole = (value: unknown): number | undefined => (Number.isSafeInteger(value) ? (value as number) : undefined);

/** The number of batches in use, given `limitBatches`. */
function limited(length: number | undefined, of: "train" | "eval", { limitBatches }: Config): number | undefined {
  // Data of unknown length may end before the limit.
  if (length === undefined) return undefined;
  return Math.min(length, batchesAllowed(limitBatches as BatchLimit | undefined, of, length, of));
}

/** Epochs of this run, from its steps where possible: `fit({ epochs })` may differ from the trainer's options. */
export function epochsIn({
  config,
  totalSteps,
}: Pick<ContextOf<"trainBegin">, "config" | "totalSteps">): number | undefined {
  const batches = limited(single(config.train)?.length, "train", config);
  const { accumulate, epochs } = config;
  if (batches === undefined || totalSteps === undefined) return whole(epochs);
  const steps = Math.ceil(batches / (whole(accumulate) ?? 1));
  return steps > 0 ? Math.ceil(totalSteps / steps) : undefined;
}

export function evalBatchesIn(config: Config, name: string): number | undefined {
  const loader = single(config.eval) ?? (config.eval as Readonly<Record<string, Sized>> | undefined)?.[name];
  return evalLoaderNames(config.eval).includes(name) ? limited(loader?.length, "eval", config) : undefined;
}
