// A run that logs to a service, in a process of its own, for loggers.test.ts. Goes on where its last checkpoint was.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { mlflow } from "../../src/loggers/mlflow/mlflow.ts";
import { wandb } from "../../src/loggers/wandb/wandb.ts";

export interface LoggersChild {
  readonly service: "wandb" | "mlflow";
  readonly url: string;
  readonly apiKey: string;
  readonly dir: string;
  readonly steps: number;
  readonly timeout: number;
  /** After its last step it waits to be killed. */
  readonly waits?: boolean;
}

const { service, url, apiKey, dir, steps, timeout, waits = false } = JSON.parse(process.argv[2]!) as LoggersChild;
const quick = { sendEvery: 10, backoff: 10, timeout };
const backend =
  service === "wandb" ? wandb({ baseUrl: url, apiKey, project: "p", ...quick }) : mlflow({ uri: url, ...quick });
const checkpoint = `${dir}/checkpoint`;
const resumedAt = existsSync(checkpoint) ? Number(readFileSync(checkpoint, "utf8")) : undefined;
const began = Date.now();
const elapsed = (): number => (Date.now() - began) / 1000;
await backend.open({
  dir,
  name: "digits",
  id: "run-1",
  resumedAt,
  startedAt: began,
  hparams: { lr: 0.1 },
  about: {},
  totalSteps: steps,
});
console.log("begun");
for (let step = (resumedAt ?? 0) + 1; step <= steps; step++) {
  backend.log({ step, epoch: 0, time: Date.now(), elapsed: elapsed(), scalars: { loss: 1 / step }, media: {} });
  if (step % 50 === 0) {
    await backend.flush?.();
    writeFileSync(`${checkpoint}.tmp`, String(step));
    renameSync(`${checkpoint}.tmp`, checkpoint);
  }
  if (step % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
}
// A timer keeps the process: a promise alone would not.
if (waits) await new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
console.log(`end ${Date.now()}`);
await backend.close({
  status: "completed",
  reason: "",
  step: steps,
  time: Date.now(),
  elapsed: elapsed(),
  metrics: {},
});
