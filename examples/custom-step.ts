// An optimizer step of your own, and a look at the gradients on their way to it: `npx tsx examples/custom-step.ts` takes
// a few seconds. A network learns which of two spirals a point is on, first by sign descent, then with Adam.
import { Trainer, type Hook, type UpdateFn } from "hookline";
import { DataLoader, Rng } from "hookline/data";
import { numpy as np } from "hookline/jax";
import { accuracy, crossEntropy, linear, sequential, tanh } from "hookline/nn";
import { adam } from "hookline/optim";

const quick = process.argv.includes("--quick"); // the tests run it so: fewer epochs
const epochs = quick ? 20 : 60;
const points = 1000;

// Two arms that wind around each other, about one turn.
const rng = new Rng(0);
const x = new Float32Array(2 * points);
const y = new Int32Array(points);
for (let i = 0; i < points; i++) {
  const arm = i % 2;
  const radius = 0.1 + 0.9 * rng.next();
  const angle = 6 * radius + Math.PI * arm;
  x.set([radius * Math.cos(angle) + 0.02 * rng.normal(), radius * Math.sin(angle) + 0.02 * rng.normal()], 2 * i);
  y[i] = arm;
}

/**
 * Sign descent: every number moves by the learning rate, whatever the size of its gradient. A pure function of jax-js
 * arrays, from parameters and gradients to new parameters. It is compiled into the step, which stays one program; so
 * what changes from step to step, the rate, comes as an array.
 */
const signStep: UpdateFn = (params, grads, { lr }) =>
  Object.fromEntries(Object.entries(params).map(([name, p]) => [name, p.sub(np.sign(grads[name]!).mul(lr.ref))]));

/** Takes the step away from the optimizer, and gives it back once the coarse work is done. */
function signFirst(until: number): Hook {
  let own = true;
  return {
    name: "signFirst",
    onTrainBegin(ctx) {
      if (own) ctx.setUpdate(signStep, "coarse work");
    },
    onEpochEnd(ctx) {
      const loss = ctx.metrics["train/loss"]!;
      if (!own || loss > until) return;
      own = false;
      ctx.setUpdate(null, `train/loss is ${loss.toFixed(3)}`); // Adam's own state starts here: it has rested
    },
  };
}
// At a fixed point of the run no hook has to be written: customStep({ update: signStep, until: "50%" }).

/** Shows the gradients, layer by layer. The arrays stay on the engine: only the numbers asked for come back. */
const watch: Hook = {
  name: "watch",
  every: quick ? 100 : 200, // in the steps between nobody looks, and forward, backward and update are one program
  async onBeforeOptimizerStep(ctx) {
    console.log(`step ${ctx.step}, loss ${ctx.loss.toFixed(4)}`);
    const stats = await ctx.grads.stats({ percentiles: [5, 95], filter: "*.weight" });
    for (const [name, { norm, percentiles }] of Object.entries(stats)) {
      const [low, high] = percentiles!.map((value) => value.toFixed(5));
      console.log(`  gradient of ${name}: norm ${norm.toFixed(4)}, nine in ten from ${low} to ${high}`);
    }
  },
};

const trainer = new Trainer({
  model: sequential(linear(2, 32), tanh(), linear(32, 32), tanh(), linear(32, 2)),
  loss: crossEntropy(),
  metrics: { accuracy: accuracy() },
  optimizer: adam({ lr: 3e-3 }), // sign descent takes its rate, and a schedule's, too
  train: new DataLoader({ x: { data: x, shape: [points, 2] }, y }, { batchSize: 50, shuffle: true }),
  epochs,
  hooks: [signFirst(0.2), watch],
});
console.log(trainer.explainPlan()); // of the first step; trainer.hooks.explain() says who listens where
const result = await trainer.fit();
for (const { who, event, step, what, why } of result.interventions)
  console.log(`${who}, ${event} of step ${step}: ${what}, because: ${why}`);
console.log(`accuracy: ${(100 * result.metrics["train/accuracy"]!).toFixed(1)} %`);
await trainer.close();
