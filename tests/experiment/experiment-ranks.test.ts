// Hooks in the events of an experiment that several processes run together: those for the main one listen there only.
import type { Hook } from "hookline";
import { expect, test } from "vitest";
import { localRanks, onAll } from "../support/local-ranks.ts";
import { tinyExperiment } from "../support/tiny-experiment.ts";

const EVENTS = ["dataRead", "datasetCreated", "trainingComplete", "evaluationComplete"] as const;

/** Listens to all that is not of the loop, and says where it heard it. */
const listener = (name: string, settings: Partial<Hook>, rank: number, heard: string[]): Hook => ({
  name,
  ...settings,
  onDataRead: () => void heard.push(`${name} ${rank} dataRead`),
  onDatasetCreated: () => void heard.push(`${name} ${rank} datasetCreated`),
  onTrainingComplete: () => void heard.push(`${name} ${rank} trainingComplete`),
  onEvaluationComplete: () => void heard.push(`${name} ${rank} evaluationComplete`),
});

test('a hook with `ranks: "main"` hears them on the main one, any other on all', async () => {
  const heard: string[] = [];
  await onAll(2, (strategy) => {
    const { rank } = strategy;
    const hooks = [listener("main", { ranks: "main" }, rank, heard), listener("each", {}, rank, heard)];
    return tinyExperiment({ strategy, hooks }).run();
  });
  const expected = EVENTS.flatMap((event) => [`main 0 ${event}`, `each 0 ${event}`, `each 1 ${event}`]);
  expect(heard.toSorted()).toEqual(expected.toSorted());
});

test("its stop is everyone's", async () => {
  const stops: Hook = { name: "stops", ranks: "main", onTrainingComplete: (ctx) => ctx.stop("enough") };
  const results = await onAll(2, (strategy) => tinyExperiment({ strategy, hooks: [stops] }).run());
  for (const { status, reason, requestedBy } of results)
    expect([status, reason, requestedBy]).toEqual(["stopped", "enough", "stops"]);
});

test("data that only the main one would have is an error; alone it is taken", async () => {
  const halves: Hook = {
    name: "halves",
    ranks: "main",
    onDataRead: ({ data }) => ({ ...(data as object) }),
  };
  const [main, other] = localRanks(2);
  // It waits for the main one, as a process would that is about to be ended.
  void tinyExperiment({ strategy: other!, hooks: [halves] }).run();
  await expect(tinyExperiment({ strategy: main!, hooks: [halves] }).run()).rejects.toThrow(
    'Hook `halves` failed in `dataRead`: OptionError: it returned new data, but it runs on the main process only (`ranks: "main"`): the others would train on other data. Leave out `ranks`.',
  );
  await expect(tinyExperiment({ hooks: [halves] }).run()).resolves.toMatchObject({ status: "completed" });
});
