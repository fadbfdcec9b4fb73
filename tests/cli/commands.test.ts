// The commands as a user types them, each in a process of its own: what they print, what they leave, how they end.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import type { SavedResults } from "../../src/runs/results.ts";
import { readWeights } from "../../src/checkpoint/index.ts";
import { installHookline, type Ended, type Installed } from "./installed.ts";
import { CONFIG, tableProject, tinyProject } from "./tiny-project.ts";

let installed: Installed;
/** A project with one run, runs/tiny. */
let trained: string;
let training: Ended;

beforeAll(async () => {
  installed = await installHookline();
  trained = installed.project(tinyProject());
  training = await installed.hookline(trained, "train");
});
afterAll(() => installed.remove());

const hookline = (...args: readonly string[]): Promise<Ended> => installed.hookline(trained, ...args);
const resultsOf = (dir: string): SavedResults =>
  JSON.parse(readFileSync(join(dir, "results.json"), "utf8")) as SavedResults;

describe("usage", () => {
  test.each([
    [["trian"], "unknown command `trian`. Did you mean `train`? `npx hookline --help`"],
    [["train", "--sett", "a=1"], "unknown option `--sett`. Did you mean `--set`? `npx hookline train --help`"],
    [["train", "--epochs", "1.5"], "Expected a whole number ≥ 1."],
    [["eval", "nowhere"], "There is no directory nowhere."],
    [["eval", "runs"], "runs has no experiment.json"],
    [["eval", "runs/tiny", "--checkpoint", "step-12"], "runs/tiny has no checkpoint `step-12`."],
    [["inspect", "runs/tyni"], "error: runs/tyni: it does not exist."],
    [["inspect", "hookline.yml"], "Did you mean `hookline.yaml`?"],
    [["runs", "--sort", "sise"], "there is no `sise`"],
    [["train", "."], ". is a directory. Did you mean `hookline.yaml`?"],
    [
      ["train", "--set", "data={ use: csv, file: no.csv, columns: { x: float32 } }"],
      "data.file: There is no file no.csv",
    ],
    [["runs", "nowhere"], "There is no directory nowhere."],
    [["resume", "runs/tinny"], "There is no directory runs/tinny. Did you mean `runs/tiny`?"],
    [["train", "--run-dir", ""], "`--run-dir <dir>` argument `` is invalid. It is empty."],
    [["hooks", "--explain", "hookline.yaml", "--event", "stepDone"], "There is no event `stepDone`."],
  ])("%j ends with 2 and says why", async (args, message) => {
    const { code, stdout, stderr } = await hookline(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^error: .*\n$/);
  });

  test("without a command there is help, and 2", async () => {
    const { code, stderr } = await hookline();
    expect(code).toBe(2);
    expect(stderr).toContain("Usage: hookline <command> [options]");
  });

  test("help and the version end with 0", async () => {
    expect(await hookline("--help")).toMatchObject({ code: 0, stderr: "" });
    const { version } = JSON.parse(readFileSync(join(installed.package, "package.json"), "utf8")) as {
      version: string;
    };
    expect(await hookline("--version")).toMatchObject({ code: 0, stdout: `${version}\n` });
  });
});

