import { Worker } from "node:worker_threads";
import { afterEach, expect, test, vi } from "vitest";
import { Control, Stopping } from "./control.ts";

const THREAD = 1;
let worker: Worker | undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  await worker?.terminate();
});

/** Another thread, with the same cells and a moment to take before it does something. */
async function otherThread(control: Control, script: string): Promise<void> {
  const source = new URL("./control.ts", import.meta.url).href;
  const program = `
    const { workerData, parentPort } = require("node:worker_threads");
    import("tsx/esm/api").then(async ({ tsImport }) => {
      const { Control } = await tsImport(${JSON.stringify(source)}, ${JSON.stringify(source)});
      const control = new Control(workerData);
      const linger = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
      ${script}
    });
  `;
  const started = new Worker(program, { eval: true, workerData: control.cells });
  worker = started;
  await new Promise((resolve) => started.once("message", resolve));
}

test("waiting for a part is not counted by the clock: a process may be stopped meanwhile", async () => {
  const control = Control.create(2);
  const number = control.publish(1, 0);
  await otherThread(control, `parentPort.postMessage(0); linger(); control.reportDone(${THREAD}, ${number}, false);`);
  const now = performance.now.bind(performance);
  let hours = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now() + ++hours * 3_600_000);
  expect(control.awaitDone(THREAD, number, 60_000)).toBe(true);
});

test("a part that is never done is given up", () => {
  const control = Control.create(2);
  expect(control.awaitDone(THREAD, control.publish(1, 0), 40)).toBe(false);
});

test("the end of the process waits for native code, and lets none begin", async () => {
  const control = Control.create(2);
  const ended = new Int32Array(control.cells.buffer, control.cells.byteLength - 4);
  await otherThread(
    control,
    `control.native(${THREAD}, () => { parentPort.postMessage(0); linger(); Atomics.store(workerData, workerData.length - 1, 1); });`,
  );
  expect(control.awaitNoNative(60_000)).toBe(true);
  expect(Atomics.load(ended, 0)).toBe(1);
  expect(() => control.native(THREAD, () => 1)).toThrow(Stopping);
  expect(() => control.native(THREAD, () => 1, true)).toThrow(Stopping);
});

test("a thread that is to end frees what it has, and begins nothing else", () => {
  const control = Control.create(2);
  expect(control.native(THREAD, () => 1)).toBe(1);
  control.close();
  expect(() => control.native(THREAD, () => 1)).toThrow(Stopping);
  expect(control.native(THREAD, () => 2, true)).toBe(2);
});

test.each([THREAD, 2])(
  "thread %i, asked to help or not, waits neither for a stop that it has missed nor through one",
  async (thread) => {
    const control = Control.create(3);
    control.ask(2);
    const heard = control.heard(thread)!;
    control.close();
    control.awaitNews(heard);
    expect(control.heard(thread)).toBeUndefined();
  },
);
