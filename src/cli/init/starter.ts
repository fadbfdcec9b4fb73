// The files of the project that `hookline init` writes.

interface Versions {
  /** Where npm finds hookline: a version, or the file that this copy came from. */
  readonly hookline: string;
  /** The version that hookline itself uses, so that nothing else is installed. */
  readonly jiti: string;
}

export const manifest = (name: string, { hookline, jiti }: Versions): string =>
  `${JSON.stringify(
    {
      name,
      private: true,
      type: "module",
      scripts: {
        train: "hookline train",
        test: "node --import jiti/register --test hooks/milestones.test.ts",
        check: "tsc",
      },
      dependencies: { hookline },
      devDependencies: { "@types/node": "^20.19.0", jiti, typescript: "^5.9.0 || ^7.0.0" },
    },
    undefined,
    2,
  )}\n`;

export const tsconfig = `{
  "compilerOptions": {
    "target": "es2023",
    "lib": ["es2023", "esnext.disposable", "dom"],
    "module": "nodenext",
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "allowImportingTsExtensions": true,
    "verbatimModuleSyntax": true,
    "skipLibCheck": true,
    "noEmit": true,
    "types": ["node"]
  },
  "include": ["**/*.ts"]
}
`;

export const gitignore = `node_modules/
runs/
`;

export const readme = (name: string): string => `# ${name}

A model that learns on which of three arms of a spiral a point lies. Made by \`hookline init\`.

\`\`\`sh
npm install
npx hookline train          # a few seconds; files go to runs/spirals
npx hookline runs           # the results of this run and all others
npx hookline runs --plot val/accuracy
npx hookline eval runs/spirals
npx hookline inspect runs/spirals
npm test                    # the test of the hook
\`\`\`

| file | what |
|---|---|
| \`hookline.yaml\` | the data, the model, how it is trained, and the hooks |
| \`data.ts\` | makes the data; read yours here |
| \`hooks/milestones.ts\` | a hook of your own, with its test beside it |

Run a program of your own that imports \`hookline\` and these files with

\`\`\`sh
node --import jiti/register program.ts # or \`node program.ts\`, from Node 22.18 on
\`\`\`

Ctrl-C stops a run cleanly; \`npx hookline resume runs/spirals\` resumes it, with the same numbers as without the interruption.

Try: \`npx hookline train --ui\`, which prints the link of a page that shows the run and steers it; \`npx hookline train --set optimizer.lr=0.001 --run-dir runs/slow\`, another layer in \`hookline.yaml\`, \`noise: 0.5\`.
`;

export const config = (schema: string): string => `# yaml-language-server: $schema=${schema}
# What \`npx hookline train\` trains. Every value can be changed for one run: --set optimizer.lr=0.001

name: spirals # its files go to runs/spirals

data: # your own function: file#export. The other keys are its options
  use: ./data.ts#spirals
  points: 1800
  noise: 0.25

split: { use: holdout, val: 0.2, test: 0.2 } # val selects the best checkpoint, test is used once, at the end
loader: { batchSize: 32, shuffle: true, evalBatchSize: 256 }

model:
  use: sequential
  layers:
    - { use: linear, in: 2, out: 64 }
    - relu # the same as { use: relu }
    - { use: linear, in: 64, out: 64 }
    - relu
    - { use: linear, in: 64, out: 3 }

loss: crossEntropy
metrics: [accuracy]
optimizer: { use: adam, lr: 0.01 }
schedule: { use: cosine, warmup: 5% }
epochs: 30
seed: 0

hooks: # \`npx hookline hooks\` lists hooks, \`npx hookline hooks --explain hookline.yaml\` shows their order
  - progressBar
  - { use: logger, backends: jsonl } # also: console, csv, tensorboard, wandb, mlflow
  - { use: modelCheckpoint, monitor: val/loss } # keeps the best, and the newest to resume from
  - { use: earlyStopping, monitor: val/loss, patience: 10 }
  - { use: ./hooks/milestones.ts#milestones, monitor: val/accuracy, at: [0.7, 0.9, 0.95] } # your own hook
`;

