// One-off looks into the model: outputs and activations of one batch, nothing registered.
import { Trainer, type HostArray } from "hookline";
import { DataLoader } from "hookline/data";
import { dropout, linear, sequential } from "hookline/nn";
import { expect, test } from "vitest";
import { classes, classifier, POINTS, text, transformer } from "../support/probed.ts";

test("gives the outputs and all activations, and leaves nothing registered", async () => {
  await using trainer = transformer();
  const { outputs, activations } = await trainer.runWithProbes(text);
  expect(activations.names).toEqual(POINTS);
  expect(activations.get("head")).toEqual(outputs);
  expect(activations.get("blocks.0.attn.pattern").shape).toEqual([16, 2, 6, 6]);
  expect(outputs).toEqual(await trainer.predict(new DataLoader(text, { batchSize: 16 })));
  expect(trainer.hooks.list()).toEqual([]);
});

test("looks at one point while others are replaced", async () => {
  await using trainer = transformer();
  const plain = await trainer.runWithProbes(text, { match: "head" });
  const replaced = await trainer.runWithProbes(text, {
    match: ["head", "blocks.1.attn"],
    replace: { "blocks.1.attn.pattern": (x) => x.mul(0), "blocks.0.mlp.branch": (x) => x.mul(0) },
  });
  expect(replaced.activations.names).toEqual(["blocks.1.attn", "head"]);
  expect(replaced.activations.get("head")).not.toEqual(plain.activations.get("head"));
  const itself = await trainer.runWithProbes(text, { match: "head", replace: (x) => x.mul(0) });
  expect(Array.from((itself.outputs as HostArray).data).every((v) => v === 0)).toBe(true);
  await expect(trainer.runWithProbes(text, { replace: { nope: (x) => x } })).rejects.toThrow(
    '`match` ("nope") is no point',
  );
});

test("in training mode drops what training drops", async () => {
  const model = sequential(linear(5, 8), dropout(0.5), linear(8, 3));
  await using trainer = new Trainer({ ...classifier().options, model });
  const zeros = async (train: boolean): Promise<number> => {
    const { activations } = await trainer.runWithProbes(classes, { match: "1", train });
    return Array.from(activations.get("1").data).filter((v) => v === 0).length;
  };
  expect(await zeros(false)).toBe(0);
  expect(await zeros(true)).toBeGreaterThan(30);
});

test("works inside a hook, and changes nothing there", async () => {
  const norms: number[] = [];
  await using trainer = classifier();
  trainer.on("afterBackward", async () => {
    const { activations } = await trainer.runWithProbes(classes, { collect: "stats", match: "2" });
    norms.push(activations.stats("2").norm);
  });
  const result = await trainer.fit();
  await using other = classifier();
  expect(result.metrics).toEqual((await other.fit()).metrics);
  expect(new Set(norms).size).toBe(4);
});

test("rejects unknown options with the nearest name", async () => {
  await using trainer = classifier();
  await expect(trainer.runWithProbes(classes, { colect: "stats" } as never)).rejects.toThrow("Did you mean `collect`?");
  expect(() => classifier({ hooks: [{ name: "h", probes: { match: "0", every: 3 } as never }] })).toThrow(
    "Hook `h`: probes: unknown option `every`",
  );
  expect(() => classifier({ hooks: [{ name: "h", probes: {} as never }] })).toThrow("missing option `match`");
});
