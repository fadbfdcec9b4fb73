// The strategy over real MPI: what it computes, and how all ranks end when one of them cannot go on.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { compiled } from "../support/programs.ts";
import { tempDir } from "../support/temp-dir.ts";
import { NOTES_VARIABLE } from "./notes.ts";
import { mpirunWorks, runRanks, startRanks, type RanksEnd } from "./ranks.ts";

const child = new URL("./mpi-child.ts", import.meta.url);
const scene = (n: number, ...args: string[]): Promise<RanksEnd> => runRanks(n, child, { args });

/** How often `text` was printed. */
const times = (text: string, printed: string): number => printed.split(text).length - 1;

describe.skipIf(!mpirunWorks)("what the ranks do together", () => {
  it.each([1, 2, 4])("%i reduce vectors of all kinds and sizes, to the same bits, and broadcast bytes", async (n) => {
    const { code, stderr, notes } = await scene(n, "reduce+broadcast");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const right = notes.filter(({ note }) => note === "broadcast").map((each) => each.right);
    expect(right).toEqual(Array.from({ length: 4 * n }, () => true));
    const reduced = notes.filter(({ note }) => note === "reduced");
    expect(reduced).toHaveLength(n * 9 * 3);
    for (const { name, op, error, hash } of reduced) {
      expect(error, `${op} of ${name}`).toBeLessThanOrEqual(op === "sum" ? n * 1e-7 : 0);
      const others = reduced.filter((each) => each.name === name && each.op === op);
      expect(new Set(others.map((each) => each.hash))).toEqual(new Set([hash]));
    }
    // One alone has no order to add in.
    if (n === 1) return;
    const again = await scene(n, "reduce");
    const hashes = (all: RanksEnd["notes"]): unknown[] =>
      all.filter(({ note }) => note === "reduced").map(({ hash }) => hash);
    expect(hashes(again.notes)).toEqual(hashes(notes));
  });

  it.each([2, 3, 4])("%i add up vectors in shared memory, to the same bits in every run", async (n) => {
    const { code, stderr, notes } = await scene(n, "sum");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const summed = notes.filter(({ note }) => note === "summed");
    expect(summed).toHaveLength(n * 6);
    for (const { length, is, error, hash } of summed) {
      expect(is).toBe(length);
      expect(error, String(length)).toBeLessThanOrEqual(n * 1e-7);
      expect(summed.filter((each) => each.length === length && each.hash !== hash)).toEqual([]);
    }
    const scaled = notes.filter(({ note }) => note === "scaled");
    expect(scaled.map(({ right }) => right)).toEqual(Array.from({ length: n }, () => true));
    const inTurn = notes.filter(({ note }) => note === "in turn");
    expect(inTurn.map(({ wrong }) => wrong)).toEqual(Array.from({ length: n }, () => 0));
    const hashes = (all: RanksEnd["notes"]): unknown[] => all.map(({ hash }) => hash).filter(Boolean);
    expect(hashes((await scene(n, "sum")).notes)).toEqual(hashes(notes));
  });

  it("none leaves a barrier before all have come", async () => {
    const { code, notes } = await scene(4, "barrier");
    expect(code).toBe(0);
    const moments = (kind: string): number[] => notes.filter(({ note }) => note === kind).map(({ at }) => at);
    expect(Math.min(...moments("left"))).toBeGreaterThanOrEqual(Math.max(...moments("came")));
  });

  it("what is small is done at once, without a promise", async () => {
    const { notes } = await scene(2, "atOnce");
    const promises = notes.filter(({ note }) => note === "promises").map((each) => each.promises as number);
    // Of 200, on a rank. Where something else has the cores, one rank must wait for the other now and then.
    expect(promises).toHaveLength(2);
    expect(Math.min(...promises)).toBeLessThan(200);
  });

  it("timers and signals live while a rank waits", async () => {
    const { notes } = await scene(2, "alive");
    const [waiting] = notes.filter(({ note }) => note === "ticks");
    expect(waiting).toMatchObject({ rank: 0 });
    expect(waiting!.ticks).toBeGreaterThanOrEqual(5);
    expect(notes.filter(({ note }) => note === "signal")).toHaveLength(1);
  });

  it("several strategies share MPI, which one's close does not end", async () => {
    const { code, notes } = await scene(2, "twice");
    expect(code).toBe(0);
    expect(notes.filter(({ note }) => note === "twice")).toMatchObject([
      { sum: 4, same: true },
      { sum: 4, same: true },
    ]);
  });
});

