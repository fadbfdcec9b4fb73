// The hook of the starter project, and its test.

export const hook = `// A hook of one's own: it says when a metric passes a mark, and logs how many it has passed.
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
    // Of several processes that train together, one speaks.
    ranks: "main",
    onEvalEnd(ctx) {
      const value = ctx.evalMetrics[monitor];
      if (value === undefined) return;
      for (; passed < marks.length && value >= marks[passed]!; passed++)
        print(\`\${monitor} has passed \${marks[passed]} at step \${ctx.step}\`);
      ctx.log({ milestones: passed });
    },
    // Saved in every checkpoint, so that a run that goes on does not say it all again.
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

test("what it has passed is logged", () => {
  const { hook } = watched();
  const { ctx, calls } = evaluated(0.99);
  hook.onEvalEnd!(ctx);
  assert.deepEqual(calls, [{ event: "evalEnd", verb: "log", args: [{ milestones: 2 }] }]);
});

test("a run that goes on does not announce a mark again", async () => {
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
