// An experiment in a process of its own, for experiment-signals.test.ts: told by JSON where to take its time.
// Each line it prints is a note; the reader sends a signal when it likes.
import { Experiment } from "../../src/experiment/index.ts";
import { linear, mse } from "../../src/nn/index.ts";
import { sgd } from "../../src/optim/index.ts";
import { tinyData } from "../../src/testing/index.ts";

export interface ExperimentChildOptions {
  /** What lasts: reading (with a timer that never ends, or without a pause), or the first model's last event. */
  readonly slow: "reading" | "busy reading" | "between models" | "training";
}

export interface ExperimentNote {
  readonly note: "begun" | "result";
  readonly status?: string;
  readonly reason?: string;
  readonly models?: readonly string[];
}

const { slow } = JSON.parse(process.argv[2]!) as ExperimentChildOptions;
const tell = (note: ExperimentNote): void => void process.stdout.write(`${JSON.stringify(note)}\n`);

/** Nothing else gets a turn meanwhile. */
function busy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

const experiment = new Experiment({
  async data() {
    if (slow === "reading" || slow === "busy reading") tell({ note: "begun" });
    if (slow === "reading") await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
    if (slow === "busy reading") busy(1000);
    return tinyData(64);
  },
  model: linear(3, 1),
  loss: mse(),
  optimizer: sgd({ lr: 0.01 }),
  engine: "wasm",
  models: { first: { epochs: 1 }, second: { epochs: slow === "training" ? 1_000_000 : 1 } },
  hooks: [
    {
      name: "slow",
      onEvaluationComplete() {
        if (slow !== "between models") return;
        tell({ note: "begun" });
        busy(1000);
      },
      onStepEnd: (ctx) => (slow === "training" && ctx.step === 100 ? tell({ note: "begun" }) : undefined),
    },
  ],
});
// Until the signal comes nothing else may keep the process alive, nor let it go.
const alive = setInterval(() => undefined, 1000);
const { status, reason, models } = await experiment.run();
clearInterval(alive);
tell({ note: "result", status, reason, models: Object.keys(models) });
