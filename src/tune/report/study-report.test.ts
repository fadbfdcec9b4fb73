import { describe, expect, it } from "vitest";
import { exampleStudy } from "../../../tests/support/example-study.ts";
import { trialInfo } from "../../../tests/support/trials.ts";
import { choice } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import { studyReport } from "./study-report.ts";

const headings = (markdown: string): readonly string[] => markdown.split("\n").filter((line) => line.startsWith("#"));

describe("the report in Markdown", () => {
  it("has all parts of a study", async () => {
    const study = await exampleStudy({ trials: 40 });
    const { markdown } = studyReport(study);
    expect(headings(markdown)).toEqual([
      "# digits",
      "## Best parameters",
      "## Best trials",
      "## Parameter importance",
      "## Failures",
    ]);
    const best = study.best!;
    expect(markdown).toContain(
      `**highest val/accuracy**: ${Number(best.result!["val/accuracy"]!.toPrecision(5))} in trial ${best.number}`,
    );
    expect(markdown).toContain(JSON.stringify(best.params, undefined, 2));
    expect(markdown).toMatch(/^lr {2,}█+░+ +\d+ %$/m);
    const rows = markdown.split("\n").filter((line) => /^\| \d/.test(line));
    expect(rows).toHaveLength(10);
    expect(rows[0]).toMatch(new RegExp(`^\\| ${best.number} \\|`));
  });

  it("has the front of several objectives", async () => {
    const study = await exampleStudy({ trials: 30, objectives: ["val/accuracy", "parameters"] });
    const [, front] = /## Pareto front\n\n([^]*?)\n\n/.exec(studyReport(study).markdown)!;
    expect(front!.split("\n")).toHaveLength(2 + study.front.length);
  });

  it("is a page also before anything has run", () => {
    const space = new Space({ act: choice(["relu", "tanh"]) });
    const { markdown } = studyReport({
      name: "empty",
      space,
      objectives: [{ metric: "loss", mode: "min" }],
      trials: [],
    });
    expect(headings(markdown)).toEqual(["# empty"]);
    expect(markdown).toContain("no trial has completed");
  });

  it.each(["markdown", "html"] as const)("says why a pruned trial with a better value stands below: %s", (form) => {
    const report = (loss: number): string =>
      studyReport({
        name: "pruned",
        space: new Space({ act: choice(["relu", "tanh"]) }),
        objectives: [{ metric: "loss", mode: "min" }],
        trials: [
          trialInfo(0, { params: { act: "relu" }, result: { loss: 2 } }),
          trialInfo(1, {
            params: { act: "tanh" },
            status: "pruned",
            reports: [{ step: 1, values: { loss } }],
            result: { loss },
          }),
        ],
      })[form];
    expect(report(1)).toContain("a value after fewer steps may look better, but does not compare");
    expect(report(3)).not.toContain("fewer steps");
  });

  it("keeps names and messages from being markup", () => {
    const act = "a|b [x](javascript:alert(1)) ```";
    const reason = `<img src=x onerror=alert(1)>\n\n# not a heading\n${"long ".repeat(200)}`;
    const space = new Space({ act: choice([act, "tanh"]) });
    const { markdown } = studyReport({
      name: "<script>alert(1)</script>\n# two",
      space,
      objectives: [{ metric: "loss", mode: "min" }],
      trials: [
        trialInfo(0, { params: { act }, result: { loss: 1 } }),
        trialInfo(1, { params: { act }, status: "failed", reason }),
      ],
    });
    expect(headings(markdown)).toEqual([
      "# \\<script\\>alert(1)\\</script\\> # two",
      "## Best parameters",
      "## Best trials",
      "## Failures",
    ]);
    expect(markdown).toContain("| a\\|b \\[x\\](javascript:alert(1)) \\`\\`\\` |");
    expect(markdown).toContain("````json\n");
    expect(markdown).not.toMatch(/(?<!\\)<(?:img|script)/);
    expect(markdown.split("\n").every((line) => line.length < 500)).toBe(true);
  });
});
