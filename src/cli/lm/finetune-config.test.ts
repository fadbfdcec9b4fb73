// The config of `hookline finetune`: how it looks at its data.
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tempDir } from "../../../tests/support/temp-dir.ts";
import { finetuneConfig } from "./finetune-config.ts";

const FLAGS = { lora: 4, length: 8, batchSize: 1, epochs: 1 };

test.each([
  ["39 examples", "{}\n".repeat(39), 0, undefined],
  ["40 examples", "{}\n".repeat(40), 0, 0.05],
  ["more than one string can hold", "{}\n".repeat(40), 2 ** 30, 0.05],
])("a file of %s", async (_, lines, size, val) => {
  const dir = tempDir();
  mkdirSync(`${dir}/base`);
  const data = `${dir}/chats.jsonl`;
  writeFileSync(data, lines);
  if (size > 0) truncateSync(data, size);
  const { value } = await finetuneConfig(`${dir}/base`, { ...FLAGS, data, out: `${dir}/run` });
  expect((value["data"] as { readonly val?: number }).val).toBe(val);
});

test("a directory in place of the data is named", async () => {
  const dir = tempDir();
  await expect(finetuneConfig(dir, { ...FLAGS, data: dir, out: `${dir}/run` })).rejects.toThrow(
    /is not a file\. --data/,
  );
});
