// Event files, read back by an independent reader, by protoc, and by TensorBoard itself where a Python has it.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { tensorboard } from "../../src/loggers/tensorboard/tensorboard.ts";
import { writeRuns, type ExpectedRun } from "./tensorboard-run.ts";

const python = "/usr/bin/python3";
const protoc = "protoc";
/** Any Python with tensorboard 2.21 or later. */
const tensorboardPython = process.env.HOOKLINE_TENSORBOARD_PYTHON ?? python;
const runs = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
const hasPython = runs(python, "--version");
const hasProtoc = runs(protoc, "--version");
const hasTensorboard = runs(tensorboardPython, "-c", "import tensorboard");
if (!hasPython) console.warn("reading event files back is skipped: apt-get install python3");
if (!hasProtoc) console.warn("protoc's reading of event files is skipped: apt-get install protobuf-compiler");
if (!hasTensorboard)
  console.warn("TensorBoard itself is skipped: HOOKLINE_TENSORBOARD_PYTHON names a Python with tensorboard 2.21");
const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

interface Value {
  readonly tag: string;
  readonly scalar?: number | "NaN";
  readonly histogram?: [number, number, number][];
  readonly text?: string;
  readonly image?: [width: number, height: number, channels: number, png: string];
  readonly hparams?: {
    readonly start?: { hparams: ExpectedRun["hparams"]; seconds: number };
    readonly end?: { status: number; seconds: number };
  };
}

interface ReadEvent {
  readonly seconds: number;
  readonly step: number;
  readonly version?: string;
  readonly session?: number;
  readonly values?: Value[];
}

interface ReadFile {
  readonly name: string;
  readonly left: number;
  readonly events: ReadEvent[];
}

const read = (folder: string): ReadFile[] =>
  JSON.parse(
    execFileSync(python, [script("./tensorboard_reader.py"), folder], { encoding: "utf8", maxBuffer: 1e9 }),
  ) as ReadFile[];

/** Our PNG files have one chunk of data and no filters. */
function pixelsOf(png: Buffer, row: number): number[] {
  const size = png.readUInt32BE(33);
  const rows = inflateSync(png.subarray(41, 41 + size));
  return [...rows].filter((_, i) => i % (row + 1) !== 0);
}

/** What a run shows, with TensorBoard's rule for parts: a start drops what came at its step and after. */
function gather(files: readonly ReadFile[]): Omit<ExpectedRun, "status"> & { statuses: number[] } {
  let events: ReadEvent[] = [];
  for (const event of files.flatMap((file) => file.events)) {
    if (event.session === 1) events = events.filter(({ step, values }) => step < event.step || values?.[0]?.hparams);
    events.push(event);
  }
  const shown = { scalars: {}, histograms: {}, texts: {}, images: {}, hparams: {}, statuses: [] } as ReturnType<
    typeof gather
  >;
  const add = <T>(table: Record<string, T[]>, tag: string, item: T) => (table[tag] ??= []).push(item);
  for (const { step, seconds, values = [] } of events) {
    for (const { tag, scalar, histogram, text, image, hparams } of values) {
      if (scalar !== undefined) add(shown.scalars, tag, [step, seconds, scalar]);
      if (histogram) add(shown.histograms, tag, [step, histogram]);
      if (text !== undefined) add(shown.texts, tag, [step, text]);
      if (image) {
        const [width, height, channels, png] = image;
        const pixels = pixelsOf(Buffer.from(png, "base64"), width * channels);
        add(shown.images, tag, [step, { width, height, channels, pixels }]);
      }
      if (hparams?.start) Object.assign(shown.hparams, hparams.start.hparams);
      if (hparams?.end) shown.statuses.push(hparams.end.status);
    }
  }
  return shown;
}

