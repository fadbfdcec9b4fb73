// Calls that come while another is under way: they share one model on the device, and leave the run as it is.
import type { Engine, Hook, Trainer } from "hookline";
import { memoryStore, readWeights } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { cosine } from "hookline/optim";
import { tinyData, tinyTrainer } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { selectEngine } from "../../src/engines/select.ts";
import { testEngine } from "../../src/testing/tiny.ts";
import { tempDir } from "../support/temp-dir.ts";

const batch = tinyData(4);

/** How many buffers are held on an engine that is the user's own, and so stays open. */
async function watchedEngine(): Promise<{ readonly engine: Engine; held(): number }> {
  const inner = await selectEngine(testEngine());
  const held = new Set<unknown>();
  const engine: Engine = {
    name: inner.name,
    syncRead: inner.syncRead,
    put(host) {
      const buffer = inner.put(host);
      held.add(buffer);
      return buffer;
    },
    read: (buffer) => inner.read(buffer),
    jit: (fn, options) => inner.jit(fn, options),
    copy: (buffer) => inner.copy(buffer),
    free(buffer) {
      held.delete(buffer);
      inner.free(buffer);
    },
    close: () => inner.close(),
  };
  return { engine, held: () => held.size };
}

/** Looks at the model again and again, whatever fit() is awaiting meanwhile. */
async function lookSoon(trainer: Trainer): Promise<void> {
  const looks: Promise<unknown>[] = [];
  for (let i = 0; i < 10; i++) {
    looks.push(trainer.runWithProbes(batch), trainer.probePoints(batch), trainer.stateDict());
    await Promise.resolve();
  }
  await Promise.all(looks);
}

describe("a look into the model while fit() starts", () => {
  test("sees the model that is trained", async () => {
    await using trainer = tinyTrainer();
    let trained: unknown;
    trainer.on("trainEnd", async (ctx) => void (trained = await ctx.params.get("weight")));
    const done = trainer.fit();
    await lookSoon(trainer);
    await done;
    expect((await trainer.stateDict()).weight).toEqual(trained);
    await using alone = tinyTrainer();
    await alone.fit();
    expect(trained).toEqual((await alone.stateDict()).weight);
  });

  test("does not make checkpoints of another model", async () => {
    const runDir = tempDir();
    const save: Hook = { name: "save", onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end", name: "last" }) };
    await using trainer = tinyTrainer({ runDir, hooks: [save] });
    const done = trainer.fit();
    await lookSoon(trainer);
    await done;
    await using alone = tinyTrainer();
    await alone.fit();
    const { weight } = await readWeights(`${runDir}/checkpoints/last`);
    expect(weight!.data).toEqual((await alone.stateDict()).weight!.data);
  });

  test("which cannot be, leaves the next call to try again", async () => {
    let broken = true;
    const { engine: inner } = await watchedEngine();
    const engine: Engine = {
      ...inner,
      put(host) {
        if (broken) throw new Error("no device");
        return inner.put(host);
      },
    };
    await using trainer = tinyTrainer({ engine });
    const both = await Promise.allSettled([trainer.stateDict(), trainer.runWithProbes(batch)]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    broken = false;
    expect((await trainer.fit()).status).toBe("completed");
  });
});

describe("what is dropped while it is being built", () => {
  test("by close() is freed", async () => {
    const { engine, held } = await watchedEngine();
    const trainer = tinyTrainer({ engine });
    const looking = trainer.stateDict();
    await trainer.close();
    await looking;
    await trainer.close();
    expect(held()).toBe(0);
  });

  test("by fit({ restart }) is freed, and not what trains", async () => {
    const run = async (looks: boolean) => {
      const { engine, held } = await watchedEngine();
      const trainer = tinyTrainer({ engine });
      const looking = looks ? trainer.stateDict() : undefined;
      const { metrics } = await trainer.fit({ restart: true });
      await looking;
      const weights = await trainer.stateDict();
      await trainer.close();
      // What a program took with it is not freed here.
      return { metrics, weights, held: held() };
    };
    expect(await run(true)).toEqual(await run(false));
  });
});

test("a fit() that is refused changes nothing for the one that runs", async () => {
  const rates = async (during?: (fit: () => Promise<unknown>) => Promise<void>): Promise<number[]> => {
    const seen: number[] = [];
    await using trainer = tinyTrainer({ epochs: 3, schedule: cosine({ interval: "epoch" }) });
    trainer.on("stepEnd", (ctx) => void seen.push(ctx.lr));
    if (during) trainer.on("trainBegin", () => during(() => trainer.fit({ epochs: 50 })));
    await trainer.fit();
    return seen;
  };
  const refused = await rates((fit) => expect(fit()).rejects.toThrow("while fit() is running"));
  expect(refused).toEqual(await rates());
});

test("the training run does not see evaluate()", async () => {
  const store = memoryStore();
  const save: Hook = { name: "save", onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end", name: "last" }) };
  const val = new DataLoader(tinyData(8, 2), { batchSize: 4 });
  await using trainer = tinyTrainer({ eval: val, store, hooks: [save] });
  await trainer.fit();
  expect(await trainer.evaluate(val)).toHaveProperty("test/loss");
  const { history, metrics } = await trainer.fit({ epochs: 2 });
  const told = [metrics, ...history.map((row) => row.metrics)].flatMap((row) => Object.keys(row));
  expect(told).toContain("val/loss");
  expect(told).not.toContain("test/loss");
  const { files } = await store.load();
  expect(new TextDecoder().decode(files["state.json"])).not.toContain("test/loss");
});