export const data = `// The data: points on three arms of a spiral; the label is the arm.
import { Rng } from "hookline/data";

export interface SpiralOptions {
  readonly points?: number;
  /** How far points stray from their arm. */
  readonly noise?: number;
  readonly seed?: number;
}

const ARMS = 3;

/** \`x\` goes into the model, \`y\` into the loss. Any typed arrays work, from any source. */
export function spirals({ points = 1800, noise = 0.25, seed = 0 }: SpiralOptions = {}) {
  const rng = new Rng(seed);
  const x = new Float32Array(2 * points);
  const y = new Int32Array(points);
  for (let i = 0; i < points; i++) {
    const arm = i % ARMS;
    const radius = Math.sqrt(rng.next());
    const angle = (2 * Math.PI * arm) / ARMS + 4 * radius + noise * rng.normal();
    x[2 * i] = radius * Math.cos(angle) + (noise / 4) * rng.normal();
    x[2 * i + 1] = radius * Math.sin(angle) + (noise / 4) * rng.normal();
    y[i] = arm;
  }
  return { x: { data: x, shape: [points, 2] }, y };
}
`;

export const hook = `// A hook of your own: it prints when a metric passes a mark, and logs how many it has passed.
import { OptionError, type Hook } from "hookline";

export interface MilestoneOptions {
  /** The metric to watch. */
  readonly monitor: string;
  /** The marks. */
  readonly at: readonly number[];
  readonly print?: (line: string) => void;
}

/** In hookline.yaml: { use: ./hooks/milestones.ts#milestones, monitor: val/accuracy, at: [0.9] } */
export function milestones({ monitor, at, print = console.log }: MilestoneOptions): Hook {
  if (typeof monitor !== "string") throw new OptionError("milestones: expected \`monitor\` to be the name of a metric.");
  if (!Array.isArray(at) || at.length === 0) throw new OptionError("milestones: expected \`at\` to be a list of numbers.");
  const marks = [...at].sort((a, b) => a - b);
  let passed = 0;
  return {
    name: "milestones",
    // A metric that does not exist is an error before the first step.
    monitors: [monitor],
    // Other hooks may watch this one.
    logs: ["milestones"],
    // In distributed training, only the main rank prints.
    ranks: "main",
    onEvalEnd(ctx) {
      const value = ctx.evalMetrics[monitor];
      if (value === undefined) return;
      for (; passed < marks.length && value >= marks[passed]!; passed++)
        print(\`\${monitor} has passed \${marks[passed]} at step \${ctx.step}\`);
      ctx.log({ milestones: passed });
    },
    // Saved in every checkpoint, so that a resumed run does not print the same marks again.
    state: () => ({ json: { passed } }),
    load: ({ json }) => {
      passed = (json as { passed: number }).passed;
    },
  };
}
`;

export const hookTest = `// npm test
import assert from "node:assert/strict";
import test from "node:test";
import { savedState, testContext, tinyData, tinyTrainer } from "hookline/testing";
import { DataLoader } from "hookline/data";
import { milestones } from "./milestones.ts";

const watched = () => {
  const lines: string[] = [];
  return { lines, hook: milestones({ monitor: "val/accuracy", at: [0.9, 0.5], print: (line) => lines.push(line) }) };
};

const evaluated = (accuracy: number) => testContext("evalEnd", { step: 7, evalMetrics: { "val/accuracy": accuracy } });

test("each mark is announced once", () => {
  const { lines, hook } = watched();
  for (const accuracy of [0.3, 0.6, 0.4, 0.7]) hook.onEvalEnd!(evaluated(accuracy).ctx);
  assert.deepEqual(lines, ["val/accuracy has passed 0.5 at step 7"]);
  hook.onEvalEnd!(evaluated(0.95).ctx);
  assert.equal(lines.length, 2);
});

test("the number of passed marks is logged", () => {
  const { hook } = watched();
  const { ctx, calls } = evaluated(0.99);
  hook.onEvalEnd!(ctx);
  assert.deepEqual(calls, [{ event: "evalEnd", verb: "log", args: [{ milestones: 2 }] }]);
});

test("a resumed run does not announce a mark again", async () => {
  const before = watched();
  before.hook.onEvalEnd!(evaluated(0.6).ctx);
  const after = watched();
  await after.hook.load!(await savedState(before.hook), 1);
  after.hook.onEvalEnd!(evaluated(0.6).ctx);
  assert.deepEqual(after.lines, []);
});

test("in a real run", async () => {
  const lines: string[] = [];
  const hook = milestones({ monitor: "val/loss", at: [0], print: (line) => lines.push(line) });
  await tinyTrainer({ eval: new DataLoader(tinyData(16), { batchSize: 8 }), hooks: [hook] }).fit();
  assert.deepEqual(lines, ["val/loss has passed 0 at step 4"]);
});
`;
