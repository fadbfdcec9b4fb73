// `hookline predict` and `hookline serve` as a user calls them: on a run with a preprocessor, with files and over HTTP.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { HooklineError } from "hookline";
import { loadPredictor } from "hookline/predict";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { run as predictCommand } from "../../src/cli/predict/predict.ts";
import { compiled } from "../support/programs.ts";
import { trainChurn, writeCustomers } from "./churn-run.ts";

const dir = realpathSync(mkdtempSync(join(tmpdir(), "hookline-churn-")));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const main = compiled(new URL("../../src/cli/main.ts", import.meta.url));
let runDir: string;
beforeAll(async () => void (runDir = await trainChurn(dir)));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const hookline = (...args: readonly string[]): Promise<Ended> =>
  promisify(execFile)(process.execPath, [main, ...args], { cwd: dir }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Ended) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
  );

const lines = (file: string): string[] => readFileSync(join(dir, file), "utf8").trimEnd().split("\n");

describe("predict", () => {
  test("a CSV file: its own columns stay as they are, labels and probabilities are added", async () => {
    const file = writeCustomers(dir);
    const { code, stderr } = await hookline("predict", "runs/churn", "new.csv", "--out", "predictions.csv");
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^predictions\.csv: 300 rows, of runs\/churn, checkpoint step-\d+ \(best\)\n$/),
    ]);
    const [header, ...rows] = lines("predictions.csv");
    expect(header).toBe("id,age,plan,active,since,churn,predicted_churn,probability_no,probability_yes");
    const given = readFileSync(file, "utf8").trimEnd().split("\n").slice(1);
    await using predict = await loadPredictor(runDir, { engine: "wasm" });
    let right = 0;
    for (const [i, row] of rows.entries()) {
      const [id, age, plan, active, since, churn, label, no, yes] = row.split(",");
      expect([id, age, plan, active, since, churn].join(",")).toBe(given[i]);
      expect(Number(no) + Number(yes)).toBeCloseTo(1, 5);
      expect(label).toBe(Number(yes) > Number(no) ? "yes" : "no");
      if (label === churn) right++;
      if (i >= 20) continue;
      const alone = (await predict({
        age: age === "" ? null : Number(age),
        plan,
        active: active === "true",
        since,
      })) as {
        probabilities: { yes: number };
      };
      expect(alone.probabilities.yes).toBeCloseTo(Number(yes), 4);
    }
    expect(right / rows.length).toBeGreaterThan(0.85);
    expect(readdirSync(dir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test("JSON lines go to stdout, with values of any kind kept", async () => {
    writeFileSync(
      join(dir, "two.jsonl"),
      '{"age": 30, "plan": "basic", "active": true, "since": "2023-01-02", "tags": [1]}\n',
    );
    const { code, stdout } = await hookline("predict", "runs/churn", "two.jsonl");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ age: 30, tags: [1], predicted_churn: "yes" });
  });

  test("a Parquet and an Arrow file that pyarrow wrote: values of every type stay, and predictions are added", async () => {
    const byAge = await trainChurn(dir, "by-age", { age: ["impute", "standardise"] });
    await using predict = await loadPredictor(byAge, { engine: "wasm" });
    const ages = [31.5, null, null, -1, 0];
    const expected = (await predict(ages.map((age) => ({ age })))) as {
      churn: string;
      probabilities: { yes: number };
    }[];
    for (const file of ["people.parquet", "people.arrow"]) {
      const path = join(import.meta.dirname, "../tables/files", file);
      for (const out of [`${file}.csv`, `${file}.jsonl`]) {
        await predictCommand(byAge, path, { checkpoint: "best", out: join(dir, out) });
      }
      const rows = lines(`${file}.jsonl`).map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(rows).toMatchObject([
        { id: 1, age: 31.5, plan: "basic", tier: "gold", active: true, at: "2024-01-31T12:00:00.500Z" },
        { id: 2, age: null, plan: null, tier: "silver", active: false, at: null },
        { id: 3, age: null, plan: "pro", tier: null, active: null, at: "1969-12-31T00:00:00.000Z" },
        { id: 4, age: -1, plan: "basic", tier: "gold", active: true, at: "2024-02-29T00:00:00.000Z" },
        { id: 5, age: 0, plan: "ä☃", tier: "gold", active: false, at: "2000-01-01T00:00:00.000Z" },
      ]);
      // A list of lists is in the file; no row of text could hold it.
      expect(Object.keys(rows[0]!)).not.toContain("nested");
      for (const [i, { churn, probabilities }] of expected.entries()) {
        expect(rows[i]!.predicted_churn).toBe(churn);
        expect(rows[i]!.probability_yes).toBeCloseTo(probabilities.yes, 4);
      }
      const [header, ...cells] = lines(`${file}.csv`);
      expect(header).toMatch(/^id,age,.*,predicted_churn,probability_no,probability_yes$/);
      expect(cells.map((line) => line.split(",").slice(0, 2).join())).toEqual(["1,31.5", "2,", "3,", "4,-1", "5,0"]);
    }
  });

  test.each<[string, string, string, RegExp]>([
    ["a missing column", "a.csv", "age,plan,active\n1,basic,true\n", /a\.csv has no column `since`/],
    [
      "a misspelled column",
      "b.csv",
      "age,plam,active,since\n1,basic,true,2023-01-01\n",
      /no column `plan`\. Did you mean `plam`\?/,
    ],
    [
      "a string for a number",
      "c.csv",
      "age,plan,active,since\n1,basic,true,2023-01-01\nold,basic,true,2023-01-01\n",
      /c\.csv:3: .*`age`/,
    ],
    ["a gap that nothing fills", "d.csv", "age,plan,active,since\n1,basic,true,\n", /d\.csv:2: `since` is missing/],
    ["an empty file", "e.csv", "", /e\.csv is empty/],
    ["a header alone", "f.csv", "age,plan,active,since\n", /f\.csv has no rows/],
    [
      "a cell too much",
      "g.csv",
      "age,plan,active,since\n1,basic,true,2023-01-01,9\n",
      /g\.csv:2: this row has 5 cells/,
    ],
    ["no file", "none.csv", "", /none\.csv: there is no such file/],
  ])("%s is an error that names its place, and no output is left", async (_name, file, text, message) => {
    if (file !== "none.csv") writeFileSync(join(dir, file), text);
    const out = join(dir, "bad.csv");
    const error = await predictCommand(runDir, join(dir, file), { checkpoint: "best", out }).catch(
      (each: unknown) => each,
    );
    expect(error).toBeInstanceOf(HooklineError);
    expect((error as Error).message).toMatch(message);
    expect(readdirSync(dir).filter((name) => name.startsWith("bad"))).toEqual([]);
  });

  test("an unknown category and infinity do as the preprocessor says, and both a file and --on are refused", async () => {
    writeFileSync(join(dir, "odd.csv"), "age,plan,active,since\n30,gold,true,2023-01-01\n");
    expect((await hookline("predict", "runs/churn", "odd.csv")).stdout).toContain('"predicted_churn":');
    writeFileSync(join(dir, "inf.csv"), "age,plan,active,since\ninf,gold,true,2023-01-01\n");
    const { code, stderr } = await hookline("predict", "runs/churn", "inf.csv");
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: .*inf\.csv:2: `age`.*\n$/)]);
    expect((await hookline("predict", "runs/churn", "odd.csv", "--on", "val")).stderr).toContain(
      "Give a file or --on val, not both.",
    );
  });
});