describe("train", () => {
  test("says what came of it and where to look", () => {
    expect(training).toMatchObject({ code: 0, stderr: "" });
    expect(training.stdout).toMatch(/model {2}3 epochs +12 /);
    expect(training.stdout).toContain(
      "Its files are in runs/tiny.\nLook at it: npx hookline inspect runs/tiny, npx hookline runs, npx hookline ui\n",
    );
    expect(resultsOf(join(trained, "runs/tiny")).status).toBe("completed");
  });

  test("a typo in the config: 2, with its place, and nothing is made", async () => {
    const dir = installed.project(tinyProject(CONFIG.replace("lr:", "lrr:")));
    const before = readdirSync(dir);
    const { code, stdout, stderr } = await installed.hookline(dir, "train");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^error: hookline\.yaml:7:24: optimizer\.lrr: .*Did you mean `lr`\?/);
    expect(readdirSync(dir)).toEqual(before);
  });

  test.each([
    ["logger.backends=wandb", "wandb: there is no key"],
    ["logger.backends=mlflow", "mlflow: there is no server"],
    [
      "1={ use: s3Upload, endpoint: https://s3.example.com, accessKeyId: a, secretAccessKey: b }",
      "needs the package s3mini",
    ],
  ])("what a run needs and is not there, %s: 2, and nothing is read or made", async (set, message) => {
    for (const name of ["WANDB_API_KEY", "WANDB_MODE", "MLFLOW_TRACKING_URI"]) vi.stubEnv(name, "");
    onTestFinished(() => void vi.unstubAllEnvs());
    const dir = installed.project(tinyProject());
    const before = readdirSync(dir);
    const { code, stderr } = await installed.hookline(dir, "train", "--set", `hooks.${set}`);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
    expect(readdirSync(dir)).toEqual(before);
    expect((await installed.hookline(dir, "train", "--dry-run", "--set", `hooks.${set}`)).code).toBe(0);
  });

  test("no config, and two of them", async () => {
    const dir = installed.project();
    expect((await installed.hookline(dir, "train")).stderr).toContain("There is no config here");
    writeFileSync(join(dir, "hookline.yaml"), CONFIG);
    writeFileSync(join(dir, "hookline.toml"), "");
    expect((await installed.hookline(dir, "train")).stderr).toContain(
      "more than one config here: hookline.yaml, hookline.toml",
    );
  });

  test("--dry-run shows the plan, which the data fits, and makes nothing", async () => {
    const dir = installed.project(tinyProject());
    const { code, stdout } = await installed.hookline(dir, "train", "--dry-run", "--epochs", "7");
    expect(code).toBe(0);
    expect(stdout).toContain("It would write to runs/tiny.");
    expect(stdout).toContain("epochs: 7");
    expect(stdout).toContain("3 parameters in 2 tensors");
    expect(stdout).toContain("modelCheckpoint (checkpoint): ");
    expect(stdout).toContain("Nothing was trained or written.");
    expect(stdout).toContain("train: { x: [8, 2], y: [8, 1] }");
    expect(stdout).toContain("train/loss, val/loss");
    // The data itself says that it was read.
    expect(readdirSync(dir).sort()).toEqual(["data-was-read", "hookline.yaml", "package.json", "parts.mjs"]);
  });

  test("--dry-run finds what does not fit together: 2, and nothing is made", async () => {
    const dir = installed.project(tinyProject());
    for (const [set, message] of [
      ["model.in=5", "The step failed on a batch { x: [8, 2], y: [8, 1] } of loader `train`"],
      ["hooks.modelCheckpoint.monitor=val/los", "Did you mean `val/loss`?"],
    ] as const) {
      const { code, stderr } = await installed.hookline(dir, "train", "--dry-run", "--set", set);
      expect(stderr).toContain(message);
      expect(code).toBe(2);
    }
    expect(readdirSync(dir).sort()).toEqual(["data-was-read", "hookline.yaml", "package.json", "parts.mjs"]);
  });

  test("--json is one document, whatever hooks print", async () => {
    const dir = installed.project(tinyProject(`${CONFIG}  - ./parts.mjs#talkative\n`));
    const { code, stdout, stderr } = await installed.hookline(dir, "train", "--json", "--set", "name=other");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ name: "other", status: "completed", runDir: "runs/other" });
    expect(stderr.match(/an epoch has ended/g)).toHaveLength(3);
  });

  test("experiment.json says what was trained, and has no secret in it", async () => {
    const dir = installed.project(tinyProject(`${CONFIG}  - { use: ./parts.mjs#talkative, token: "\${MY_TOKEN}" }\n`));
    process.env.MY_TOKEN = "correct-horse-battery";
    const { code } = await installed.hookline(
      dir,
      "train",
      "--seed",
      "3",
      "--set",
      `hooks.talkative.key=${process.env.MY_TOKEN}`,
    );
    delete process.env.MY_TOKEN;
    expect(code).toBe(0);
    const record = readFileSync(join(dir, "runs/tiny/experiment.json"), "utf8");
    expect(record).not.toContain("horse");
    expect(JSON.parse(record)).toMatchObject({
      config: { file: "../../hookline.yaml", project: "../.." },
      overrides: ["hooks.talkative.key=${MY_TOKEN}", "seed=3"],
      raw: { seed: 3, data: "./parts.mjs#points", hooks: [{}, {}, { token: "${MY_TOKEN}", key: "${MY_TOKEN}" }] },
    });
  });

  test("a finished run is put aside; --run-dir is relative to where it is typed, a path in the config to its project", async () => {
    const dir = installed.project({ ...tinyProject(), "sub/empty": "" });
    const sub = join(dir, "sub");
    await installed.hookline(sub, "train", "../hookline.yaml", "--run-dir", "mine");
    const { code, stderr } = await installed.hookline(sub, "train", "../hookline.yaml", "--run-dir", "mine");
    expect(code).toBe(0);
    expect(stderr).toContain("mine.1");
    expect(readdirSync(sub)).toEqual(expect.arrayContaining(["mine", "mine.1"]));
    const third = await installed.hookline(sub, "train", "../hookline.yaml", "--epochs", "1");
    expect(third.stdout).toContain(`Its files are in ${join(dir, "runs/tiny")}.`);
  });

  test("a hook that fails: 1, which one, in which event; then the run is unfinished", async () => {
    const dir = installed.project(tinyProject(`${CONFIG}  - ./parts.mjs#broken\n`));
    const { code, stderr } = await installed.hookline(dir, "train");
    expect(code).toBe(1);
    expect(stderr).toBe("error: Hook `broken` failed in `stepEnd` at step 2: Error: out of luck\n");
    expect(resultsOf(join(dir, "runs/tiny")).status).toBe("error");
    expect((await installed.hookline(dir, "train")).stderr).toContain(
      "Error: out of luck. Continue it with the config it was started with:",
    );
  });

  test("a run that failed before its first step does not stand in the way of the next", async () => {
    const dir = installed.project(tinyProject());
    // More rows than outputs: the first step cannot be compiled.
    const failed = await installed.hookline(dir, "train", "--set", "model.out=2");
    expect(failed.code).not.toBe(0);
    expect(resultsOf(join(dir, "runs/tiny"))).toMatchObject({ status: "error", untrained: true });
    const { code, stderr } = await installed.hookline(dir, "train");
    expect(stderr).toContain("the last run in runs/tiny (error) had not done a step: this one takes its place\n");
    expect(code).toBe(0);
    expect(readdirSync(join(dir, "runs"))).toEqual(["tiny"]);
  });

  test("an error of the user's own code: 1, with its stack, and no directory", async () => {
    const dir = installed.project(tinyProject());
    const { code, stderr } = await installed.hookline(dir, "train", "--set", "data=./parts.mjs#unreadable");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: TypeError: the tape is torn\n {4}at .*parts\.mjs/);
    expect(stderr).toContain("hookline doctor");
    expect(existsSync(join(dir, "runs"))).toBe(false);
  });
});

