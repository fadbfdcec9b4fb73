// Touching a file ends the run, an old one does not, and a disk that hangs holds nothing up.
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore } from "hookline/checkpoint";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { stopFile, type StopFileOptions } from "./stop-file.ts";

let path: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  path = join(folder, "STOP");
  // A busy disk may answer later than the hook waits: here it answers at once.
  const atOnce = (file: string) => Promise.resolve().then(() => statSync(file));
  vi.spyOn(process.getBuiltinModule("node:fs/promises"), "stat").mockImplementation(atOnce as never);
});
afterEach(() => void vi.restoreAllMocks());

/** A run of at most 50 steps; `at` happens after step 3. */
async function train(at: () => void, options: Partial<StopFileOptions> = {}, more: TinyOptions = {}) {
  const trainer = tinyTrainer({ hooks: [stopFile({ path, every: 1, ...options })], steps: 50, ...more });
  trainer.on("stepBegin", { at: [3] }, at);
  return { trainer, result: await trainer.fit() };
}

describe("stopFile", () => {
  it("stops the run when the file appears, and says so", async () => {
    const { result } = await train(() => writeFileSync(path, ""));
    expect(result).toMatchObject({
      status: "stopped",
      steps: 3,
      reason: `the file ${path} was touched`,
      requestedBy: "stopFile",
    });
    expect(existsSync(path)).toBe(true);
  });

  it("ignores a file from before the run, until it is touched", async () => {
    writeFileSync(path, "");
    expect((await train(() => undefined)).result).toMatchObject({ status: "completed", steps: 50 });
    const later = new Date(Date.now() + 60_000);
    expect((await train(() => utimesSync(path, later, later))).result).toMatchObject({ status: "stopped", steps: 3 });
  });

  it("goes on in a second fit: the file that stopped the first is old by then", async () => {
    const { trainer, result } = await train(() => writeFileSync(path, ""));
    expect(result.steps).toBe(3);
    expect(await trainer.fit()).toMatchObject({ status: "completed", steps: 50 });
  });

  it("takes a folder for a file", async () => {
    expect((await train(() => mkdirSync(path))).result).toMatchObject({ status: "stopped", steps: 3 });
  });

  it("looks as often as it is told", async () => {
    const { result } = await train(() => writeFileSync(path, ""), { every: "5 steps" });
    expect(result.steps).toBe(5);
  });

  it("waits for a disk that hangs once, and not for its answer", async () => {
    const fs = process.getBuiltinModule("node:fs/promises");
    const looks = vi.spyOn(fs, "stat");
    const { result } = await train(() => looks.mockReturnValue(new Promise(() => undefined)));
    expect(result.status).toBe("completed");
    // At the beginning, at two steps, and the one that hangs.
    expect(looks).toHaveBeenCalledTimes(4);
  });

  it("counts an answer that came too late at the next look", async () => {
    const fs = process.getBuiltinModule("node:fs/promises");
    const slowly = async (file: string) => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return statSync(file);
    };
    const trainer = tinyTrainer({ hooks: [stopFile({ path, every: 1 })], steps: 50 });
    trainer.on("stepBegin", { at: [3] }, () => {
      writeFileSync(path, "");
      vi.spyOn(fs, "stat").mockImplementation(slowly as never);
    });
    trainer.on("stepBegin", () => new Promise((resolve) => setTimeout(resolve, 20)));
    const result = await trainer.fit();
    expect(result.status).toBe("stopped");
    expect(result.steps).toBeGreaterThan(3);
    expect(result.steps).toBeLessThan(15);
  });

  it("takes a moment's failure for no wish to stop", async () => {
    const fs = process.getBuiltinModule("node:fs/promises");
    const { result } = await train(() => vi.spyOn(fs, "stat").mockRejectedValue(new Error("EIO")));
    expect(result.status).toBe("completed");
  });

  it("saves where it stops, so that the run can go on from there", async () => {
    for (const save of ["sync", "async"] as const) {
      const store = memoryStore();
      rmSync(path, { force: true });
      const { result } = await train(() => writeFileSync(path, ""), {}, { store, save });
      expect(result).toMatchObject({ status: "stopped", steps: 3 });
      expect(await store.list()).toEqual([expect.objectContaining({ name: "step-000003", reason: "stop file" })]);
      // The file is still there, and old by then.
      const resumed = tinyTrainer({ hooks: [stopFile({ path, every: 1 })], steps: 50, store });
      expect(await resumed.fit({ resume: "auto" })).toMatchObject({ status: "completed", steps: 50 });
    }
  });

  it("saves nothing when told so", async () => {
    const store = memoryStore();
    const { result } = await train(() => writeFileSync(path, ""), { save: false }, { store });
    expect(result.steps).toBe(3);
    expect(await store.list()).toEqual([]);
  });

  it("a stop that minSteps refuses again and again saves twice: at once, and where the run ends", async () => {
    const store = memoryStore();
    const { result } = await train(() => writeFileSync(path, ""), {}, { store, save: "sync", minSteps: 20 });
    expect(result).toMatchObject({ status: "stopped", steps: 20 });
    expect((await store.list()).map(({ name, reason }) => [name, reason])).toEqual([
      ["step-000003", "stop file"],
      ["step-000020", "final"],
    ]);
  });

  it.each([
    [{}, /missing option `path`/],
    [{ path: "STOP", evry: 1 }, /unknown option `evry`. Did you mean `every`\?/],
  ])("refuses %o", (options, message) => {
    expect(() => stopFile(options as StopFileOptions)).toThrow(message);
  });
});
