// A training in a process of its own that takes commands. The command `tally` adds its number to a hook's state, which
// checkpoints keep, and may kill the process just before or just after that.
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { control, defineEvent, modelCheckpoint, type Hook } from "../../src/index.ts";
import { tinyTrainer } from "../../src/testing/index.ts";

export interface TallyArgs {
  readonly n: number;
  /** Between the journal's line and the verb, or between the verb and the end of the command's file. */
  readonly kill?: "before" | "after";
}

export interface ControlNote {
  readonly note: "saved" | "paused" | "result";
  readonly seen?: readonly number[];
  readonly status?: string;
}

declare module "hookline" {
  interface CustomEvents {
    tally: TallyArgs;
  }
}
defineEvent("tally" as never);

const runDir = process.argv[2]!;
const tell = (note: ControlNote): void => void process.stdout.write(`${JSON.stringify(note)}\n`);
let seen: number[] = [];

/** Once for each command: the resumed run repeats it. */
function dies({ n }: TallyArgs): void {
  const mark = `${runDir}/killed-${n}`;
  if (existsSync(mark)) return;
  writeFileSync(mark, "");
  process.kill(process.pid, "SIGKILL");
}

const tallying = {
  name: "tallying",
  after: "control",
  onTally({ payload }: { readonly payload: TallyArgs }) {
    if (payload.kill === "before") dies(payload);
    seen.push(payload.n);
    if (payload.kill === "after") dies(payload);
  },
  async onStepEnd() {
    await sleep(1);
  },
  onPause: () => tell({ note: "paused" }),
  onAfterSave: () => tell({ note: "saved" }),
  state: () => ({ json: { seen } }),
  load: ({ json }: { readonly json?: unknown }) => void (seen = [...(json as { seen: number[] }).seen]),
} as unknown as Hook;

const trainer = tinyTrainer({
  runDir,
  steps: 1_000_000,
  samples: 64,
  signals: true,
  logEvery: 1000,
  hooks: [control({ own: ["tally"], look: 5 }), tallying, modelCheckpoint({ every: 7, saveLast: 2 })],
});
const { status } = await trainer.fit({ resume: "auto" });
tell({ note: "result", seen, status });
