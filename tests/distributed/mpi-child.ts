// A rank of the strategy's tests: does what its first argument names, and notes what came of it.
import { createHash } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ReduceOp, type Scaling, type Strategy, openStrategy } from "../../src/distributed/strategy.ts";
import { note } from "./notes.ts";

type Vector = Float32Array | Float64Array;
type Scene = (strategy: Strategy) => Promise<void>;

const hash = ({ buffer, byteOffset, byteLength }: Vector): string =>
  createHash("sha256")
    .update(new Uint8Array(buffer, byteOffset, byteLength))
    .digest("hex");

/** The process does nothing else meanwhile, and leaves the core to others. */
const blockFor = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};

/** The numbers of a rank repeat after so many: a large vector is checked without computing each of them. */
const PERIOD = 4099;

/** Numbers whose sum depends on the order in which they are added. */
const numbersOf = (rank: number): number[] =>
  Array.from({ length: PERIOD }, (_, i) => Math.fround(Math.sin(i + 1 + 1.7 * rank) * 10 ** ((i + rank) % 5)));

function fill(vector: Vector, rank: number): Vector {
  const numbers = numbersOf(rank);
  for (let i = 0; i < vector.length; i++) vector[i] = numbers[i % PERIOD]!;
  return vector;
}

const COMBINE: Record<ReduceOp, (a: number, b: number) => number> = {
  sum: (a, b) => a + b,
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
};

/** How far a reduced vector is from the one that is computed here, as a share of the largest term. */
function error(vector: Vector, op: ReduceOp, size: number): number {
  const all = Array.from({ length: size }, (_, rank) => numbersOf(rank));
  const terms = Array.from({ length: PERIOD }, (_, i) => all.map((each) => each[i]!));
  const expected = terms.map((each) => each.reduce(COMBINE[op]));
  const largest = terms.map((each) => Math.max(...each.map(Math.abs)));
  let worst = 0;
  for (let i = 0; i < vector.length; i++) {
    const k = i % PERIOD;
    worst = Math.max(worst, Math.abs(vector[i]! - expected[k]!) / largest[k]!);
  }
  return worst;
}

const inWasm = (memory: WebAssembly.Memory, length: number): Vector => new Float32Array(memory.buffer, 65_528, length);

const scenes: Record<string, Scene> = {};

scenes.reduce = async (strategy) => {
  const { rank, size } = strategy;
  const memory = new WebAssembly.Memory({ initial: 3, maximum: 300, shared: true });
  const grown = new WebAssembly.Memory({ initial: 3 });
  grown.grow(40);
  const vectors: Record<string, Vector> = {
    "no numbers": new Float32Array(0),
    "float32, 1": new Float32Array(1),
    "float32, 1001": new Float32Array(1001),
    "float64, 3": new Float64Array(3),
    "float64, 70001": new Float64Array(70_001),
    "float32, 20 MB": new Float32Array(5_000_000),
    "float32 in the middle of a buffer": new Float32Array(new ArrayBuffer(4096), 12, 100),
    "float32 in wasm memory": inWasm(grown, 20_000),
    "float32 in shared wasm memory": inWasm(memory, 20_000),
  };
  for (const [name, vector] of Object.entries(vectors)) {
    for (const op of ["sum", "min", "max"] as const) {
      fill(vector, rank);
      const began = performance.now();
      await strategy.allReduce(vector, op);
      note("reduced", { name, op, ms: performance.now() - began, error: error(vector, op, size), hash: hash(vector) });
    }
  }
};

const asTheyAre: Scaling = { at: 0, from: 0, factor: () => 1 };

/** Vectors in memory that the ranks share: larger and larger, shorter than the memory, and many in turn. */
scenes.sum = async (strategy) => {
  const { rank, size } = strategy;
  for (const length of [1, 1001, 1000, 5_000_000, 70_001, 16 * size]) {
    const vector = (await strategy.vector!(length))!;
    fill(vector.own.subarray(0, length), rank);
    const total = await vector.sum(length, asTheyAre);
    note("summed", { length, is: total.length, error: error(total, "sum", size), hash: hash(total) });
  }
  // Several blocks on each rank, and scaling that begins within one of them.
  const length = 300_007;
  const from = 100_003;
  const vector = (await strategy.vector!(length))!;
  vector.own.fill(2 * rank + 2, 0, length);
  vector.scale(0.5, 0, length);
  const ranks = (size * (size + 1)) / 2;
  const total = await vector.sum(length, { at: length - 1, from, factor: (sum) => 0.5 * sum });
  note("scaled", { right: total.every((value, i) => value === (i < from ? ranks : 0.5 * ranks * ranks)) });
  let wrong = 0;
  for (let i = 0; i < 500; i++) {
    const vector = (await strategy.vector!(2000))!;
    vector.own.fill(i + rank, 0, 2000);
    const total = await vector.sum(2000, asTheyAre);
    // Other operations come between them, in which one rank is ahead of another.
    if (i % 3 === 0) await strategy.broadcast(new Uint8Array(i));
    if (i % 7 === 0) await strategy.allReduce(new Float64Array(1));
    if (total.some((value) => value !== size * i + (size * (size - 1)) / 2)) wrong++;
  }
  note("in turn", { wrong });
};

