// Calls that wait together are one batch; each gets its own results, or its own error.
import { expect, test } from "vitest";
import { BatchQueue } from "./batch-queue.ts";

/** A queue that doubles numbers and records the batches it computed. */
function doubling(limits: { maxRows: number; deadline: number }) {
  const batches: number[][] = [];
  const queue = new BatchQueue<number, number>(async (rows) => {
    batches.push([...rows]);
    if (rows.includes(-1)) throw new RangeError("-1 is refused");
    return rows.map((row) => 2 * row);
  }, limits);
  return { queue, batches };
}

test("calls of the same moment are one batch, and each gets its own rows", async () => {
  const { queue, batches } = doubling({ maxRows: 100, deadline: 0 });
  const results = await Promise.all([queue.add([1, 2]), queue.add([3]), queue.add([4, 5, 6])]);
  expect(results).toEqual([[2, 4], [6], [8, 10, 12]]);
  expect(batches).toEqual([[1, 2, 3, 4, 5, 6]]);
  expect(queue.pending).toBe(0);
});

test("a batch has at most maxRows, in the order of the calls", async () => {
  const { queue, batches } = doubling({ maxRows: 4, deadline: 0 });
  await Promise.all([queue.add([1, 2, 3]), queue.add([4, 5]), queue.add([6]), queue.add([7])]);
  expect(batches).toEqual([
    [1, 2, 3],
    [4, 5, 6, 7],
  ]);
});

test("with a deadline the first row waits for others, and a full batch does not wait", async () => {
  const { queue, batches } = doubling({ maxRows: 3, deadline: 1e6 });
  const first = queue.add([1]);
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(batches).toEqual([]);
  await Promise.all([first, queue.add([2, 3])]);
  expect(batches).toEqual([[1, 2, 3]]);
});

test("drained() does not wait for the deadline", async () => {
  const { queue } = doubling({ maxRows: 3, deadline: 1e6 });
  const first = queue.add([1]);
  await new Promise((resolve) => setTimeout(resolve, 10));
  await queue.drained();
  expect(await first).toEqual([2]);
});

test("a failing call fails alone", async () => {
  const { queue, batches } = doubling({ maxRows: 100, deadline: 0 });
  const results = await Promise.allSettled([queue.add([1]), queue.add([-1]), queue.add([3])]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(results[1]).toMatchObject({ reason: new RangeError("-1 is refused") });
  expect(batches).toEqual([[1, -1, 3], [1], [-1], [3]]);
  expect(queue.pending).toBe(0);
  expect(await queue.add([5])).toEqual([10]);
});

test("an aborted call rejects with the signal's reason, and its rows are not computed", async () => {
  const { queue, batches } = doubling({ maxRows: 100, deadline: 0 });
  const controller = new AbortController();
  const aborted = queue.add([1], controller.signal);
  const other = queue.add([2]);
  controller.abort(new Error("gone"));
  await expect(aborted).rejects.toThrow("gone");
  expect(await other).toEqual([4]);
  expect(batches).toEqual([[2]]);
  await expect(queue.add([3], controller.signal)).rejects.toThrow("gone");
});

test("calls that come while a batch is computed form the next one", async () => {
  const batches: number[] = [];
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const queue = new BatchQueue<number, number>(
    async (rows) => {
      batches.push(rows.length);
      if (batches.length === 1) await gate;
      return [...rows];
    },
    { maxRows: 100, deadline: 0 },
  );
  const first = queue.add([1]);
  while (batches.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const later = [2, 3, 4].map((row) => queue.add([row]));
  expect(queue.pending).toBe(4);
  open();
  await Promise.all([first, ...later]);
  expect(batches).toEqual([1, 3]);
});
