// The traces of each rank, in files that a person has read: the same but for what the main rank alone does.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { play } from "./play.ts";
import { mpirunWorks } from "./ranks.ts";
import type { Scene, Seen } from "./scene.ts";

const dir = mkdtempSync(join(tmpdir(), "hookline-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const small = { samples: 16, batchSize: 4, traced: true } as const;
const SCENES: readonly Scene[] = [
  {
    ...small,
    name: "plain",
    epochs: 1,
    clipNorm: 1,
    evalEvery: "2 steps",
    runDir: `${dir}/plain`,
    hooks: ["checkpoints"],
  },
  { ...small, name: "stop", steps: 12, hooks: ["stopInStepEnd"] },
  { ...small, name: "skips", steps: 4, hooks: ["skipInStepBegin", "skipBatchLater"] },
];

describe.skipIf(!mpirunWorks)("golden traces of two ranks", () => {
  let seen: (scene: string) => readonly Seen[];
  beforeAll(async () => {
    seen = await play(2, SCENES);
  });

  it.each(SCENES.flatMap(({ name }) => [[name, 0] as const, [name, 1] as const]))("%s, rank %i", async (name, rank) => {
    await expect(seen(name)[rank]!.trace).toMatchFileSnapshot(`./golden/${name}-rank-${rank}.txt`);
  });
});
