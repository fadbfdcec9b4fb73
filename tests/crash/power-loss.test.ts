// A power cut after each change of the disk: whatever of the unsynced survives, nothing is torn, and what was saved is there.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { describe, afterAll, expect, test } from "vitest";
import { nodeFs, type DiskFs } from "../../src/platform/durable-files.ts";
import type { Disk } from "../../src/checkpoint/stores/disk.ts";
import { retain } from "../../src/checkpoint/retention.ts";
import { LossyDisk, type Loss } from "../support/lossy-disk.ts";
import { filesOf, findState, infoOf, newDisk, SCENARIOS, type Scenario } from "./scenario.ts";
import { newFolder } from "./strace.ts";

const home = newFolder();
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Every combination of the first four changes with the later ones all or none, each with nothing, half or all of the data. */
const LOSSES: readonly Loss[] = [0, 0.5, 1].flatMap((data) =>
  Array.from({ length: 32 }, (_, bits) => ({
    name: `changes ${bits.toString(2).padStart(5, "0")}, ${data} of the data`,
    survives: (i: number) => ((bits >> Math.min(i, 4)) & 1) === 1,
    data,
  })),
);

interface Cuts {
  /** How many different states were left. */
  readonly count: number;
  readonly bad: readonly string[];
}

function write(to: string, remains: ReadonlyMap<string, Uint8Array | null>): string {
  rmSync(to, { recursive: true, force: true });
  for (const [path, bytes] of remains) {
    if (bytes) writeFileSync(to + path, bytes);
    else mkdirSync(to + path);
  }
  return to;
}

type Way = (store: Disk, fs: DiskFs, save: Scenario["save"]) => void;

const inOneCall: Way = (store, _, save) => void store.save(save.name, filesOf(save.step), infoOf(save));

/** As from memory that is read where it lies: another thread writes a file, and syncs nothing. */
const withLentFile: Way = (store, fs, save) => {
  const { "model.safetensors": model, ...files } = filesOf(save.step);
  const temp = store.begin(save.name, ["model.safetensors", ...Object.keys(files)]);
  const fd = fs.openSync(`${temp}/model.safetensors`, "wx");
  fs.writeSync(fd, model!, 0, 100);
  fs.writeSync(fd, model!, 100, model!.length - 100);
  store.finish(temp, save.name, files, { "model.safetensors": model!.length }, infoOf(save));
  fs.closeSync(fd);
};

/** Cuts the power after each change of a save and a prune. */
function cutEverywhere(name: string, scenario: Scenario, saveBy: Way, syncsNames: boolean): Cuts {
  const root = `${home}/${name.replaceAll(" ", "-")}-${saveBy.name}-${syncsNames}`;
  const bad: string[] = [];
  const seen = new Set<string>();
  let watching = false;
  let durable = false;
  const cut = (): void => {
    if (!watching) return;
    for (const loss of LOSSES) {
      const remains = disk.remains(loss);
      const shape = [...remains].map(([path, bytes]) => `${path} ${bytes?.length}`).join("\n") + durable;
      if (seen.has(shape)) continue;
      seen.add(shape);
      try {
        const state = findState(write(`${root}-remains`, remains), scenario);
        if (durable && state === "old") throw new Error("the save had resolved");
      } catch (error) {
        bad.push(`${loss.name}: ${(error as Error).message}`);
      }
    }
  };
  const disk = new LossyDisk(root, nodeFs(), cut, syncsNames);
  const store = newDisk(root, disk.fs);
  for (const save of scenario.before) store.save(save.name, filesOf(save.step), infoOf(save));
  disk.settle();
  watching = true;
  const { save, rules } = scenario;
  saveBy(store, disk.fs, save);
  durable = true;
  cut();
  store.remove(retain(store.list(), rules).remove);
  return { count: seen.size, bad };
}

describe.each(Object.entries(SCENARIOS))("%s", (name, scenario) => {
  test.each([inOneCall, withLentFile])("survives a power cut after each change: $name", (saveBy) => {
    const { count, bad } = cutEverywhere(name, scenario, saveBy, true);
    expect(bad).toEqual([]);
    expect(count).toBeGreaterThan(20);
  });

  test("would not, if directories were not synced", () => {
    expect(cutEverywhere(name, scenario, inOneCall, false).bad).not.toEqual([]);
  });
});
