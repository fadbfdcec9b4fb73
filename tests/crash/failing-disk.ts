// A hook that makes the disk of a run fail from a step on, until so many saves have failed.
import { spawnSync } from "node:child_process";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Hook } from "../../src/index.ts";

export interface Fault {
  /** `full` fills the file system up; `read-only` mounts it anew, which needs a mount namespace of its own. */
  readonly kind: "full" | "read-only";
  /** Where the file system is mounted. */
  readonly mount: string;
  readonly from: number;
  /** It works again after so many failed saves; else never. */
  readonly failures?: number;
}

export function failingDisk({ kind, mount, from, failures }: Fault): Hook {
  const filler = `${mount}/filler`;
  let failed = 0;
  const begin = (): Promise<void> | void => (kind === "full" ? fill(filler) : remount(mount, "ro"));
  const end = (): Promise<void> | void => (kind === "full" ? rmSync(filler) : remount(mount, "rw"));
  return {
    name: "failing disk",
    onStepEnd: ({ step }) => (step === from ? begin() : undefined),
    onSaveError: () => (++failed === failures ? end() : undefined),
  };
}

function fill(file: string): void {
  const fd = openSync(file, "w");
  const bytes = Buffer.alloc(1 << 16);
  try {
    // What does not fit as a whole is cut short, so that not even a byte is left in the end.
    for (;;) writeSync(fd, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(fd);
  }
}

async function remount(mount: string, mode: "ro" | "rw"): Promise<void> {
  // Refused as long as a save has a file open.
  for (let tries = 0; spawnSync("/bin/mount", ["-o", `remount,${mode}`, mount]).status !== 0; tries++) {
    if (tries === 1000) throw new Error(`${mount} cannot be mounted anew`);
    await sleep(2);
  }
}
