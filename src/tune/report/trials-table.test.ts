import { expect, it } from "vitest";
import { trialInfo } from "../../../tests/support/trials.ts";
import { Space } from "../space/space.ts";
import { uniform } from "../space/uniform.ts";
import { columnsOf } from "./columns.ts";
import { factsOf } from "./facts.ts";
import { trialsTable } from "./trials-table.ts";

it("has a row for each trial, which the charts' marks can be joined with", () => {
  const trials = [
    trialInfo(0, { params: { x: 0.5 }, result: { loss: 1 } }),
    trialInfo(1, { params: { x: 0.25 }, status: "failed", reason: "a <b> & c" }),
  ];
  const space = new Space({ x: uniform(0, 1) });
  const facts = factsOf({ name: "s", space, objectives: [{ metric: "loss", mode: "min" }], trials });
  const table = trialsTable(facts, columnsOf(facts), facts.all).text;
  expect([...table.matchAll(/<tr class="mark (\w+)" data-trial="(\d)"/g)].map(([, ...found]) => found)).toEqual([
    ["completed", "0"],
    ["failed", "1"],
  ]);
  expect(table).toContain('<div title="a &lt;b&gt; &amp; c">a &lt;b&gt; &amp; c</div>');
  expect(table).toContain('<th scope="col" class="number"><button>loss</button></th>');
});
