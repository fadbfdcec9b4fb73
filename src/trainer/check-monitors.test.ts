import { describe, expect, test } from "vitest";
import { DataLoader } from "../data/index.ts";
import { memoryStore } from "../checkpoint/memory-store.ts";
import { modelCheckpoint } from "../hooks/model-checkpoint.ts";
import { plateau, sequence, sgd } from "../optim/index.ts";
import { tinyData, tinyTrainer } from "../testing/index.ts";

const evaluates = () => ({ eval: new DataLoader(tinyData(4), { batchSize: 4 }) });

describe("a run without evaluations", () => {
  test("a schedule that watches them is an error before it starts", async () => {
    const seen: string[] = [];
    const hooks = [{ name: "sees", onInit: () => void seen.push("init") }];
    await expect(tinyTrainer({ schedule: plateau(), hooks }).fit()).rejects.toThrow(
      "Schedule `plateau` watches `val/loss`, which comes after evaluations, but there are none: give the trainer `eval`, or let the schedule watch `train/loss`.",
    );
    expect(seen).toEqual([]);
    const inside = sequence([{ until: 2, schedule: plateau() }, { schedule: plateau() }]);
    await expect(tinyTrainer({ optimizer: sgd({ lr: 0.1, schedule: inside }) }).fit()).rejects.toThrow(
      "`sequence` watches `val/loss`",
    );
  });

  test("so is a hook that cannot do without them", async () => {
    const best = (strict: boolean) => [modelCheckpoint({ monitor: "val/loss", strict })];
    const trainer = (strict: boolean) => tinyTrainer({ store: memoryStore(), hooks: best(strict) });
    await expect(trainer(true).fit()).rejects.toThrow(
      "Hook `modelCheckpoint` watches `val/loss`, which comes after evaluations, but there are none: give the trainer `eval`; or, where a hook of yours logs it, say `strict: false`.",
    );
    expect((await trainer(false).fit()).status).toBe("completed");
    const mine = tinyTrainer({ hooks: [{ name: "mine", monitors: ["eval_loss"] }] });
    await expect(mine.fit()).rejects.toThrow("Hook `mine` watches `eval_loss`");
    mine.hooks.disable("mine");
    expect((await mine.fit()).status).toBe("completed");
  });

  test("what watches the training is fine, and so is a trainer that only evaluates", async () => {
    expect((await tinyTrainer({ schedule: plateau({ monitor: "train/loss" }) }).fit()).status).toBe("completed");
    await tinyTrainer({ schedule: plateau() }).evaluate(evaluates().eval);
    expect((await tinyTrainer({ ...evaluates(), schedule: plateau() }).fit()).status).toBe("completed");
  });
});
