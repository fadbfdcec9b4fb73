// stopFile: ends the run when a file is touched, from another shell, another machine or a job script.
import type { Cadence } from "../core/cadence.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { builtin } from "../platform/builtin.ts";

/** Options of `stopFile`. */
export interface StopFileOptions {
  /** `touch` it to stop the run. A file that exists at the start counts once it is touched again. */
  readonly path: string;
  /** How often to check. Default `"1 s"`. */
  readonly every?: Cadence;
  /** Save a checkpoint when the run is stopped, if the trainer has a `runDir` or `store`. Default true. */
  readonly save?: boolean;
  readonly name?: string;
}

/** A local disk answers much faster; a file server that hangs must not block training. */
const PATIENCE_MS = 20;

/**
 * Saves and stops the run when the file appears or is touched; the reason names the file. The file is not deleted.
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
  /** The file's version at the start; undefined if it did not exist. */
  let old: string | undefined;
  let touched = false;
  let asked = false;
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    // A disk that is temporarily unreachable must not stop the run.
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
      // A slow check is not awaited again: its result counts at the next one.
      if (looking === undefined) await upTo(PATIENCE_MS, (looking = look()));
      if (!touched) return;
      ctx.stop(`the file ${path} was touched`);
      if (!save || !ctx.checkpoints.enabled) return;
      // A second request means that the stop was refused, for example by `minEpochs`: do not save at every check.
      ctx.requestSave("stop file", { at: asked ? "end" : "boundary" });
      asked = true;
    },
  };
}

/** Changes when the file is written, touched or replaced; undefined if it does not exist. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeMs } = await builtin("stopFile", "node:fs/promises").stat(path);
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
