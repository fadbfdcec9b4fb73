// A rank of the tests of training: plays the scenes of its argument, and notes what it saw of each. A second argument has
// the scenes of the other ranks where they differ from the main one's.
import { createHash } from "node:crypto";
import { Trainer, type Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { adamw } from "hookline/optim";
import { recordTrace } from "hookline/testing";
import { outline } from "../support/outline.ts";
import { note } from "./notes.ts";
import type { Scene, Seen } from "./scene.ts";
import { HOOKS } from "./train-hooks.ts";
import { problemOf } from "./train-models.ts";

async function play(scene: Scene): Promise<Seen> {
  const {
    model = "mlp",
    samples = 96,
    batchSize = 12,
    engine = "wasm",
    hooks = [],
    resume,
    lr = 0.01,
    traced = false,
    ...rest
  } = scene;
  const { data, ...problem } = problemOf(model, samples);
  const losses: (number | null)[] = [];
  const lrs: number[] = [];
  const skipped: number[] = [];
  let checkpoints: readonly string[] = [];
  let samplesSeen = 0;
  const trace = recordTrace();
  const watch: Hook = {
    name: "watch",
    onStepEnd(ctx) {
      losses.push(Number.isNaN(ctx.loss) ? null : ctx.loss);
      lrs.push(ctx.lr);
      if (ctx.skipped) skipped.push(ctx.step);
      note("step", { step: ctx.step });
    },
    onTrainEnd(ctx) {
      checkpoints = ctx.checkpoints.list().map(({ name }) => name);
      ({ samplesSeen } = ctx);
    },
  };
  const { name, ...options } = rest;
  await using trainer = new Trainer({
    ...problem,
    optimizer: adamw({ lr }),
    train: new DataLoader(data, { batchSize, shuffle: true }),
    eval: new DataLoader(data, { batchSize: 20 }),
    logEvery: 1000,
    ...(options.epochs === undefined && { steps: 12 }),
    ...options,
    engine,
    save: "sync",
    hooks: [...hooks.map((hook) => HOOKS[hook]!()), watch, ...(traced ? [trace] : [])],
  });
  const { status, reason, requestedBy, steps, skippedSteps, metrics, interventions } = await trainer.fit({
    ...(resume !== undefined && { resume }),
  });
  const hash = createHash("sha256");
  for (const { data: numbers } of Object.values(await trainer.stateDict())) hash.update(numbers);
  return {
    scene: name,
    status,
    reason,
    requestedBy,
    steps,
    skippedSteps,
    metrics,
    interventions,
    losses,
    lrs,
    skipped,
    checkpoints,
    samplesSeen,
    digest: hash.digest("hex"),
    trace: outline(trace.entries),
    plan: trainer.explainPlan(),
  };
}

note("start");
const [main, others] = process.argv.slice(2, -1);
const scenes = Number(process.env.OMPI_COMM_WORLD_RANK ?? 0) === 0 ? main : (others ?? main);
for (const scene of JSON.parse(scenes!) as Scene[]) note("seen", { ...(await play(scene)) });
