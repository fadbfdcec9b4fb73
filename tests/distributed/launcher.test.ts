// What `hookline launch` makes of an mpirun that does not do its part after a rank has failed, as Open MPI 4.1's does now and then.
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FAILURE_FILE } from "../../src/distributed/environment.ts";
import { compiled } from "../support/programs.ts";
import { tempDir } from "../support/temp-dir.ts";

/** Runs this script in place of mpirun; a rank of it notes its exit code with `fail <code>`. */
function launched(script: string) {
  const folder = tempDir();
  const path = `${folder}/mpirun`;
  writeFileSync(path, `#!/bin/sh\nfail() { sh -c "printf $1 > $${FAILURE_FILE}; sleep 3"; }\n${script}\n`);
  chmodSync(path, 0o755);
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  return spawnSync(process.execPath, [compiled(new URL("./launcher.ts", import.meta.url))], { env }).status;
}

test("mpirun loses the exit code of the rank that failed", () => {
  expect(launched("fail 3; exit 0")).toBe(3);
});

test("mpirun knows better than the ranks", () => {
  expect(launched("fail 3; exit 137")).toBe(137);
});

test("mpirun does not end after its ranks", () => {
  expect(launched("fail 3; exec sleep 3000")).toBe(3);
});

test("no rank has failed", () => {
  expect(launched("sleep 1; exit 0")).toBe(0);
});
