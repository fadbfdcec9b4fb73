// examples/lm in its short form: a base from nothing, an adapter on it, both tested on unseen films, and a merged model.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { tempDir } from "../support/temp-dir.ts";

test("a base is pretrained and fine-tuned, and its answers before and after are shown", () => {
  const dir = tempDir();
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "examples/lm/finetune.ts", "--quick"],
    {
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      env: {
        ...process.env,
        CI: "true",
        LM_FOLDER: join(dir, "base"),
        LM_PRETRAINING: join(dir, "pretraining"),
        LM_OUT: join(dir, "records"),
      },
      encoding: "utf8",
    },
  );
  expect(status, stdout + stderr).toBe(0);
  expect(stdout).toMatch(/24 conversations, /);
  expect(stdout.match(/^BEFORE +│ AFTER$/gm)).toHaveLength(5);
  expect(stdout).toMatch(/perplexity of the answers [\d.]+ +│ [\d.]+\n/);
  expect(stdout).toMatch(/records that are right 0 % +│ 0 %\n/);
  for (const file of ["config.json", "model.safetensors", "tokenizer.json"])
    expect(existsSync(join(dir, "records", file)), file).toBe(true);
});
