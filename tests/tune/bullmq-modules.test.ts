// What workers load by name, through a queue in Redis: hooks of a study by their module's export, and the experiment of a sweep.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bullmq, Study, type StudyOptions } from "hookline/tune";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { recordSweep } from "../../src/cli/tune/study-output.ts";
import type { SavedResults } from "../../src/runs/results.ts";
import type { Space } from "../../src/tune/space/space.ts";
import { buildSweep } from "../../src/tune/sweep/build-sweep.ts";
import { readSweep } from "../../src/tune/sweep/read-sweep.ts";
import { tinyProject, tinySweep } from "../cli/tiny-project.ts";
import { projectOf } from "../support/config-files.ts";
import { plainStudy, type PlainOptions, type PlainStudy } from "../support/plain-study.ts";
import { queueWorker } from "../support/queue-worker.ts";
import { redisIsHere, startRedis, WHERE_FROM, type RedisServer } from "../support/redis-server.ts";
import { tempDir } from "../support/temp-dir.ts";

const MODULE = "./tests/tune/hook-module.ts";
const OTHER_CODE =
  /other code than that of the study .*trial code ([0-9a-f]{12}), this worker .*trial code (?!\1)[0-9a-f]{12}/;

describe.skipIf(!redisIsHere)(redisIsHere ? "bullmq, modules" : `bullmq, modules: skipped, ${WHERE_FROM}`, () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(() => redis.stop());

  describe("hooks that are named by their module's export", () => {
    const studyOf = (name: string, options: PlainOptions): PlainStudy =>
      plainStudy(`${MODULE}#train`, {
        name,
        trials: 1,
        retries: 0,
        maxEqualFailures: 1,
        runner: bullmq({ redis: redis.url }),
        warn: () => undefined,
        ...options,
      });

    test("one is made for the trial in its process, with its options, and listens there", async () => {
      const dir = tempDir();
      queueWorker(redis.url, "fair");
      const { trials } = await studyOf("fair", { dir, hooks: [{ use: `${MODULE}#fair`, from: 100 }] }).run();
      expect(trials[0]).toMatchObject({ status: "completed", result: { seen: 100, hooks: 1 }, stash: {} });
      expect(readFileSync(`${dir}/trial-000/log.txt`, "utf8")).toContain("step 101\nstep 102\nstep 103\n");
    });

    test("a field that only one side has changed is named in a warning, on both sides", async () => {
      const warnings: string[] = [];
      for (const hook of ["Counts", "Wishes"]) {
        const name = hook.toLowerCase();
        queueWorker(redis.url, name);
        const warn = (message: string): void => void warnings.push(message);
        await studyOf(name, { hooks: [`${MODULE}#${hook}`], warn }).run();
      }
      expect(warnings).toEqual([
        expect.stringMatching(/^Hook `counts` changed `steps` in a trial's process\./),
        expect.stringMatching(/^Hook `wishes` changed `wish` in the study's process\./),
      ]);
    });

    test("a worker that has other code for a hook is refused", async () => {
      const files = {
        "package.json": "{}",
        "trial.mjs": "export const train = () => ({ loss: 1 });\n",
        "hooks.mjs": 'import { name } from "./name.mjs";\nexport const mine = () => ({ name, onTrialStart() {} });\n',
        "name.mjs": 'export const name = "mine";\n',
      };
      const directory = projectOf(files);
      const runner = bullmq({ redis: redis.url, directory });
      const options = { trial: "./trial.mjs#train", runner, hooks: ["./hooks.mjs#mine"] };
      const stop = new AbortController();
      const running = studyOf("other-hook", { ...options, warn: () => stop.abort() }).run({ signal: stop.signal });
      const other = projectOf({ ...files, "name.mjs": 'export const name = "yours";\n' });
      const { ended } = queueWorker(redis.url, "other-hook", { directory: other });
      await expect(ended).rejects.toThrow("(./trial.mjs#train, ./hooks.mjs#mine)");
      await expect(ended).rejects.toThrow(OTHER_CODE);
      // The study heard of it, or it would wait forever.
      expect(await running).toMatchObject({ status: "interrupted" });
    });
  });

  describe("the experiment of a sweep", () => {
    const LISTENS = `export const listens = () => ({
  name: "listens",
  onTrialStart() {},
  onEpochEnd: ({ epoch }) => console.log("epoch", epoch),
  onDatasetCreated: () => console.log("data"),
});
`;

    async function sweepIn(cwd: string, over: Partial<StudyOptions<Space>>): Promise<Study<Space>> {
      const dir = join(cwd, "runs/s");
      const doc = await readSweep("sweep.yaml", { cwd, set: [`dir=${dir}`], env: {} });
      const study = new Study({ ...(await buildSweep(doc)), signals: false, warn: () => undefined, ...over });
      await recordSweep(dir, doc, [], study.objectives);
      return study;
    }
    const project = (): string =>
      projectOf({
        ...tinyProject(),
        "sweep.yaml": `${tinySweep(`{ use: bullmq, redis: "${redis.url}" }`)}hooks: ./listens.mjs#listens\n`,
        "listens.mjs": LISTENS,
        "package.json": "{}",
      });

    test("each trial is the experiment with its parameters, with the hooks of the sweep", async () => {
      const cwd = project();
      queueWorker(redis.url, "tiny-sweep", { directory: cwd });
      const { trials } = await (await sweepIn(cwd, {})).run();
      expect(trials.map(({ status, attempts }) => [status, attempts])).toEqual([
        ["completed", 1],
        ["completed", 1],
      ]);
      for (const { number, params, result, reports } of trials) {
        const dir = join(cwd, `runs/s/trial-00${number}`);
        const { models } = JSON.parse(readFileSync(`${dir}/results.json`, "utf8")) as SavedResults;
        expect(models.model!.params).toMatchObject({ optimizer: { use: "sgd", ...(params.optimizer as object) } });
        expect(reports.map(({ step }) => step)).toEqual([4, 8, 12]);
        expect(result!["val/loss"]).toBe(reports[2]!.values["val/loss"]);
        expect(readFileSync(`${dir}/log.txt`, "utf8")).toContain("data\nepoch 0\nepoch 1\nepoch 2\n");
      }
    });

    test("a worker that has other code for a module of the config is refused", async () => {
      const cwd = project();
      const stop = new AbortController();
      const running = (await sweepIn(cwd, { warn: () => stop.abort() })).run({ signal: stop.signal });
      // Once there is a claim, the code of the study is known.
      await vi.waitFor(async () => expect(await redis.keys()).toContainEqual(expect.stringContaining("claim")), {
        timeout: 300_000,
      });
      const parts = readFileSync(join(cwd, "parts.mjs"), "utf8");
      writeFileSync(join(cwd, "parts.mjs"), parts.replace("Math.sin", "Math.cos"));
      await expect(queueWorker(redis.url, "tiny-sweep", { directory: cwd }).ended).rejects.toThrow(OTHER_CODE);
      expect(await running).toMatchObject({ status: "interrupted" });
    });
  });
});
