// The process of a trial: runs the attempts that it is given, one at a time, and ends with the study's process.
import { OptionError } from "../../core/errors.ts";
import { show } from "../../core/options.ts";
import { loadExport } from "../../experiment/config/modules.ts";
import { projectOf } from "../../experiment/config/project.ts";
import { runAttempt } from "../attempt.ts";
import { errorOf } from "../failure.ts";
import type { TrialFunction } from "../trial.ts";
import type { FromTrial, ToTrial } from "./messages.ts";
import type { TrialHost, Verdict } from "./runner.ts";

const answers = new Map<number, (verdict: Verdict) => void>();
let questions = 0;
let abort = new AbortController();

/** What cannot be sent any more has nobody left to hear it. */
const send = (message: FromTrial): void => void process.send?.(message, undefined, undefined, () => undefined);

const ask = (message: (id: number) => FromTrial): Promise<Verdict> =>
  new Promise((resolve) => {
    const id = questions++;
    answers.set(id, resolve);
    send(message(id));
  });

async function run({ trial, directory, job }: Extract<ToTrial, { kind: "run" }>): Promise<void> {
  abort = new AbortController();
  const host: TrialHost = {
    signal: abort.signal,
    report: (step, values, stash) => ask((id) => ({ kind: "report", id, step, values, stash })),
    checkpoint: async (path, stash) => void (await ask((id) => ({ kind: "checkpoint", id, path, stash }))),
  };
  try {
    const fn = await loadExport(trial, { directory, project: projectOf(directory) });
    if (typeof fn !== "function")
      throw new OptionError(`local: Expected \`trial\` (${trial}) to be a function, got ${show(fn)}`);
    const outcome = await runAttempt(fn as TrialFunction<never>, job, host);
    send({ kind: "returned", outcome });
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
