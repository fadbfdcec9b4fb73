// One benchmark in a process of its own: it never runs in code that another has warmed up with its own types, and one
// that fails leaves the others alone.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { COMPILED } from "../benchmarks.ts";
import { compiledProgram } from "./compiled.ts";
import type { Report } from "./report.ts";

export interface Result {
  readonly reports: readonly Report[];
  readonly seconds: number;
  /** Why there are no reports. */
  readonly failed?: string;
}

/** What a benchmark's process tells. */
export type Answer = { readonly reports: readonly Report[] } | { readonly failed: string };

/** On a terminal the line counts seconds; elsewhere it is printed once. */
function progress(line: string): () => void {
  const begun = performance.now();
  if (!process.stderr.isTTY) {
    console.error(line);
    return () => undefined;
  }
  const draw = (): void =>
    void process.stderr.write(`\r\u001B[K${line}, ${((performance.now() - begun) / 1000).toFixed(0)} s`);
  draw();
  const timer = setInterval(draw, 1000);
  return () => {
    clearInterval(timer);
    process.stderr.write("\r\u001B[K");
  };
}

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));

function start(name: string, flags: readonly string[]): ReturnType<typeof fork> {
  const args = [name, ...flags];
  return COMPILED.has(name) ? fork(compiledProgram("child"), args, { execArgv: [] }) : fork(CHILD, args);
}

export async function measure(name: string, flags: readonly string[], line: string): Promise<Result> {
  const begun = performance.now();
  const done = progress(line);
  const answer = await new Promise<Answer>((resolve) => {
    const child = start(name, flags);
    let heard: Answer | undefined;
    child.on("message", (message) => (heard = message as Answer));
    child.on("close", (code, signal) => resolve(heard ?? { failed: `its process ended with ${signal ?? code}` }));
  });
  done();
  return { reports: [], ...answer, seconds: (performance.now() - begun) / 1000 };
}
