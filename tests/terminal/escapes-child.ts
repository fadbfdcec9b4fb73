// Prints everything that a program can print of a run, with planted escapes wherever a name or a reason is the user's.
import { debug, earlyStopping, logger, progressBar, Trainer, type Hook, type Tensor } from "hookline";
import { DataLoader } from "hookline/data";
import { consoleLog } from "hookline/loggers";
import { linear, mse, sequential } from "hookline/nn";
import { sgd } from "hookline/optim";
import { tinyData } from "hookline/testing";
import { choice, Study, studyReport } from "hookline/tune";
import { PLANTED } from "./planted.ts";

const talks: Hook = {
  name: `talks${PLANTED}`,
  onStepEnd: (ctx) => {
    ctx.log({ [`logged/${PLANTED}`]: ctx.step });
    if (ctx.step === 3) ctx.stop(`enough ${PLANTED}`);
  },
};
const fails: Hook = {
  name: `fails${PLANTED}`,
  onError: "warn",
  onStepEnd() {
    throw new Error(`mistake ${PLANTED}`);
  },
};
const trainer = new Trainer({
  model: sequential({ [`layer${PLANTED}`]: linear(3, 1) }),
  loss: mse(),
  optimizer: sgd({ lr: 0.1 }),
  metrics: { [`metric${PLANTED}`]: { update: (y) => ({ sum: (y as Tensor).sum() }), compute: () => Number.NaN } },
  train: new DataLoader(tinyData(16), { batchSize: 4 }),
  eval: { [`eval${PLANTED}`]: new DataLoader(tinyData(8), { batchSize: 4 }) },
  evalEvery: 1,
  logEvery: 1,
  epochs: 2,
  engine: "wasm",
  hooks: [
    progressBar({ plainEvery: 0.001, metrics: ["*"] }),
    logger([consoleLog()], { run: `run${PLANTED}` }),
    earlyStopping({ monitor: `eval${PLANTED}/loss`, patience: 100, verbose: true }),
    debug({ every: 1 }),
    talks,
    fails,
  ],
});
console.log(trainer.summary());
console.log(trainer.explainPlan());
console.log(trainer.hooks.explain());
await trainer.fit();
await trainer.evaluate(new DataLoader(tinyData(8), { batchSize: 4 }), { name: `alone${PLANTED}` });
await trainer.close();

const objective = `objective${PLANTED}`;
const study = new Study({
  name: `study${PLANTED}`,
  space: { [`space${PLANTED}`]: choice([`option${PLANTED}`]) },
  objective: { metric: objective, mode: "min" },
  trials: 2,
  retries: 0,
  trial: async (trial) => {
    if (trial.number === 1) throw new Error(`failure ${PLANTED}`);
    await trial.report({ [objective]: 1 }, 1);
  },
});
await study.run();
console.log(study.table());
const { markdown, html } = studyReport(study);
console.log(markdown, html);
