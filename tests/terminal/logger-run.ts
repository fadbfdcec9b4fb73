// The least that a logger does: hands the log events of a run to the console backend.
import type { ContextOf, Hook } from "../../src/index.ts";
import { consoleLog, type ConsoleOptions } from "../../src/loggers/console/console.ts";

export class LoggerRun implements Hook {
  readonly name = "logger";
  readonly stage = "logger" as const;
  readonly #backend;
  #end: { readonly status: "completed"; readonly reason: string } | undefined;

  constructor(options: ConsoleOptions = {}) {
    this.#backend = consoleLog(options);
  }

  onTrainBegin(ctx: ContextOf<"trainBegin">): void {
    const resumedAt = ctx.step > 0 ? ctx.step : undefined;
    void this.#backend.open({ ...FACTS, resumedAt, totalSteps: ctx.totalSteps });
  }

  onLog({ step, epoch, elapsed, logged }: ContextOf<"log">): void {
    this.#backend.log({ step, epoch, elapsed, time: 0, scalars: { ...logged }, media: {} });
  }

  onTrainEnd({ status, reason }: ContextOf<"trainEnd">): void {
    this.#end = { status: status as "completed", reason };
  }

  onClose({ step, elapsed, metrics }: ContextOf<"close">): void {
    if (this.#end) void this.#backend.close({ ...this.#end, step, time: 0, elapsed, metrics });
    this.#end = undefined;
  }
}

const FACTS = { dir: undefined, name: "digits", id: "1", startedAt: 0, hparams: {}, about: {} };
