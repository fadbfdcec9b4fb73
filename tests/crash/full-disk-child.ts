// Saves on a disk that is too small, then on one that cannot be written; what it saw goes to its output, a line each.
import { readdirSync } from "node:fs";
import { openDirectoryStore } from "../../src/checkpoint/stores/directory-store.ts";
import { filesOf, infoOf } from "./scenario.ts";

const [root, mode] = process.argv.slice(2) as [string, string];

const messageOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "none",
    (error: unknown) => String(error),
  );

async function fullDisk(): Promise<object> {
  const store = await openDirectoryStore(root, { thread: false });
  const save = (step: number, bytes: number): Promise<unknown> =>
    store.save(`step-${step}`, filesOf(step, bytes), infoOf({ name: "", step, loss: 1 }));
  await save(1, 100_000);
  // The third of this does not fit: the first write beyond the room is a short one.
  const error = await messageOf(save(2, 2_500_000));
  const visible = (): string[] => readdirSync(root).filter((name) => !name.endsWith(".lock"));
  const afterError = visible();
  const loaded = (await store.load()).checkpoint.step;
  await save(3, 400_000);
  const afterSmaller = visible();
  await store.close();
  return { error, afterError, loaded, afterSmaller };
}

async function readOnlyDisk(): Promise<object> {
  const error = await messageOf(openDirectoryStore(root));
  const reader = await openDirectoryStore(root, { readOnly: true, thread: false });
  return { error, loaded: (await reader.load()).checkpoint.step };
}

process.stdout.write(`${JSON.stringify(await (mode === "full" ? fullDisk() : readOnlyDisk()))}\n`);
