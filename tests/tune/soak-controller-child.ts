// The controller of a study over Redis that is killed, stopped and started again: run with { dir, redis, name, trials }.
import { bullmq } from "../../src/tune/runners/bullmq.ts";
import { random } from "../../src/tune/samplers/random.ts";
import { uniform } from "../../src/tune/space/parameters.ts";
import { Study } from "../../src/tune/study.ts";
import { trialNamed } from "../support/plain-study.ts";
import { SOAK_LOCK, type SoakController } from "./study-schedule.ts";

const { dir, redis, name, trials } = JSON.parse(process.argv[2]!) as SoakController;
const space = { x: uniform(0, 1) };
const { status } = await new Study({
  name,
  dir,
  space,
  sampler: random(space),
  objective: "loss",
  trials,
  concurrency: 4,
  retries: 0,
  trial: trialNamed("noted"),
  runner: bullmq({ redis, lock: SOAK_LOCK }),
  warn: () => undefined,
}).run();
console.log(JSON.stringify({ note: "ended", status }));