// One that is not ended hangs: these limits are shorter than the 600 s after which a rank gives up by itself.
describe.skipIf(!mpirunWorks)("all end, and say why once, when a rank", () => {
  it.each([0, 1, 3])("is killed (rank %i of 4)", async (rank) => {
    const ranks = startRanks(4, child, { args: ["hang", String(rank)] });
    const { pid } = await ranks.until("ready", rank);
    for (const other of [0, 1, 2, 3]) await ranks.until("ready", other);
    process.kill(pid, "SIGKILL");
    const { code, stderr } = await ranks.end;
    expect(code).not.toBe(0);
    expect(times("signal 9 (Killed)", stderr)).toBe(1);
    expect(stderr).toContain(`rank ${rank}`);
    await ranks.allGone();
  });

  it.each([
    ["1", 0, "rank 1 of 4 has not come to it"],
    ["0", 1, "rank 0 of 4 has not come to it"],
    ["1,2", 0, "ranks 1, 2 of 4 have not come to it"],
  ])("hangs (%s)", async (hanging, teller, who) => {
    const ranks = startRanks(4, child, { args: ["hang", hanging], env: { HOOKLINE_MPI_TIMEOUT: "4" } });
    const { code, stderr } = await ranks.end;
    expect(code).toBe(1);
    expect(times("DistributedError", stderr)).toBe(1);
    expect(stderr).toContain(`Rank ${teller} has waited 4 s for the allReduce (sum of 3 numbers); ${who}`);
    await ranks.allGone();
  });

  it("hangs while the others add up in shared memory", async () => {
    const ranks = startRanks(3, child, { args: ["hangInSum", "1"], env: { HOOKLINE_MPI_TIMEOUT: "4" } });
    const { code, stderr } = await ranks.end;
    expect(code).toBe(1);
    expect(times("DistributedError", stderr)).toBe(1);
    expect(stderr).toContain("Rank 0 has waited 4 s for the sum (of 3 numbers); rank 1 of 3 has not come to it");
    await ranks.allGone();
  });

  it("is killed while the others add up in shared memory", async () => {
    const ranks = startRanks(3, child, { args: ["hangInSum", "1"] });
    const { pid } = await ranks.until("ready", 1);
    for (const other of [0, 2]) await ranks.until("ready", other);
    process.kill(pid, "SIGKILL");
    const { code, stderr } = await ranks.end;
    expect(code).not.toBe(0);
    expect(times("signal 9 (Killed)", stderr)).toBe(1);
    await ranks.allGone();
  });

  it.each(["length", "operation"])("adds up another %s in shared memory", async (kind) => {
    const ranks = startRanks(3, child, { args: ["unlikeSum", "1", kind] });
    const { code, stderr } = await ranks.end;
    expect(code).toBe(1);
    expect(stderr).toContain("DistributedError");
    expect(stderr).toContain("does something else: one of them has another number of batches");
    await ranks.allGone();
  });

  it("hangs before it joins", async () => {
    const ranks = startRanks(2, child, { args: ["late"], env: { HOOKLINE_MPI_TIMEOUT: "4" } });
    const end = await ranks.end;
    expect(end.code).not.toBe(0);
    expect(times("has waited 4 s for all 2 to come to MPI", end.stderr)).toBe(1);
    await ranks.allGone();
  });

  it("throws", async () => {
    const ranks = startRanks(4, child, { args: ["throw", "2"] });
    const end = await ranks.end;
    expect(end.code).toBe(1);
    expect(times("Error: this rank has a bad day", end.stderr)).toBe(1);
    expect(end.stderr).toContain("Uncaught on rank 2 of 4");
    await ranks.allGone();
  });

  it("aborts, with its exit code", async () => {
    const ranks = startRanks(4, child, { args: ["abort", "3"] });
    expect((await ranks.end).code).toBe(7);
    await ranks.allGone();
  });

  it.each(["leave", "leaveSum"])("exits in the middle of a reduction (%s)", async (name) => {
    const ranks = startRanks(2, child, { args: [name, "1"] });
    expect((await ranks.end).code).toBe(1);
    await ranks.allGone();
  });

  it("is overdue, and asked again", async () => {
    const { code, notes } = await runRanks(2, child, { args: ["again", "1"], env: { HOOKLINE_MPI_TIMEOUT: "4" } });
    expect(code).toBe(3);
    const { messages } = notes.find(({ note }) => note === "errors") as unknown as { messages: string[] };
    expect(messages).toHaveLength(2);
    expect(messages[0]).toContain("has waited 4 s for the barrier");
    expect(messages[1]).toBe(messages[0]);
  });
});

describe("alone", () => {
  it.skipIf(!mpirunWorks)("a process that nobody launched is a world of one", () => {
    const args = [compiled(child), "twice"];
    const env = { ...process.env, [NOTES_VARIABLE]: tempDir() };
    const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it("says what to install where koffi is not", async () => {
    // Away from node_modules, where nothing but Node itself is found.
    const outfile = `${tempDir()}/mpi.mjs`;
    const source = `import { openStrategy } from "./src/distributed/strategy.ts";\nawait openStrategy("mpi");`;
    const stdin = {
      contents: source,
      resolveDir: fileURLToPath(new URL("../../", import.meta.url)),
      loader: "ts",
    } as const;
    await build({ stdin, outfile, bundle: true, format: "esm", platform: "node" });
    const { stderr } = spawnSync(process.execPath, [outfile], { encoding: "utf8" });
    expect(stderr).toContain("calls MPI through koffi, which is not there. Get it with `npm install koffi@3.3`.");
  });
});
