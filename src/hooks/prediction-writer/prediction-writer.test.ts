import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDir } from "../../../tests/support/temp-dir.ts";
import { readWeights } from "../../checkpoint/index.ts";
import type { HostArray } from "../../core/arrays.ts";
import type { Hook } from "../../core/hook.ts";
import { DataLoader } from "../../data/index.ts";
import { tinyData, tinyTrainer } from "../../testing/index.ts";
import { predictionWriter } from "./prediction-writer.ts";

const loader = () => new DataLoader(tinyData(10, 3), { batchSize: 4 });

/** Writes the predictions of ten samples, and returns them as `predict` itself gives them. */
async function written(file: string, ...hooks: Hook[]): Promise<number[]> {
  await using trainer = tinyTrainer({ hooks: [predictionWriter({ file }), ...hooks] });
  return Array.from(((await trainer.predict(loader())) as HostArray).data, Number);
}

describe("predictionWriter", () => {
  it("writes JSON lines, numbered over all batches", async () => {
    const file = join(tempDir(), "deep", "p.jsonl");
    const outputs = await written(file);
    const rows = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(rows.map((row) => JSON.parse(row) as unknown)).toEqual(
      outputs.map((output, sample) => ({ sample, output })),
    );
  });

  it("writes CSV", async () => {
    const file = join(tempDir(), "p.csv");
    const outputs = await written(file);
    const rows = outputs.map((output, sample) => `${sample},${output}`);
    expect(readFileSync(file, "utf8")).toBe(`sample,output\n${rows.join("\n")}\n`);
  });

  it("writes safetensors", async () => {
    const file = join(tempDir(), "p.safetensors");
    const outputs = await written(file);
    const { output } = await readWeights(file);
    expect([output!.shape, Array.from(output!.data, Number)]).toEqual([[10, 1], outputs]);
  });

  it("shows the file only when it is complete, and leaves nothing behind after a failure", async () => {
    const dir = tempDir();
    const file = join(dir, "p.csv");
    const seen: boolean[] = [];
    const failing: Hook = {
      name: "failing",
      onPredictBatchEnd(ctx) {
        seen.push(existsSync(file));
        if (ctx.batchIdx === 1) throw new Error("in the middle");
      },
    };
    await expect(written(file, failing)).rejects.toThrow("in the middle");
    expect(seen).toEqual([false, false]);
    expect(readdirSync(dir)).toEqual([]);
  });

  it("replaces a file, unless it is told not to", async () => {
    const dir = tempDir();
    const file = join(dir, "p.csv");
    writeFileSync(file, "old");
    await using trainer = tinyTrainer({ hooks: [predictionWriter({ file, overwrite: false })] });
    await expect(trainer.predict(loader())).rejects.toThrow("p.csv exists, and `overwrite` is false");
    expect([readdirSync(dir), readFileSync(file, "utf8")]).toEqual([["p.csv"], "old"]);
    await written(file);
    expect(readFileSync(file, "utf8")).toMatch(/^sample,output\n0,/);
  });

  it("says which endings there are", () => {
    expect(() => predictionWriter({ file: "p.txt" })).toThrow(
      "p.txt has no known format. Its extension must be one of .jsonl, .csv",
    );
  });
});
