// Logs as fast as it can, with a "checkpoint" now and then, until it is killed; goes on from the last one when it is
// started again. On a disk that is full or read-only it says what it was told.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import type { LogRecord, RunFacts } from "../../src/runs/types.ts";
import { csv } from "../../src/loggers/csv.ts";
import { jsonl } from "../../src/loggers/jsonl.ts";
import { logRecord, runEnd, runFacts } from "../support/logger-facts.ts";

type Mode = "log" | "branch" | "exit" | "throw" | "end" | "fill";
const [dir, mode, last = "Infinity"] = process.argv.slice(2) as [string, Mode, string?];

const END = runEnd();
const facts = (resumedAt?: number): RunFacts => runFacts({ dir, name: "killed", resumedAt, startedAt: Date.now() });

/** What is in it follows from its step: the reader knows what to expect. Now and then it is a long one. */
const record = (step: number): LogRecord =>
  logRecord(step, {
    epoch: step >> 10,
    time: Date.now(),
    elapsed: step / 1000,
    scalars: { loss: 1 / step, ...more(step) },
    media: step % 500 === 0 ? { sample: { kind: "text", text: "é".repeat(step % 60_000) } } : {},
  });
const more = (step: number): Record<string, number> =>
  step % 100 === 0 ? { "val/loss": NaN, [`m${step >> 16}`]: 1 } : {};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function checkpoint(): number | undefined {
  try {
    return Number(readFileSync(`${dir}.checkpoint`, "utf8"));
  } catch {
    return undefined;
  }
}

async function log(): Promise<void> {
  const from = checkpoint();
  const backends = [jsonl(), csv()];
  for (const backend of backends) await backend.open(facts(from));
  process.stdout.write("open\n");
  for (let step = (from ?? 0) + 1; step <= Number(last); step++) {
    for (const backend of backends) backend.log(record(step));
    if (step % 20 === 0) await turn();
    if (step % 211 === 0) for (const backend of backends) void backend.flush();
    if (step % 300 !== 0) continue;
    for (const backend of backends) backend.flushSync();
    writeFileSync(`${dir}.checkpoint.tmp`, `${step}`);
    renameSync(`${dir}.checkpoint.tmp`, `${dir}.checkpoint`);
  }
  for (const backend of backends) await backend.close(END);
}

/** Another run goes on from step 30 of the one that is there. */
async function branch(): Promise<void> {
  const backend = jsonl();
  await backend.open(facts(30));
  for (let step = 31; step <= 40; step++) backend.log(record(step));
  backend.flushSync();
  await backend.close(END);
}

/** The process ends in the middle of a run, without a flush: by a call, by an error, or because nothing is left to do. */
async function leave(): Promise<void> {
  const backends = [jsonl(), csv()];
  for (const backend of backends) {
    await backend.open(facts());
    for (let step = 1; step <= 1234; step++) backend.log(record(step));
  }
  if (mode === "exit") process.exit(3);
  if (mode === "throw") throw new Error("not caught");
}

/** Until the disk is full; then there is room again. */
async function fill(): Promise<object> {
  const messages: string[] = [];
  const note = (error: unknown): void => void messages.push(String(error));
  const backend = jsonl();
  try {
    await backend.open(facts());
  } catch (error) {
    return { messages: [String(error)] };
  }
  writeFileSync(`${dir}/ballast`, new Uint8Array(300_000));
  let step = 0;
  while (messages.length < 2) {
    for (let i = 0; i < 1000; i++) backend.log(record(++step));
    await backend.flush().catch(note);
  }
  writeFileSync(`${dir}/ballast`, "");
  await backend.flush().catch(note);
  await backend.close(END);
  const lines = readFileSync(`${dir}/metrics.jsonl`, "utf8").trimEnd().split("\n");
  const steps = lines.slice(1).map((line) => (JSON.parse(line) as LogRecord).step);
  return { messages, isWhole: steps.length === step && steps.every((at, i) => at === i + 1) };
}

if (mode === "log") await log();
else if (mode === "branch") await branch();
else if (mode === "exit" || mode === "throw" || mode === "end") await leave();
else process.stdout.write(`${JSON.stringify(await fill())}\n`);
