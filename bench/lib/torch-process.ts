// PyTorch in a process of its own, asked line by line; undefined where there is none.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface TorchProcess {
  readonly version: string;
  /** Names of what it can do. */
  readonly calls: readonly string[];
  /** Milliseconds of one call on a file. */
  time(call: string, path: string): Promise<number>;
  close(): Promise<void>;
}

/** Debian's PyTorch belongs to Debian's Python; another one can be named. */
const PYTHON = process.env.HOOKLINE_PYTHON ?? "/usr/bin/python3";

export async function torchProcess(): Promise<TorchProcess | undefined> {
  const script = fileURLToPath(new URL("./torch-files.py", import.meta.url));
  const child = spawn(PYTHON, ["-W", "ignore", script], { stdio: ["pipe", "pipe", "ignore"] });
  const ended = once(child, "close").catch(() => undefined);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done) return undefined;
  const { version, calls } = JSON.parse(first.value) as Pick<TorchProcess, "version" | "calls">;
  return {
    version,
    calls,
    async time(call, path) {
      child.stdin.write(`${JSON.stringify([call, path])}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error(`PyTorch ended in ${call}`);
      return JSON.parse(value) as number;
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}
