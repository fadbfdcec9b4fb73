// Files larger than memory: chunks leave nothing behind, and train a model through a fitted preprocessor.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DataLoader, Preprocessor, readChunks, readTable } from "hookline/data";
import { crossEntropy, linear } from "hookline/nn";
import { adam } from "hookline/optim";
import { tinyTrainer } from "hookline/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { heapInUse } from "../support/heap.ts";

const MB = 2 ** 20;

let dir: string;
beforeAll(async () => void (dir = await mkdtemp(join(tmpdir(), "streaming-"))));
afterAll(() => rm(dir, { recursive: true }));

/** Rows that are all different, in blocks of about 1 MB. */
async function* generated(megabytes: number): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  yield encoder.encode("id,value,plan,name\n");
  let id = 0;
  for (let block = 0; block < megabytes; block++) {
    let text = "";
    while (text.length < MB) text += `${id},${(id % 977) / 8},${id % 3 ? "basic" : "pro"},"customer ${id++}"\n`;
    yield encoder.encode(text);
  }
}

test("memory does not grow with the file", async () => {
  const used: number[] = [];
  let rows = 0;
  let sum = 0;
  for await (const table of readChunks(generated(24), { chunkRows: 5000 })) {
    const { values } = table.column("id") as { values: Float64Array };
    for (const value of values) sum += value;
    rows += table.rowCount;
    // 5,000 rows have about 200 kB.
    if (rows % 100_000 === 0) {
      const heap = heapInUse();
      used.push(heap + process.memoryUsage().arrayBuffers);
    }
  }
  expect(sum).toBe((rows * (rows - 1)) / 2);
  expect(rows).toBeGreaterThan(550_000);
  const grown = Math.max(...used.slice(2)) - used[1]!;
  expect(grown, used.map((bytes) => (bytes / MB).toFixed(1)).join(", ")).toBeLessThan(8 * MB);
});

test("a file is trained on chunk by chunk, epoch by epoch", async () => {
  const file = join(dir, "customers.csv");
  const rows = Array.from({ length: 1000 }, (_, i) => {
    const age = 18 + ((i * 37) % 60);
    return `${i % 11 === 0 ? "" : age},${i % 3 ? "basic" : "pro"},${age > 45 ? "yes" : "no"}`;
  });
  await writeFile(file, `age,plan,churn\n${rows.join("\n")}\n`);

  const columns = { age: "number", plan: "string", churn: "string" } as const;
  const preprocessor = new Preprocessor({
    columns: { age: ["impute", "standardise"], plan: "oneHot" },
    target: "churn",
  });
  // Fitted on a first part that does fit into memory.
  for await (const first of readChunks(file, { columns, chunkRows: 500 })) {
    preprocessor.fit(first);
    break;
  }
  async function* batches() {
    for await (const chunk of readChunks(file, { columns, chunkRows: 64 })) yield preprocessor.transform(chunk);
  }
  const whole = preprocessor.transform(await readTable(file, { columns }));
  const streamed: number[] = [];
  for await (const { x } of batches()) streamed.push(...x!.data);
  expect(streamed).toEqual([...whole.x!.data]);

  const losses: number[] = [];
  const trainer = tinyTrainer({
    model: linear(preprocessor.width, 2),
    loss: crossEntropy(),
    optimizer: adam({ lr: 0.1 }),
    train: new DataLoader(batches),
    epochs: 3,
    hooks: [{ name: "losses", onStepEnd: ({ loss }) => void losses.push(loss) }],
  });
  const { steps } = await trainer.fit();
  expect(steps).toBe(3 * Math.ceil(1000 / 64));
  expect(losses.at(-1)).toBeLessThan(losses[0]! * 0.7);
  await trainer.close();
});
