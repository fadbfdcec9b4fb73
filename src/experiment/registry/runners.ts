// The built-in runners of trials by name.
import { bullmq } from "../../tune/runners/bullmq.ts";
import { inProcess } from "../../tune/runners/in-process.ts";
import { local } from "../../tune/runners/local.ts";
import type { Components } from "./component.ts";

export const runners: Components = {
  bullmq: { make: bullmq, given: ["directory"] },
  inProcess: { make: inProcess },
  local: { make: local, given: ["directory"] },
};
