// What the OPFS tests run in a page or in a worker: saves that never end, a look at what they left, and single calls.
import { openOpfsStore } from "../../src/checkpoint/stores/opfs-store.ts";
import type { CheckpointInfo, CheckpointStore } from "../../src/checkpoint/store.ts";

const PATH = "runs/test/checkpoints";
const SIZE = 40_000;

const filesOf = (step: number, size = SIZE): Record<string, Uint8Array> => ({
  "model.safetensors": new Uint8Array(size).fill(step % 251),
  "state.json": new Uint8Array(size).fill((step + 1) % 251),
});
const infoOf = (step: number): CheckpointInfo => ({
  step,
  epoch: 0,
  reason: "interval",
  metrics: {},
  time: step,
  runId: "opfs",
});

/** The lock of a tab that was killed is freed a moment later. */
async function open(): Promise<CheckpointStore> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await openOpfsStore(PATH);
    } catch (error) {
      if (attempt === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Saves, replaces and prunes until it is killed; says each step that was saved. */
async function saveForEver(saved: (step: number) => void): Promise<void> {
  const store = await open();
  let step = (await store.list()).at(-1)?.step ?? 0;
  for (;;) {
    step++;
    await store.save(step % 3 === 0 ? "best" : `step-${step}`, filesOf(step), infoOf(step));
    saved(step);
    const names = (await store.list()).map(({ name }) => name);
    await store.remove(names.slice(0, -2));
  }
}

export interface Look {
  readonly step: number;
  readonly whole: boolean;
  readonly skipped: number;
  readonly folders: number;
}

async function look(): Promise<Look> {
  const store = await open();
  const listed = await store.list();
  if (listed.length === 0) return { step: 0, whole: true, skipped: 0, folders: 0 };
  const { checkpoint, files, skipped } = await store.load();
  const whole = Object.entries(filesOf(checkpoint.step)).every(
    ([file, bytes]) => String(bytes) === String(files[file]),
  );
  await store.close();
  return { step: checkpoint.step, whole, skipped: skipped.length, folders: listed.length };
}

/** Saves one small and one large checkpoint, and says how the second ended and which is loaded. */
async function saveBeyondQuota(): Promise<{ error: string; loaded: string; left: string[] }> {
  const store = await openOpfsStore("runs/quota");
  await store.remove((await store.list()).map(({ name }) => name));
  await store.save("small", filesOf(1, 1000), infoOf(1));
  const error = await store.save("large", filesOf(2, 8 << 20), infoOf(2)).then(
    () => "none",
    (error: unknown) => String(error),
  );
  const loaded = (await store.load()).checkpoint.name;
  const left = await store.sweep();
  await store.close();
  return { error, loaded, left };
}

async function replaceAndRemove(): Promise<unknown> {
  const store = await openOpfsStore("runs/plain");
  await store.save("best", filesOf(1, 10), infoOf(1));
  await store.save("best", filesOf(2, 10), infoOf(2));
  await store.save("other", filesOf(1, 10), infoOf(1));
  const second = await openOpfsStore("runs/plain").catch(String);
  const listed = (await store.list()).map(({ name, step }) => `${name} ${step}`);
  const [first] = await store.read("best", "model.safetensors");
  await store.remove(["best"]);
  const after = (await store.list()).map(({ name }) => name);
  await store.close();
  return { second, listed, first, after };
}

/** Parts, one of them in shared memory, and a file that something else wrote to afterwards. */
async function partsAndDamage(): Promise<unknown> {
  const store = await openOpfsStore("runs/parts");
  const shared = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true }).buffer;
  const model = [Uint8Array.of(1, 2), new Uint8Array(shared, 8, 2).fill(3), Uint8Array.of(4)];
  const saved = await store.save("a", { model, "state.json": model[0]! }, { ...infoOf(1), by: ["mine"] });
  const read = String(await store.read("a", "model"));
  const { by } = (await store.list())[0]!;
  const intact = await store.verify("a").then(() => true);
  let dir = await navigator.storage.getDirectory();
  for (const part of saved.dir!.split("/")) dir = await dir.getDirectoryHandle(part);
  const stream = await (await dir.getFileHandle("state.json")).createWritable();
  await stream.write(Uint8Array.of(1, 3));
  await stream.close();
  const damaged = await store.verify("a").catch(String);
  await store.close();
  return { read, by, intact, damaged };
}

const api = { look, saveBeyondQuota, replaceAndRemove, partsAndDamage };
type Call = keyof typeof api;

if (typeof document === "undefined") {
  addEventListener("message", ({ data }: MessageEvent<Call | "saveForEver">) => {
    if (data === "saveForEver") void saveForEver((step) => postMessage(step));
    else void api[data]().then((result) => postMessage(result));
  });
} else {
  let worker: Worker | undefined;
  Object.assign(globalThis, {
    ...api,
    saveForEver,
    startWorker(saved: (step: number) => void) {
      worker = new Worker("/page.js", { type: "module" });
      worker.addEventListener("message", ({ data }: MessageEvent<number>) => saved(data));
      worker.postMessage("saveForEver");
    },
    killWorker: () => worker?.terminate(),
    inWorker: (call: Call) =>
      new Promise((resolve) => {
        const worker = new Worker("/page.js", { type: "module" });
        worker.addEventListener("message", ({ data }) => resolve(data));
        worker.postMessage(call);
      }),
  });
}