describe("a run that is done", () => {
  test("eval finds what the training found, though the config says something else by now", async () => {
    const config = join(trained, "hookline.yaml");
    writeFileSync(config, CONFIG.replace("out: 1", "out: 2").replace("test: 0.25", "test: 0.5"));
    const { code, stdout } = await hookline("eval", "runs/tiny", "--json");
    writeFileSync(config, CONFIG);
    expect(code).toBe(0);
    const { results, checkpoint } = resultsOf(join(trained, "runs/tiny")).models["model"]!;
    expect(JSON.parse(stdout)).toEqual({ checkpoint: `runs/tiny/checkpoints/${checkpoint}`, on: "test", results });
  });

  test("eval and predict leave the run as it is", async () => {
    const log = join(trained, "runs/tiny/metrics.jsonl");
    const before = readFileSync(log, "utf8");
    expect((await hookline("eval", "runs/tiny", "--on", "val", "--checkpoint", "last")).stdout).toContain("val/loss");
    expect(readFileSync(log, "utf8")).toBe(before);
  });

  test("predict writes a row for each sample, and overwrites nothing", async () => {
    const lines = await hookline("predict", "runs/tiny");
    const rows = lines.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { sample: number; output: number });
    expect(rows.map(({ sample }) => sample)).toEqual(Array.from({ length: 16 }, (_, i) => i));
    expect((await hookline("predict", "runs/tiny", "--on", "train", "--out", "p.csv")).code).toBe(0);
    const csv = readFileSync(join(trained, "p.csv"), "utf8").trimEnd().split("\n");
    expect([csv[0], csv.length]).toEqual(["sample,output", 33]);
    expect((await hookline("predict", "runs/tiny", "--out", "p.safetensors")).code).toBe(0);
    const { output } = await readWeights(join(trained, "p.safetensors"));
    expect([...output!.data].map(Number)).toEqual(rows.map((row) => Math.fround(row.output)));
    const again = await hookline("predict", "runs/tiny", "--out", "p.csv");
    expect(again).toMatchObject({
      code: 2,
      stderr: "error: p.csv is there already. Choose another name, or use --overwrite.\n",
    });
  });

  test("inspect says how long the engine compiled, where it is known", async () => {
    const info = JSON.parse(readFileSync(join(trained, "runs/tiny/run.json"), "utf8")) as { about: object };
    const about = { ...info.about, engine: "native" };
    const dir = installed.project({ "run.json": JSON.stringify({ ...info, about, compileSeconds: 0.2567 }) });
    const { stdout } = await installed.hookline(dir, "inspect", ".");
    expect(stdout).toMatch(/ of training, on native, which compiled for 0\.26 s\n/);
  });

  test("inspect, and 1 when a checkpoint is damaged", async () => {
    const { code, stdout } = await hookline("inspect", "runs/tiny");
    expect(code).toBe(0);
    expect(stdout).toMatch(/runs\/tiny: run, completed \(3 epochs\), step 12 of 12, .* of training, on wasm\n/);
    expect(stdout).toContain("3 parameters");
    const { checkpoint } = resultsOf(join(trained, "runs/tiny")).models["model"]!;
    const copy = installed.project();
    for (const name of ["manifest.json", "model.safetensors", "optimizer.safetensors", "state.json"]) {
      const bytes = readFileSync(join(trained, "runs/tiny/checkpoints", checkpoint!, name));
      if (name === "model.safetensors") bytes[bytes.length - 1]! ^= 1;
      writeFileSync(join(copy, name), bytes);
    }
    const damaged = await installed.hookline(copy, "inspect", ".", "--json");
    expect(damaged.code).toBe(1);
    expect(JSON.parse(damaged.stdout)).toMatchObject({ valid: false });
  });

  test("export", async () => {
    const first = await hookline("export", "runs/tiny", "exported", "--format", "onnx");
    expect(first.stdout).toMatch(/^exported\/model\.json: [\d,]+ bytes\nexported\/model\.onnx: [\d,]+ bytes\n$/);
    expect(first.stderr).toMatch(/^from runs\/tiny, checkpoint \S+ \(best\)\n$/);
    const again = await hookline("export", "runs/tiny", "exported");
    expect(again).toMatchObject({ code: 2, stdout: "" });
    expect(again.stderr).toContain("has a model already. Choose another folder, or use overwrite: true (--overwrite).");
    const json = await hookline("export", "runs/tiny", "exported", "--overwrite", "--json");
    expect(Object.keys((JSON.parse(json.stdout) as { files: object }).files)).toEqual([
      "model.json",
      "weights.safetensors",
    ]);
    expect((await hookline("export", "runs/tiny", "no", "--checkpoint", "step-12")).stderr).toContain(
      "runs/tiny has no checkpoint `step-12`.",
    );
  });

  test("convert", async () => {
    expect((await hookline("convert", "runs/tiny", "tiny.pt")).stdout).toContain("tiny.pt: 2 tensors");
    expect(Object.keys(await readWeights(join(trained, "tiny.pt"))).sort()).toEqual(["bias", "weight"]);
    expect((await hookline("convert", "runs/tiny", "tiny.pt")).code).toBe(2);
  });

  test("runs: a table, JSON, a plot; a reader that has seen enough is no error", async () => {
    const { stdout } = await hookline("runs");
    expect(stdout).toMatch(
      /^run +status +steps +val\/loss +test\/loss +time +started\ntiny +completed +12 +0\.\d+ @\d+/,
    );
    const [summary] = JSON.parse((await hookline("runs", "--json")).stdout) as [{ step: number; best: object }];
    expect(summary).toMatchObject({ name: "tiny", status: "completed", step: 12, best: { "val/loss": { step: 12 } } });
    expect((await hookline("runs", "--plot", "val/loss")).stdout).toMatch(/^val\/loss\n +\S+ [┼┤]/);
    expect((await hookline("runs", "--plot", "val/los")).stderr).toContain("Did you mean `val/loss`?");
    const closed = installed.start(trained, "hooks");
    closed.stdout!.destroy();
    expect(await closed.ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("runs that keep no log are listed by what came of them", async () => {
    const dir = installed.project(
      tinyProject(CONFIG.replace(/hooks:[^]*/, "models: { one: {}, two: { epochs: 1 } }\n")),
    );
    await installed.hookline(dir, "train");
    const rows = JSON.parse((await installed.hookline(dir, "runs", "--json", "--sort", "name")).stdout) as object[];
    expect(rows).toMatchObject([
      { name: "tiny/one", status: "completed", step: 12 },
      { name: "tiny/two", status: "completed", step: 4, best: { "test/loss": { step: 4 } } },
    ]);
  });

  test("folds are a part of their run: listed when it is asked for", async () => {
    const split = "split: { use: kFold, folds: 2, val: 0.25, test: 0.25 }";
    const dir = installed.project(tinyProject(CONFIG.replace(/split: .*/, split)));
    expect((await installed.hookline(dir, "train")).stderr).toBe("");
    const names = async (...at: readonly string[]): Promise<string[]> => {
      const { stdout } = await installed.hookline(dir, "runs", ...at, "--json", "--sort", "name");
      return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
    };
    expect(await names()).toEqual(["tiny"]);
    expect(await names("runs/tiny")).toEqual(["fold-1", "fold-2", "tiny"]);
  });

  test("a directory with the files of another run is left alone: 2", async () => {
    const dir = installed.project(tinyProject());
    mkdirSync(join(dir, "runs/tiny"), { recursive: true });
    writeFileSync(join(dir, "runs/tiny/run.json"), "{}");
    const { code, stderr } = await installed.hookline(dir, "train");
    expect(stderr).toContain("runs/tiny already has files of another run");
    expect(code).toBe(2);
  });

  test("resume trains a complete run further, and ends as one that was that long from the start", async () => {
    const dir = installed.project(tinyProject());
    await installed.hookline(dir, "train", "--epochs", "2");
    const { code, stdout } = await installed.hookline(dir, "resume", "runs/tiny", "--epochs", "4", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      status: "completed",
      models: { model: { training: { steps: 16, epochs: 4, reason: "4 epochs" } } },
    });
    await installed.hookline(dir, "train", "--epochs", "4", "--run-dir", "runs/whole");
    const results = (run: string): unknown => resultsOf(join(dir, run)).models.model!.results;
    expect(results("runs/tiny")).toEqual(results("runs/whole"));
    // The evaluation at its former end is not kept beside that of the new one.
    const tests = readFileSync(join(dir, "runs/tiny/metrics.jsonl"), "utf8").match(/"test\/loss"/g);
    expect(tests).toHaveLength(1);
    const again = await installed.hookline(dir, "resume", "runs/tiny", "--set", "epochs=3");
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("is complete") as string });
  });

  test("after a first step that failed, a mended config is resumed or trained anew", async () => {
    const dir = installed.project(tinyProject());
    const broken = ["--set", "model.in=3"];
    expect((await installed.hookline(dir, "train", ...broken)).code).toBe(1);
    // Nothing was trained: there is no checkpoint that a mended model would not fit.
    const resumed = await installed.hookline(dir, "resume", "runs/tiny", "--set", "model.in=2", "--json");
    expect(JSON.parse(resumed.stdout)).toMatchObject({ status: "completed" });
    await installed.hookline(dir, "train", ...broken);
    const anew = await installed.hookline(dir, "train", "--json");
    expect(JSON.parse(anew.stdout)).toMatchObject({ status: "completed" });
  });

  test("a failed run without checkpoints is not said to be resumable", async () => {
    const dir = installed.project(tinyProject(CONFIG.replace(/.*modelCheckpoint.*/, "  - ./parts.mjs#broken")));
    expect((await installed.hookline(dir, "train")).code).toBe(1);
    const { code, stderr } = await installed.hookline(dir, "train");
    expect(code).toBe(2);
    expect(stderr).toContain("It left no checkpoint, so there is nothing to continue. Start a new run: `--fresh`");
    expect(stderr).not.toContain("hookline resume");
  });

  test("resume has nothing to do", async () => {
    const { code, stderr } = await hookline("resume", "runs/tiny");
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        "error: The run in runs/tiny is complete. `npx hookline resume runs/tiny --epochs 6` trains it further, to that many epochs in total. `npx hookline train` starts another.\n",
    });
  });
});

