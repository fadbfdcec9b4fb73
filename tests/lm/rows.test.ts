// Several texts at once give what each gives alone: packed into one row, or as rows of different lengths with a cache.
import { describe, expect, test } from "vitest";
import { loadModel } from "hookline/lm";
import { ENGINE } from "./engines.ts";
import { goldenFolder, readGolden, relativeError } from "./golden-files.ts";
import { greedy, int32, logitsFor, withEngine } from "./programs.ts";

/** One with every kind of layer, one with windows, one with learned positions. */
const FAMILIES = ["gemma3", "mistral", "gpt2"] as const;

const range = (n: number, from = 0): number[] => Array.from({ length: n }, (_, i) => from + i);

describe.each(FAMILIES)("%s", (name) => {
  test("texts packed into a row have the logits of rows of their own", async () => {
    const model = await loadModel(goldenFolder(name));
    const ids = [...(await readGolden(name)).ids.data].slice(0, 40);
    await withEngine(ENGINE, async (engine) => {
      const [first, second] = [ids.slice(0, 15), ids.slice(15)];
      const [a, b] = [
        await logitsFor(engine, model, { ids: int32(first, [1, 15]) }),
        await logitsFor(engine, model, { ids: int32(second, [1, 25]) }),
      ];
      const apart = [...a.data, ...b.data];
      const packed = await logitsFor(engine, model, {
        ids: int32(ids, [1, 40]),
        positions: int32([...range(15), ...range(25)], [1, 40]),
        segments: int32([...range(15).map(() => 0), ...range(25).map(() => 1)], [1, 40]),
      });
      expect(relativeError(packed.data, apart)).toBeLessThan(1e-5);
      const leaking = await logitsFor(engine, model, { ids: int32(ids, [1, 40]) });
      expect(relativeError(leaking.data, apart)).toBeGreaterThan(1e-2);
    });
  });

  test("prompts of different lengths continue as each does alone", async () => {
    const model = await loadModel(goldenFolder(name));
    const { generated } = await readGolden(name);
    const prompts = [generated.slice(0, 10), generated.slice(3, 7), generated.slice(20, 37)];
    await withEngine(ENGINE, async (engine) => {
      const alone: number[][] = [];
      for (const prompt of prompts) alone.push(...(await greedy(engine, model, [prompt], 20)));
      expect(await greedy(engine, model, prompts, 20)).toEqual(alone);
    });
  });
});