/** Is there such memory? */
scenes.shared = async (strategy) => {
  note("shared", { is: (await strategy.vector!(100)) !== undefined });
};

scenes.broadcast = async (strategy) => {
  for (const length of [0, 1, 1000, 20_000_000]) {
    const bytes = new Uint8Array(length).map((_, i) => i * (strategy.rank === 0 ? 7 : 3));
    await strategy.broadcast(bytes);
    note("broadcast", { length, right: bytes.every((byte, i) => byte === ((i * 7) & 255)) });
  }
};

scenes.barrier = async (strategy) => {
  blockFor(300 * strategy.rank);
  note("came");
  await strategy.barrier();
  note("left");
};

/** Small reductions need no promise where all ranks come at once. */
scenes.atOnce = async (strategy) => {
  let promises = 0;
  const values = new Float64Array(4);
  for (let i = 0; i < 200; i++) if (strategy.allReduce(values.fill(i)) !== undefined) promises++;
  note("promises", { promises });
};

scenes.alive = async (strategy) => {
  let ticks = 0;
  let heard = false;
  // Rank 1 comes when rank 0 has ticked and heard a signal in the barrier; if that never happens, after 10 s.
  const file = join(tmpdir(), `hookline-alive-${process.ppid}`);
  const timer = setInterval(() => {
    if (++ticks >= 5 && heard && strategy.rank === 0) writeFileSync(file, "");
  }, 20);
  process.once("SIGUSR2", () => {
    heard = true;
    note("signal");
  });
  if (strategy.rank === 0) process.kill(process.pid, "SIGUSR2");
  else for (let tries = 0; tries < 500 && !existsSync(file); tries++) blockFor(20);
  await strategy.barrier();
  clearInterval(timer);
  note("ticks", { ticks });
  if (strategy.rank === 1) rmSync(file, { force: true });
};

scenes.twice = async (strategy) => {
  const second = await openStrategy("mpi", { timeout: 20 });
  await strategy.close();
  const values = new Float64Array([1]);
  await second.allReduce(values);
  await second.close();
  const third = await openStrategy("auto");
  await third.allReduce(values);
  note("twice", { sum: values[0], same: third.rank === strategy.rank });
};

/** One of the ranks given as second argument does not come. */
const away = (rank: number): boolean => process.argv[3]!.split(",").includes(String(rank));

scenes.hang = async (strategy) => {
  await strategy.barrier();
  note("ready");
  if (away(strategy.rank)) blockFor(1e6);
  await strategy.allReduce(new Float32Array(3));
};

scenes.hangInSum = async (strategy) => {
  const vector = (await strategy.vector!(10))!;
  note("ready");
  if (away(strategy.rank)) blockFor(1e6);
  await vector.sum(3, asTheyAre);
};

/** Another length, or another operation, than that of the others. */
scenes.unlikeSum = async (strategy) => {
  const vector = (await strategy.vector!(10))!;
  await vector.sum(10, asTheyAre);
  if (!away(strategy.rank)) await vector.sum(9, asTheyAre);
  else if (process.argv[4] === "length") await vector.sum(8, asTheyAre);
  else await strategy.barrier();
};

/** Goes on and on, as a training does. */
scenes.endless = async (strategy) => {
  await strategy.barrier();
  note("ready");
  for (;;) await strategy.allReduce(new Float32Array(100_000));
};

scenes.throw = async (strategy) => {
  note("ready");
  if (away(strategy.rank)) throw new Error("this rank has a bad day");
  await strategy.barrier();
};

scenes.abort = async (strategy) => {
  note("ready");
  if (away(strategy.rank)) strategy.abort(7);
  await strategy.barrier();
};

/** Ends by itself in the middle of things that it has begun. */
scenes.leave = async (strategy) => {
  note("ready");
  if (!away(strategy.rank)) {
    await sleep(200);
    return;
  }
  void strategy.allReduce(new Float32Array(3));
  process.exit(0);
};

scenes.leaveSum = async (strategy) => {
  const vector = (await strategy.vector!(10))!;
  note("ready");
  if (!away(strategy.rank)) {
    await sleep(200);
    return;
  }
  void vector.sum(3, asTheyAre);
  process.exit(0);
};

/** After the error of one reduction the next one is the same error, at once. */
scenes.again = async (strategy) => {
  if (away(strategy.rank)) blockFor(1e6);
  const messages: string[] = [];
  for (let i = 0; i < 2; i++) {
    try {
      await strategy.barrier();
    } catch (caught) {
      messages.push((caught as Error).message);
    }
  }
  note("errors", { messages });
  strategy.abort(3);
};

const scene = process.argv[2]!;
note("started", { host: hostname() });
// A rank that hangs before it joins.
if (scene === "late" && process.env.OMPI_COMM_WORLD_RANK === "1") blockFor(1e6);
const strategy = await openStrategy("mpi");
// Several are played one after the other: `reduce+broadcast`.
for (const each of scene.split("+")) await scenes[each]!(strategy);