test("hooks lists events and hooks; --explain reads no data", async () => {
  const dir = installed.project(tinyProject());
  const { stdout } = await installed.hookline(dir, "hooks");
  expect(stdout).toMatch(/^stepEnd +onStepEnd +step +after the update$/m);
  expect(stdout).toMatch(/^dataRead +onDataRead +pipeline/m);
  expect(stdout).toMatch(/^earlyStopping +Ends the run when a metric stops improving, /m);
  const explained = await installed.hookline(dir, "hooks", "--explain", "hookline.yaml", "--event", "evalEnd");
  expect(explained.stdout).toBe("evalEnd\n  1. modelCheckpoint  [stage checkpoint]\n  2. logger  [stage logger]\n");
  expect(existsSync(join(dir, "data-was-read"))).toBe(false);
});

test("doctor tells what is here, and ends well where all that is needed is", async () => {
  const { code, stdout } = await hookline("doctor", "--json");
  const { ok, checks } = JSON.parse(stdout) as {
    ok: boolean;
    checks: { name: string; status: string; found: string }[];
  };
  expect([code, ok]).toEqual([0, true]);
  const of = (wanted: string) => checks.find(({ name }) => name === wanted);
  expect(of("engine wasm")).toMatchObject({ status: "ok" });
  const install = 'Engine "webgpu" needs the package webgpu. Install it: npm install webgpu@0.6';
  expect(of("engine webgpu")).toMatchObject({ needed: false, found: install });
  // Packages that are not there, with the version that hookline works with.
  for (const [name, range] of Object.entries(manifest.peerDependencies))
    expect(of(name)).toMatchObject({ needed: false, found: `optional; npm install "${name}@${range}"` });
  expect(readdirSync(trained).filter((name) => name.includes("doctor"))).toEqual([]);
  // Programs that engine "xla" compiled are shown, and removed on demand.
  process.env.HOOKLINE_CACHE = join(trained, "cache");
  mkdirSync(join(trained, "cache/xla"), { recursive: true });
  const program = join(trained, `cache/xla/${"a".repeat(64)}.program`);
  writeFileSync(program, "2 million".repeat(222_222));
  expect((await hookline("doctor")).stdout).toContain(`1 program, 2.0 MB in ${join(trained, "cache/xla")}`);
  const cleared = await hookline("doctor", "--clear-cache");
  delete process.env.HOOKLINE_CACHE;
  expect(cleared.stdout).toMatch(/^compile cache +ok +0 programs, 0.0 MB in/m);
  expect(existsSync(program)).toBe(false);
  // What need not be here is no fault, and does not sound like one.
  expect(cleared.stdout).toMatch(/^engine webgpu +not here +Engine "webgpu" needs the package/m);
});

