// The queue on disk: order, positions that survive, what a crash tears, what is dropped when it is full.
import fs, { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it, onTestFinished, vi } from "vitest";
import { DiskQueue } from "./disk-queue.ts";
import { MemoryQueue, type Queue } from "./memory-queue.ts";

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const LIMIT = { lines: 1000, bytes: 1 << 16 };

function open(dir: string, limit = 1e6, fileSize?: number) {
  const warnings: string[] = [];
  const queue = new DiskQueue({ dir, limit, warn: (message) => void warnings.push(message), fileSize });
  onTestFinished(() => queue.close());
  return { queue, warnings };
}

/** Takes and acknowledges all that there is. */
async function drain(queue: Queue, limit = LIMIT): Promise<string[]> {
  const all: string[] = [];
  for (let chunk = await queue.next(limit); chunk; chunk = await queue.next(limit)) {
    const { head } = chunk;
    all.push(...chunk.lines.map((line) => `${JSON.stringify(head)} ${line}`));
    await queue.acknowledge(chunk.end, { count: all.length });
  }
  return all;
}

it("gives lines back in order, with the head that they belong to, until they are acknowledged", async () => {
  const { queue } = open(folder());
  queue.begin("a");
  expect(await queue.next(LIMIT)).toMatchObject({ head: "a", lines: [] });
  queue.append(["1", "2"]);
  queue.append(["3"]);
  expect(await queue.next({ ...LIMIT, lines: 2 })).toMatchObject({ head: "a", lines: ["1", "2"] });
  expect(queue.waiting).toBe(3);
  queue.begin("b");
  queue.append(["4", "é😀"]);
  expect(await drain(queue)).toEqual(['"a" 1', '"a" 2', '"a" 3', '"b" 4', '"b" é😀']);
  expect(queue.waiting).toBe(0);
  expect(await queue.next(LIMIT)).toBeUndefined();
});

it("goes on where it was acknowledged, in another process", async () => {
  const dir = folder();
  const first = open(dir).queue;
  first.begin("a");
  first.append(["1", "2", "3"]);
  const chunk = await first.next({ ...LIMIT, lines: 2 });
  await first.acknowledge(chunk!.end, { sent: 2 });
  // Not closed: a process that was killed closes nothing. Its lock is that of this process, so it is taken away.
  rmSync(join(dir, ".lock"));
  const { queue } = open(dir);
  expect(queue.state).toEqual({ sent: 2 });
  expect(queue.waiting).toBe(1);
  queue.begin("b");
  queue.append(["4"]);
  expect(await drain(queue)).toEqual(['"a" 3', '"b" 4']);
  expect(readdirSync(dir).filter((name) => name.endsWith(".jsonl"))).toHaveLength(1);
});

it("leaves out the line that a crash tore, wherever it tore it", async () => {
  const dir = folder();
  const first = open(dir).queue;
  first.begin("a");
  first.append(["1", "2"]);
  first.close();
  const [name] = readdirSync(dir).filter((each) => each.endsWith(".jsonl"));
  const whole = readFileSync(join(dir, name!));
  appendFileSync(join(dir, name!), '{"torn');
  const { queue } = open(dir);
  queue.begin("b");
  queue.append(["3"]);
  expect(await drain(queue)).toEqual(['"a" 1', '"a" 2', '"b" 3']);
  queue.close();
  for (let length = 0; length <= whole.length; length++) {
    const other = folder();
    writeFileSync(join(other, name!), whole.subarray(0, length));
    const torn = open(other).queue;
    torn.begin("b");
    torn.append(["3"]);
    const expected = ['"a" 1', '"a" 2'].slice(
      0,
      Math.max(0, whole.subarray(0, length).toString().split("\n").length - 2),
    );
    expect(await drain(torn)).toEqual([...expected, '"b" 3']);
    torn.close();
  }
});

it("drops the oldest when it is full, counts them, and says so once", async () => {
  const { queue, warnings } = open(folder(), 10_000, 1000);
  queue.begin("a");
  for (let i = 0; i < 5000; i++) queue.append([String(i).padStart(9, "0")]);
  const left = await drain(queue);
  expect(left.length + queue.dropped).toBe(5000);
  expect(left.length).toBeGreaterThan(800);
  expect(left.at(-1)).toBe('"a" 000004999');
  expect(left.map((line) => Number(line.slice(4)))).toEqual(Array.from(left, (_, i) => 5000 - left.length + i));
  expect(warnings).toEqual([
    expect.stringMatching(/is full \(10000 bytes\): the oldest of what was not sent is dropped/),
  ]);
});

it("counts as sent what was dropped while it was on its way", async () => {
  const { queue } = open(folder(), 4000, 1000);
  queue.begin("a");
  for (let i = 0; i < 100; i++) queue.append([String(i).padStart(9, "0")]);
  const chunk = await queue.next({ ...LIMIT, lines: 50 });
  for (let i = 100; i < 1000; i++) queue.append([String(i).padStart(9, "0")]);
  await queue.acknowledge(chunk!.end, null);
  const rest = await drain(queue);
  expect(chunk!.lines.length + rest.length + queue.dropped).toBe(1000);
});

it("has one process at a time, and says who", () => {
  const dir = folder();
  open(dir);
  expect(() => open(dir)).toThrow(/lock/i);
});