describe("serve", () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  async function serve(...args: readonly string[]): Promise<{ child: ChildProcess; url: string; said: () => string }> {
    const child = spawn(process.execPath, [main, "serve", "runs/churn", "--port", "0", ...args], { cwd: dir });
    children.push(child);
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += String(chunk)));
    while (!text.includes("curl") && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20));
    return { child, url: /http:\/\/[\d.:]+/.exec(text)?.[0] ?? text, said: () => text };
  }

  const row = { age: 30, plan: "basic", active: true, since: "2023-01-02" };
  const post = (url: string, body: unknown): Promise<Response> =>
    fetch(`${url}/predict`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  test("says where it listens, answers 200 requests at once as one by one, and ends cleanly", async () => {
    const { child, url, said } = await serve("--engine", "wasm", "--deadline", "20");
    expect(said()).toMatch(
      /^runs\/churn, checkpoint step-\d+ \(best\) on http:\/\/127\.0\.0\.1:\d+ \(engine wasm\)\n {2}curl /,
    );
    const { outputs, inputs } = (await (await fetch(url)).json()) as Record<string, unknown>;
    expect(inputs).toMatchObject({ age: { type: "number" }, plan: { type: "string" } });
    expect(outputs).toMatchObject({ churn: { type: "label", names: ["no", "yes"] } });
    await using predict = await loadPredictor(runDir, { engine: "wasm" });
    const rows = Array.from({ length: 200 }, (_, i) => ({
      ...row,
      age: 20 + (i % 50),
      plan: ["basic", "pro"][i % 2]!,
    }));
    const answers = await Promise.all(rows.map(async (each) => (await post(url, each)).json()));
    for (const [i, each] of rows.entries()) {
      const alone = (await predict(each)) as { churn: string; probabilities: { yes: number } };
      const answer = answers[i] as typeof alone;
      expect(answer.churn).toBe(alone.churn);
      expect(answer.probabilities.yes).toBeCloseTo(alone.probabilities.yes, 5);
    }
    const bad = await post(url, [row, { ...row, age: "thirty" }]);
    expect([bad.status, await bad.json()]).toEqual([
      400,
      { error: { message: 'Row 1, column `age`: expected a number, got `"thirty"` (string).', row: 1, column: "age" } },
    ]);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(said()).toContain("SIGTERM: answering what has arrived, then ending");
  });

  test("requests that have arrived are answered after SIGINT", async () => {
    const { child, url } = await serve("--engine", "wasm", "--deadline", "60000");
    const waiting = [post(url, row), post(url, [row, row])];
    const pending = async (): Promise<number> =>
      ((await (await fetch(`${url}/health`)).json()) as { pending: number }).pending;
    while ((await pending()) < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill("SIGINT");
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("a port in use and a path without a model are errors of one line", async () => {
    const { url } = await serve("--engine", "wasm");
    const { code, stderr } = await hookline("serve", "runs/churn", "--port", new URL(url).port);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^error: Port \d+ of 127\.0\.0\.1 is in use\. Choose another/),
    ]);
    expect((await hookline("serve", "runs/chrun")).stderr).toContain("Did you mean `churn`?");
  });
});
