// A child process that answers each line it is sent with a line of JSON.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { compiledProgram } from "./compiled.ts";
import type { Ask } from "./engine-process.ts";

export interface Asked<Question = Ask> {
  readonly version: string;
  ask(what: Question): Promise<unknown>;
  close(): Promise<void>;
}

/** Undefined when it ends before it has said anything: what it needs is not there. */
export async function start<Question = Ask>(
  command: string,
  args: readonly string[],
): Promise<Asked<Question> | undefined> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "close").catch(() => undefined);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done) return undefined;
  return {
    version: (JSON.parse(first.value) as { version: string }).version,
    async ask(what) {
      child.stdin.write(`${JSON.stringify(what)}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error(`${command} ended when it was asked for ${JSON.stringify(what)}`);
      return JSON.parse(value) as unknown;
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}

const beside = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const isSource = import.meta.url.endsWith(".ts");

/** Compiled, as a user's program is: tsx takes memory of its own, and shows in what is measured. */
export function engineProcess(engine: "native" | "wasm", cores?: number): Promise<Asked> {
  const script = isSource ? compiledProgram("engine-process") : beside("./engine-process.js");
  return running(pinned(cores, [process.execPath, script, engine]));
}

function nodeProcess<Question>(name: string, ...args: string[]): Promise<Asked<Question>> {
  const script = isSource ? compiledProgram(name) : beside(`./${name}.js`);
  return running([process.execPath, script, ...args]);
}

async function running<Question>([command, ...args]: string[]): Promise<Asked<Question>> {
  const started = await start<Question>(command!, args);
  if (!started) throw new Error(`${[command, ...args].join(" ")} ended at once`);
  return started;
}

/** On the first cores of the machine alone, or wherever it likes. */
const pinned = (cores: number | undefined, command: string[]): string[] =>
  cores === undefined ? command : ["taskset", "-c", `0-${cores - 1}`, ...command];

/** Debian's PyTorch belongs to Debian's Python; another one can be named. */
const PYTHON = process.env.HOOKLINE_PYTHON ?? "/usr/bin/python3";

export function torchEngines(cores?: number): Promise<Asked | undefined> {
  const [command, ...args] = pinned(cores, [PYTHON, "-W", "ignore", beside("./torch-engines.py")]);
  return start(command!, args);
}

/** What both sides of lm.ts can do: greedy text after a prompt, and hookline a forward pass of a whole text. */
export type LmTask =
  | { readonly generate: number; readonly prompt: number; readonly threads?: number }
  | { readonly whole: number };

export const lmProcess = (): Promise<Asked<LmTask>> => nodeProcess("lm-process");

export const transformersProcess = (): Promise<Asked<LmTask> | undefined> =>
  start(PYTHON, ["-W", "ignore", beside("./lm-peers.py")]);

/** What a contender of finetune.ts trains, for as long as its process lives. */
export interface FinetuneTask {
  readonly adapter: boolean;
  readonly rows: number;
  readonly length: number;
  /** The forward pass of each layer is computed again in the backward pass: `layered`, or gradient checkpointing. */
  readonly recompute: boolean;
  /** How hookline keeps the frozen base. */
  readonly base?: "float32" | "bf16" | "int8" | "int4";
}

/** Steps for their milliseconds; else what the process has taken so far, or the memory of the frozen base alone, in MiB. */
export type FinetuneAsk = { readonly steps: number } | { readonly facts: true } | { readonly base: true };

export interface FinetuneFacts {
  readonly peakRssMiB: number;
  /** Hookline's engine only: the most at the end of a program, and compiling. */
  readonly engineMiB?: number;
  readonly compileSeconds?: number;
}

export const finetuneProcess = (folder: string, task: FinetuneTask): Promise<Asked<FinetuneAsk>> =>
  nodeProcess("finetune-process", folder, JSON.stringify(task));

export const peftProcess = (folder: string, task: FinetuneTask): Promise<Asked<FinetuneAsk> | undefined> =>
  start(PYTHON, ["-W", "ignore", beside("./finetune-peers.py"), folder, JSON.stringify(task)]);

/** Writes the folder of the model with random weights, once; false where transformers or PEFT is missing. */
export function writeBenchModel(folder: string): boolean {
  const { status } = spawnSync(PYTHON, ["-W", "ignore", beside("./finetune-peers.py"), folder], { stdio: "inherit" });
  return status === 0;
}