it("sends from the beginning when its position cannot be read", async () => {
  const dir = folder();
  const first = open(dir).queue;
  first.begin("a");
  first.append(["1"]);
  first.close();
  writeFileSync(join(dir, "position.json"), "{");
  const { queue, warnings } = open(dir);
  expect(await drain(queue)).toEqual(['"a" 1']);
  expect(warnings).toEqual([expect.stringMatching(/position\.json cannot be read/)]);
});

/** The system refuses such calls on files of the queue until the test ends, or until this is called. */
function refuse(call: "openSync" | "closeSync" | "rmSync", code: string): () => void {
  const spy = vi.spyOn(fs, call).mockImplementation(() => {
    throw new Error(`${code}: ${call}`);
  });
  const accept = (): void => spy.mockRestore();
  onTestFinished(accept);
  return accept;
}

it("a file that could not be made loses what came then, and what comes later is sent", async () => {
  const { queue, warnings } = open(folder());
  const accept = refuse("openSync", "EMFILE");
  queue.begin("a");
  queue.append(["1"]);
  queue.append(["2", "3"]);
  expect(await queue.next(LIMIT)).toBeUndefined();
  accept();
  queue.append(["4"]);
  expect(await drain(queue)).toEqual(['"a" 4']);
  expect([queue.dropped, queue.waiting]).toEqual([3, 0]);
  expect(warnings).toEqual([expect.stringMatching(/cannot be written to, so what is logged now is lost: EMFILE/)]);
});

it("files that cannot be removed are a warning, and are passed over", async () => {
  const dir = folder();
  const { queue, warnings } = open(dir, 1000, 100);
  const accept = refuse("rmSync", "EROFS");
  queue.begin("a");
  for (let i = 0; i < 300; i++) queue.append([String(i).padStart(9, "0")]);
  const left = await drain(queue);
  expect(left.length + queue.dropped).toBe(300);
  expect(left.at(-1)).toBe('"a" 000000299');
  expect(warnings).toEqual([
    expect.stringMatching(/is full/),
    expect.stringMatching(/cannot be written to, so what was sent or dropped stays there: EROFS/),
  ]);
  queue.close();
  // The next start takes them away.
  accept();
  const next = open(dir).queue;
  expect(await drain(next)).toEqual([]);
  expect(readdirSync(dir).filter((name) => name.endsWith(".jsonl"))).toHaveLength(0);
});

it("a file that cannot be closed is a warning, and the next one is begun", async () => {
  const { queue, warnings } = open(folder());
  queue.begin("a");
  queue.append(["1"]);
  const accept = refuse("closeSync", "EDQUOT");
  queue.begin("b");
  accept();
  queue.append(["2"]);
  expect(await drain(queue)).toEqual(['"a" 1', '"b" 2']);
  expect(warnings).toEqual([expect.stringMatching(/cannot be written to, so what is logged now is lost: EDQUOT/)]);
});

it("a file that is dropped just before it is read is passed over", async () => {
  const { queue } = open(folder(), 4000, 1000);
  const { open: really } = fs.promises;
  queue.begin("a");
  for (let i = 0; i < 100; i++) queue.append([String(i).padStart(9, "0")]);
  const spy = vi.spyOn(fs.promises, "open").mockImplementationOnce((...args) => {
    for (let i = 100; i < 1000; i++) queue.append([String(i).padStart(9, "0")]);
    return really(...args);
  });
  onTestFinished(() => spy.mockRestore());
  const left = await drain(queue);
  expect(left.at(-1)).toBe('"a" 000000999');
  expect(left.length + queue.dropped).toBe(1000);
});

it.for(["disk", "memory"])("whatever the order of calls, all come once and in order: %s", async (kind) => {
  const step = fc.oneof(
    fc.record({ append: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ take: fc.integer({ min: 1, max: 15 }), acknowledge: fc.boolean() }),
    fc.constant("begin" as const),
    fc.constant("restart" as const),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (script) => {
      const dir = mkdtempSync(join(tmpdir(), "hookline-"));
      const make = (): Queue =>
        kind === "disk"
          ? new DiskQueue({ dir, limit: 1e9, fileSize: 60, warn: () => undefined })
          : new MemoryQueue(1e9);
      let queue = make();
      queue.begin(0);
      const [sent, taken]: [string[], string[]] = [[], []];
      for (const [i, each] of script.entries()) {
        if (each === "begin") queue.begin(i);
        else if (each === "restart") {
          if (kind === "memory") continue;
          queue.close();
          queue = make();
          queue.begin(i);
        } else if ("append" in each) {
          const lines = Array.from({ length: each.append }, (_, n) => `${sent.length + n}`);
          sent.push(...lines);
          queue.append(lines);
        } else {
          const chunk = await queue.next({ lines: each.take, bytes: 30 });
          if (!chunk || !each.acknowledge) continue;
          taken.push(...chunk.lines);
          await queue.acknowledge(chunk.end, null);
          expect(queue.waiting).toBe(sent.length - taken.length);
        }
      }
      for (let chunk = await queue.next(LIMIT); chunk; chunk = await queue.next(LIMIT)) {
        taken.push(...chunk.lines);
        await queue.acknowledge(chunk.end, null);
      }
      queue.close();
      rmSync(dir, { recursive: true, force: true });
      expect(taken).toEqual(sent);
    }),
    { numRuns: 60 },
  );
});

it("in memory, too, the oldest go when it is full", async () => {
  const queue = new MemoryQueue(100);
  queue.begin("a");
  queue.append(Array.from({ length: 50 }, (_, i) => `line ${i + 10}`));
  expect(queue.dropped).toBe(36);
  expect(await drain(queue)).toHaveLength(14);
});
