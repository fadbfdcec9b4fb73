// A directory of runs for tests of the pages: three real trainings, one that failed, one without a log, one with names
// that try to be code.
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gradientMonitor, image, logger, modelCheckpoint, text, type Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { linear, relu, sequential } from "hookline/nn";
import { adam } from "hookline/optim";
import { tinyData, tinyTrainer } from "hookline/testing";
import { writeInfo, writeLossLog } from "../support/dashboard-runs.ts";
import { exampleStudy } from "../support/example-study.ts";

export const HOSTILE = `</script><img src=x onerror=alert(1)>`;
const STEPS = 240;
const STEPS_OF_EPOCH = 16;
/** Each step logs its loss, and so does each epoch. */
export const POINTS: number = STEPS + STEPS / STEPS_OF_EPOCH;

/** Changes the learning rate once, and shows something now and then. */
const tamer: Hook = {
  name: "tamer",
  onStepEnd(ctx) {
    if (ctx.step === 120) ctx.setLr(0.001, "plateau since 90");
    if (ctx.step % 80 !== 0) return;
    ctx.log({
      note: text(`at ${ctx.step}: ${HOSTILE}`),
      pixels: image({ data: Float32Array.of(0, 0.5, 1, 0.2), shape: [2, 2] }),
    });
  },
};

async function train(runDir: string, lr: number): Promise<void> {
  await using trainer = tinyTrainer({
    model: sequential(linear(3, 8), relu(), linear(8, 1)),
    optimizer: adam({ lr }),
    samples: 64,
    epochs: STEPS / STEPS_OF_EPOCH,
    eval: new DataLoader(tinyData(32, 2), { batchSize: 32 }),
    logEvery: 1,
    runDir,
    hooks: [
      logger("jsonl", { hparams: { lr, width: 8 } }),
      modelCheckpoint({ every: 60, saveTopK: -1 }),
      gradientMonitor({ every: 10 }),
      tamer,
    ],
  });
  await trainer.fit();
}

/** A run named `one`, with a log of ten records. */
export function seedOne(root: string): void {
  writeInfo(join(root, "one"), "one", 10);
  writeLossLog(join(root, "one/metrics.jsonl"), 10, 1);
}

/** Takes about a second of computing. */
export async function seedRuns(root: string): Promise<void> {
  for (const [i, lr] of [0.003, 0.01, 0.03].entries()) await train(join(root, `lines/lr-${i}`), lr);
  await exampleStudy({ trials: 24, dir: join(root, "digits") });
  const source = join(root, "lines/lr-0");
  const info = JSON.parse(readFileSync(join(source, "run.json"), "utf8")) as Record<string, unknown>;
  const leave = (name: string, changes: object, metrics: string): void => {
    mkdirSync(join(root, name), { recursive: true });
    writeFileSync(join(root, name, "run.json"), JSON.stringify({ ...info, id: name, name, ...changes }));
    writeFileSync(join(root, name, "metrics.jsonl"), metrics);
  };
  const log = readFileSync(join(source, "metrics.jsonl"), "utf8").split("\n");
  leave(
    "failed",
    { status: "error", reason: "hook `tamer` threw in stepEnd: out of luck", hparams: {} },
    log.slice(0, 30).join("\n") + "\n",
  );
  appendFileSync(
    join(root, "failed/metrics.jsonl"),
    'not a record\n{"step":40,"epoch":0,"time":1,"elapsed":1,"loss":"NaN"}\n',
  );
  const hostile = log
    .slice(0, 10)
    .join("\n")
    .replaceAll('"loss"', JSON.stringify(`a/${HOSTILE}`));
  leave("hostile", { reason: HOSTILE, hparams: { [HOSTILE]: HOSTILE } }, hostile + "\n");
  leave("silent", { hparams: {} }, "");
  rmSync(join(root, "silent/metrics.jsonl"));
}
