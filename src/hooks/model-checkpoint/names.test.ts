import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openDirectoryStore } from "../../checkpoint/stores/directory-store.ts";
import { memoryStore } from "../../checkpoint/stores/memory-store.ts";
import { script, scripted, best, namesIn, flaky, folder } from "../../../tests/support/checkpoints.ts";
import { modelCheckpoint } from "./model-checkpoint.ts";

describe("names", () => {
  it("filename: from the metrics after the boundary's evaluation, with their names or without", async () => {
    const filename = "epoch_{epoch}_loss_{val/x:.2f}";
    for (const [options, name] of [
      [{}, "epoch_epoch=1_loss_val_x=0.25"],
      [{ autoInsertMetricName: false }, "epoch_1_loss_0.25"],
    ] as const) {
      const store = memoryStore();
      await using trainer = scripted(store, [0.5, 0.25], [best({ filename, ...options })]);
      await trainer.fit();
      expect(await namesIn(store)).toEqual([name]);
    }
  });

  it("never leave the directory, whatever a metric is called", async () => {
    const dir = folder();
    const hostile = "../../val/x\u0000 : con";
    const hooks = [script([0.5], hostile), best({ monitor: hostile, filename: "{../../val/x\u0000 }", strict: false })];
    await using trainer = scripted(await openDirectoryStore(join(dir, "c")), [0.5], hooks);
    await trainer.fit();
    expect(readdirSync(dir)).toEqual(["c"]);
    expect(readdirSync(join(dir, "c")).filter((name) => !name.startsWith("."))).toEqual(["step-000001"]);
    const slashes = memoryStore();
    await using other = scripted(slashes, [0.5], [best({ filename: "../{val/x}/{epoch}" })]);
    await other.fit();
    expect(await namesIn(slashes)).toEqual(["__val_x=0.5_epoch=0"]);
  });

  it("that are taken get the step behind them, so that none is overwritten", async () => {
    const { store, attempts } = flaky(() => false);
    await using trainer = scripted(store, [3, 2, 1], [best({ filename: "best", saveTopK: 2 })]);
    await trainer.fit();
    expect(attempts).toEqual(["best", "best-step-000002", "best-step-000003"]);
    expect(await namesIn(store)).toEqual(["best-step-000002", "best-step-000003"]);
  });

  it("of an earlier run in the same place are left alone too", async () => {
    const store = memoryStore();
    for (let i = 0; i < 2; i++) {
      await using trainer = scripted(store, [3, 2], [best({ filename: "best", saveTopK: 2 })]);
      await trainer.fit();
    }
    const saved = await store.list();
    expect(saved.map(({ step }) => step)).toEqual([1, 1, 2, 2]);
    expect(new Set(saved.map(({ runId }) => runId)).size).toBe(2);
  });

  it("a metric that is not there is an error, but not for the last save", async () => {
    const hook = modelCheckpoint({ every: 1, filename: "{val/y}" });
    await using trainer = scripted(memoryStore(), [1], [hook]);
    await expect(trainer.fit()).rejects.toThrow(
      /modelCheckpoint: The file name template has \{val\/y\}, but there is no such metric/,
    );
    const store = memoryStore();
    const last = modelCheckpoint({ every: 9, filename: "{val/y}" });
    await using other = scripted(store, [1], [last]);
    await other.fit();
    expect(await store.list()).toMatchObject([{ name: "step-000001", reason: "final" }]);
    const lax = memoryStore();
    await using third = scripted(lax, [1], [modelCheckpoint({ every: 1, filename: "{val/y}", strict: false })]);
    await third.fit();
    expect(await namesIn(lax)).toEqual(["step-000001"]);
  });
});
