import { expect, it } from "vitest";
import { trialInfo } from "../../../tests/support/trials.ts";
import { Space } from "../space/space.ts";
import { uniform } from "../space/uniform.ts";
import { factsOf } from "./facts.ts";
import { frontChart } from "./front-chart.ts";

it("rings the trials that no other beats", () => {
  const objectives = [
    { metric: "loss", mode: "min" },
    { metric: "speed", mode: "max" },
  ] as const;
  const results = [
    { loss: 1, speed: 1 },
    { loss: 2, speed: 5 },
    { loss: 3, speed: 4 },
    { loss: Number.NaN, speed: 9 },
  ];
  const trials = results.map((result, number) => trialInfo(number, { params: { x: 0.5 }, result }));
  const facts = factsOf({ name: "s", space: new Space({ x: uniform(0, 1) }), objectives, trials });
  const chart = frontChart(facts, objectives[0], objectives[1]).text;
  expect(chart.match(/class="mark/g)).toHaveLength(3);
  const ringed = [...chart.matchAll(/class="ring"[^>]*\/><circle class="mark completed" data-trial="(\d)"/g)];
  expect(new Set(ringed.map(([, trial]) => Number(trial)))).toEqual(new Set([0, 1]));
});
