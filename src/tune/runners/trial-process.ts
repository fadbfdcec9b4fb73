// The process of a trial: runs the attempts that it is given, one at a time, and exits with the study's process.
import { ModuleHooks } from "../module-hooks.ts";
import { errorOf } from "../study-errors.ts";
import { runAttempt, type TrialFunction } from "../trial.ts";
import { loadTrial } from "./load-trial.ts";
import type { FromTrial, ToTrial, TrialHost, Verdict } from "./runner.ts";

const answers = new Map<number, (verdict: Verdict) => void>();
let questions = 0;
let abort = new AbortController();
let fn: TrialFunction<never> | undefined;

/** Errors are ignored: if the message cannot be sent, the study's process is gone. */
const send = (message: FromTrial): void => void process.send?.(message, undefined, undefined, () => undefined);

const ask = (message: (id: number) => FromTrial): Promise<Verdict> =>
  new Promise((resolve) => {
    const id = questions++;
    answers.set(id, resolve);
    send(message(id));
  });

const hostOf = (made: ModuleHooks): TrialHost => ({
  signal: abort.signal,
  report: (step, values, stash) => ask((id) => ({ kind: "report", id, step, values, stash: made.pack(stash) })),
  checkpoint: async (path, stash) =>
    void (await ask((id) => ({ kind: "checkpoint", id, path, stash: made.pack(stash) }))),
  paused: (isPaused) => send({ kind: "paused", isPaused }),
});

async function run({ trial, directory, job }: Extract<ToTrial, { kind: "run" }>): Promise<void> {
  abort = new AbortController();
  try {
    // A process only ever runs the trials of one study, so the function is loaded once.
    fn ??= await loadTrial(trial, directory);
    const made = await ModuleHooks.make(job.hooks ?? [], directory);
    const outcome = await runAttempt(fn, job, hostOf(made), made.hooks);
    send({ kind: "returned", outcome: { ...outcome, stash: made.pack(outcome.stash) } });
  } catch (error) {
    send({ kind: "failed", error: errorOf(error) });
  }
}

process.on("message", (message: ToTrial) => {
  if (message.kind === "run") void run(message);
  else if (message.kind === "interrupt") abort.abort(message.reason);
  else {
    answers.get(message.id)?.(message.verdict);
    answers.delete(message.id);
  }
});
process.on("disconnect", () => process.exit(0));