let folder = "";
let expected: Record<string, ExpectedRun> = {};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tensorboard-"));
  expected = await writeRuns(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!hasPython)("an independent reader", () => {
  it.each(["resumed", "failed", "recovered"])("finds all that was written: %s", (name) => {
    const files = read(join(folder, name));
    const { statuses, ...shown } = gather(files);
    const { status, ...wanted } = expected[name]!;
    expect(shown).toEqual(wanted);
    // A part that went on has no end of its own.
    expect(statuses).toEqual([status === "success" ? 1 : 2]);
    for (const { left, events } of files) {
      expect(left).toBe(0);
      expect(events[0]).toMatchObject({ version: "brain.Event:2", step: 0 });
    }
  });

  it("finds a start at the step after the checkpoint in a resumed part, whose file sorts after the first", () => {
    const [first, second, ...none] = read(join(folder, "resumed"));
    expect(none).toEqual([]);
    expect(first!.name).toMatch(/^events\.out\.tfevents\.\d{10}\.[^/]+\.\d+\.\d+$/);
    expect(second!.name > first!.name).toBe(true);
    expect(first!.events[1]).toMatchObject({ session: 1, step: 0 });
    expect(second!.events[1]).toMatchObject({ session: 1, step: 241 });
  });

  it("follows a file that grows, and never sees a broken record", async () => {
    const dir = mkdtempSync(join(tmpdir(), "tensorboard-"));
    const last = 10_000;
    const backend = tensorboard({ dir });
    await backend.open({
      dir: undefined,
      name: "",
      id: "",
      resumedAt: undefined,
      startedAt: 1.7e12,
      hparams: {},
      about: {},
      totalSteps: last,
    });
    const file = join(dir, readdirSync(dir)[0]!);
    const reader = spawn(python, [script("./tensorboard_reader.py"), "--follow", file, String(last)]);
    let output = "\n";
    reader.stdout.on("data", (data) => (output += data));
    reader.stderr.on("data", (data) => (output += data));
    const done = new Promise<number | null>((resolve) => reader.on("close", resolve));
    const isAt = (step: number): boolean => reader.exitCode !== null || output.includes(`\n${step}\n`);
    for (let step = 1; step <= last; step++) {
      const scalars = { loss: 1 / step, lr: 1e-3 };
      backend.log({ step, epoch: 0, time: 1.7e12 + step, elapsed: 0, scalars, media: {} });
      if (step % 7 === 0 || step % 500 === 0) await backend.flush?.();
      // Now and then the reader may catch up, or on a busy machine it would see the end alone.
      if (step % 500 === 0) await vi.waitFor(() => expect(isAt(step)).toBe(true), { timeout: 300_000, interval: 2 });
    }
    await backend.close({ status: "completed", reason: "", step: last, time: 1.7e12, elapsed: 0, metrics: {} });
    expect([await done, output]).toEqual([0, expect.stringMatching(/\}\n$/)]);
    const seen = JSON.parse(output.trimEnd().split("\n").at(-1)!) as { looks: number };
    expect(seen).toMatchObject({ steps: last, ordered: true });
    expect(seen.looks).toBeGreaterThanOrEqual(last / 500);
    rmSync(dir, { recursive: true });
  });
});

/** The payloads of a file, without a look at checksums: the independent reader has seen those. */
function payloads(file: string): Buffer[] {
  const bytes = readFileSync(file);
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 16 + bytes.readUInt32LE(at))
    found.push(bytes.subarray(at + 12, at + 12 + bytes.readUInt32LE(at)));
  return found;
}

describe.skipIf(!hasProtoc)("protoc", () => {
  const decode = (payload: Buffer): string => execFileSync(protoc, ["--decode_raw"], { input: payload }).toString();

  it("decodes every kind of event", () => {
    const dir = join(folder, "failed");
    const all = payloads(join(dir, readdirSync(dir)[0]!));
    expect(decode(all[0]!)).toMatch(/^1: 0x[0-9a-f]{16}\n3: "brain\.Event:2"\n$/);
    expect(decode(all[1]!)).toMatch(/^1: 0x[0-9a-f]{16}\n7 \{\n {2}1: 1\n\}\n$/);
    const having = (text: string): string => decode(all.find((payload) => payload.includes(text))!);
    expect(having("session_start_info")).toContain('1: "dropout"');
    expect(having("session_end_info")).toMatch(/4 \{\s+1: 2/);
    expect(having("val/loss")).toMatch(/\n2: 50\n5 \{\n {2}1 \{\n {4}1: "loss"\n {4}2: 0x[0-9a-f]{8}\n {2}\}/);
    expect(having("weights/0")).toContain('1: "histograms"');
  });

  it("decodes texts and images", () => {
    const dir = join(folder, "resumed");
    const all = payloads(join(dir, readdirSync(dir)[0]!));
    const having = (text: string): string => decode(all.find((payload) => payload.includes(text))!);
    expect(having("sample")).toContain('1: "text"');
    expect(having("image/4")).toMatch(/4 \{\s+1: 5\s+2: 9\s+3: 4\s+4: "\\211PNG/);
  });
});

describe.skipIf(!hasTensorboard)("TensorBoard itself", () => {
  it("shows all that was written", () => {
    const run = spawnSync(tensorboardPython, [script("./tensorboard-real.py"), folder], { encoding: "utf8" });
    expect([run.status, run.stdout + run.stderr]).toEqual([0, expect.stringContaining("all read back")]);
  });
});
