import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { exampleStudy } from "../../../tests/support/example-study.ts";
import { trialInfo } from "../../../tests/support/trials.ts";
import { random } from "../samplers/random.ts";
import { choice, uniform } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import { columnsOf, factsOf } from "./facts.ts";
import { SCRIPT, SCRIPT_HASH } from "./page-assets.ts";
import { trialsTable } from "./page.ts";
import { studyReport } from "./study-report.ts";

const sections = (page: string): readonly string[] =>
  [...page.matchAll(/<h2>([^<]*)<\/h2>/g)].map(([, title]) => title!);

describe("the report as a page", () => {
  it("has all parts of a study", async () => {
    const { html } = studyReport(await exampleStudy({ trials: 40 }));
    expect(sections(html)).toEqual([
      "Best parameters",
      "Best trials",
      "val/accuracy over trials",
      "Parameter importance",
      "Parameters and results",
      "Learning curves: val/accuracy",
      "Failures",
      "All trials",
    ]);
    expect(html.split("<script>")[0]).not.toMatch(/NaN|Infinity|undefined|\[object/);
  });

  it("loads nothing, and allows its own script and no other", async () => {
    const { html } = studyReport(await exampleStudy({ trials: 10, objectives: ["val/accuracy", "parameters"] }));
    expect(html).not.toMatch(/https?:|src=|@import|url\(/);
    expect(html.match(/<script>/g)).toHaveLength(1);
    expect(html).toContain(
      `default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; script-src &#39;${SCRIPT_HASH}&#39;`,
    );
    const hash = createHash("sha256").update(SCRIPT).digest("base64");
    expect(SCRIPT_HASH, "the script has changed: this is its hash now").toBe(`sha256-${hash}`);
  });

  it("takes names, parameters and messages as text", () => {
    const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(2)>`;
    const space = new Space({ [`k${hostile.replaceAll(".", "")}`]: choice([hostile, "b"]) });
    const params = { [`k${hostile}`]: hostile };
    const trials = [
      trialInfo(0, {
        params,
        result: { [hostile]: 1 },
        reports: [
          { step: 1, values: { [hostile]: 2 } },
          { step: 2, values: { [hostile]: 1 } },
        ],
      }),
      trialInfo(1, { params, status: "failed", reason: hostile }),
    ];
    const objectives = [{ metric: hostile, mode: "min" as const }];
    const { html } = studyReport({ name: hostile, space, objectives, trials, status: hostile, reason: hostile });
    expect(html).not.toMatch(/<img|<script>alert/);
    expect(html.match(/<script/g)).toHaveLength(1);
    // In attributes too: no quote of a value ends one.
    expect(html).not.toContain(`"'>`);
  });

  it("is a page also before anything has run, or when all has failed", () => {
    const space = new Space({ act: choice(["relu", "tanh"]) });
    const objectives = [{ metric: "loss", mode: "min" as const }];
    const empty = studyReport({ name: "empty", space, objectives, trials: [] }).html;
    expect(sections(empty)).toEqual(["All trials"]);
    const trials = [trialInfo(0, { params: { act: "relu" }, status: "failed", reason: "boom" })];
    expect(sections(studyReport({ name: "failed", space, objectives, trials }).html)).toEqual([
      "Failures",
      "All trials",
    ]);
  });

  it("is small enough with a thousand trials", () => {
    const space = new Space({ a: uniform(0, 1), b: uniform(0, 1), act: choice(["relu", "tanh"]) });
    const sampler = random(space);
    const objectives = [{ metric: "loss", mode: "min" as const }];
    const trials = Array.from({ length: 1000 }, (_, number) => {
      const params = sampler.suggest(number, [], { space, objectives });
      const reports = Array.from({ length: 500 }, (_, i) => ({ step: i + 1, values: { loss: number + 1 / (i + 1) } }));
      return trialInfo(number, { params, reports, result: reports.at(-1)!.values });
    });
    const { html } = studyReport({ name: "many", space, objectives, trials });
    expect(html.match(/<tr class="mark/g)).toHaveLength(1010);
    expect(html.length).toBeLessThan(1_000_000);
  });
});

describe("table of trials", () => {
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
});