test("init refuses a directory that is not empty", async () => {
  const { code, stderr } = await hookline("init", ".");
  expect(code).toBe(2);
  expect(stderr).toContain(". is not empty (");
});

describe("a table", () => {
  test("is preprocessed alike in a dry run, a training and an evaluation; a changed file is noticed", async () => {
    const dir = installed.project(tableProject());
    const plan = await installed.hookline(dir, "train", "--dry-run");
    expect(plan.stdout).toContain("  id: drop (every row has another text, as a name has)\n");
    expect(plan.stdout).toContain("  5 features: age, age=(missing), plan=basic, plan=pro, plan=team\n");
    const { code, stderr } = await installed.hookline(dir, "train");
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("preprocessing, 5 features:\n  id: drop"),
    });
    const evaluated = await installed.hookline(dir, "eval", "runs/churn", "--json");
    const { results } = JSON.parse(evaluated.stdout) as { results: object };
    expect(results).toEqual(resultsOf(join(dir, "runs/churn")).models.model!.results);
    expect(Object.keys(results).sort()).toEqual(
      ["accuracy", "f1", "f1/no", "f1/yes", "loss", "rocAuc"].map((name) => `test/${name}`),
    );
    const drawn = await installed.hookline(dir, "eval", "runs/churn");
    expect(drawn.stdout).toMatch(
      /\ntest\/confusionMatrix\n +predicted\nactual +no +yes\nno +\d+ +\d+\nyes +\d+ +\d+\n$/,
    );
    const file = join(dir, "customers.csv");
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(",basic,", ",free,"));
    for (const args of [
      ["resume", "runs/churn", "--set", "epochs=3"],
      ["eval", "runs/churn"],
    ]) {
      const refused = await installed.hookline(dir, ...args);
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain("its training data, or `preprocess`, has changed since");
    }
  });
});
