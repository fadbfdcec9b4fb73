// Ends the run when someone touches a file: from another shell, another machine, a job script.
import type { Cadence } from "../core/cadence.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { builtin } from "../platform/builtin.ts";

/** Options of `stopFile`. */
export interface StopFileOptions {
  /** `touch` it to stop the run. A file that is there when the run begins counts once it is touched again. */
  readonly path: string;
  /** How often to look. Default `"1 s"`. */
  readonly every?: Cadence;
  /** Leaves a checkpoint of where the run was stopped, if the trainer has a place for checkpoints. Default true. */
  readonly save?: boolean;
  readonly name?: string;
}

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;

/** A look at a local disk takes a fraction of this; a file server that hangs must not hold up the steps. */
const PATIENCE_MS = 20;

/**
 * Stops the run, with a reason that names the file, when the file appears or is touched, and saves first. Nothing is
 * deleted.
 * @example stopFile({ path: "runs/digits/STOP" }) // later: touch runs/digits/STOP
 */
export const stopFile = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "stopFile",
    takes: () => ({
      options: { path: is.pathToWrite, every: is.cadence, save: is.boolean, name: is.name },
      required: ["path"],
    }),
  },
  makeStopFile,
);

function makeStopFile(options: StopFileOptions): Hook {
  const { path, every = "1 s", save = true, name = "stopFile" } = options;
  /** The file as it was at the beginning; undefined when there was none. */
  let old: string | undefined;
  let touched = false;
  let asked = false;
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    // A disk that is out of reach for a moment is no wish to stop.
    const now = await versionOf(path).catch(() => undefined);
    touched = now !== undefined && now !== old;
    looking = undefined;
  }

  return {
    name,
    stage: "monitor",
    every,
    async onTrainBegin() {
      touched = asked = false;
      old = await versionOf(path);
    },
    async onStepEnd(ctx) {
      // A look that takes longer is not waited for again: its answer counts at the next one.
      if (looking === undefined) await upTo(PATIENCE_MS, (looking = look()));
      if (!touched) return;
      ctx.stop(`the file ${path} was touched`);
      if (!save || !ctx.checkpoints.enabled) return;
      // Asked a second time, the stop has been refused, by minEpochs for one: a save at every look would fill the disk.
      ctx.requestSave("stop file", { at: asked ? "end" : "boundary" });
      asked = true;
    },
  };
}

/** Changes when the file is written, touched or replaced; undefined when there is none. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeMs } = await builtin<Fs>("stopFile", "node:fs/promises").stat(path);
    return `${ino} ${mtimeMs}`;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as { code?: string }).code ?? "")) return undefined;
    throw error;
  }
}

async function upTo(ms: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise<void>((resolve) => void (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
}
