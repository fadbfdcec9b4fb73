// A study over Redis in a directory, to be killed: run with { dir, redis, name }; says when the trial has come some way.
import { bullmq } from "../../src/tune/runners/bullmq.ts";
import { random } from "../../src/tune/samplers/random.ts";
import { uniform } from "../../src/tune/space/parameters.ts";
import { Study } from "../../src/tune/study.ts";
import { trialNamed } from "../support/plain-study.ts";

const { dir, redis, name } = JSON.parse(process.argv[2]!) as { dir: string; redis: string; name: string };
const space = { x: uniform(0, 1) };
await new Study({
  name,
  dir,
  space,
  sampler: random(space),
  objective: "loss",
  trials: 1,
  trial: trialNamed("slow"),
  runner: bullmq({ redis, lock: 5 }),
  hooks: [
    {
      name: "notes",
      onTrialResult: ({ trialStep }) => void (trialStep === 5 && console.log(JSON.stringify({ note: "reported" }))),
    },
  ],
}).run();
