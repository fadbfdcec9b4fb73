// Uploads seen from outside: killed on the way, with a checkpoint larger than their memory, and while steps are timed.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDirectoryStore } from "hookline/checkpoint";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { s3Server, type S3Server } from "../support/s3-server.ts";
import type { S3ChildOptions, S3ChildReport } from "./s3-child.ts";
import { compiled } from "../support/programs.ts";

const script = compiled(new URL("./s3-child.ts", import.meta.url));
const MB = 1 << 20;

let bucket: S3Server;
let folder: string;
beforeEach(async () => {
  bucket = await s3Server();
  folder = mkdtempSync(join(tmpdir(), "hookline-"));
});
afterEach(async () => {
  await bucket.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(
  mode: S3ChildOptions["mode"],
  more: Partial<S3ChildOptions["upload"]> = {},
  ...args: string[]
): ChildProcess {
  const options: S3ChildOptions = { mode, folder, upload: { ...bucket.options, run: "r", ...more } };
  return spawn(process.execPath, [script, JSON.stringify(options), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

const ended = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => void child.on("close", resolve));

async function report(child: ChildProcess): Promise<S3ChildReport> {
  let output = "";
  child.stdout!.on("data", (chunk) => (output += String(chunk)));
  expect(await ended(child)).toBe(0);
  return JSON.parse(output) as S3ChildReport;
}

const manifests = (): string[] => [...bucket.objects.keys()].filter((key) => key.endsWith("manifest.json"));

it("killed on the way it leaves nothing that looks complete, and the resumed run makes it so", async () => {
  bucket.bytesPerSecond = 8 * MB;
  const child = start("train", { partSize: 5 * MB, concurrency: 2 });
  // In the middle of the parts, when the first has arrived.
  await vi.waitFor(
    () => expect(bucket.calls.filter(({ operation }) => operation === "part").length).toBeGreaterThan(2),
    {
      timeout: 300_000,
      interval: 10,
    },
  );
  child.kill("SIGKILL");
  await ended(child);
  expect(manifests()).toEqual([]);
  bucket.bytesPerSecond = Infinity;
  const resumed = start("train", { partSize: 5 * MB }, "resume");
  expect(await ended(resumed)).toBe(0);
  expect(manifests()).toEqual(["r/step-000003/manifest.json"]);
  expect(bucket.unsigned).toEqual([]);
});

it("takes no more memory than the parts on their way, however large the checkpoint", async () => {
  const store = await openDirectoryStore(folder);
  const info = { step: 1, epoch: 0, reason: "best", metrics: {}, time: 1, runId: "r" };
  await store.save("large", { "model.bin": new Uint8Array(200 * MB).fill(7), "small.json": new Uint8Array(100) }, info);
  await store.close();
  const { external, rss, seconds } = await report(start("memory", { partSize: 8 * MB, concurrency: 4 }));
  console.log(
    `200 MB in ${seconds!.toFixed(1)} s: external +${(external! / MB).toFixed(1)} MB, rss +${(rss! / MB).toFixed(1)} MB`,
  );
  expect(bucket.objects.get("r/large/model.bin")!.byteLength).toBe(200 * MB);
  // Four parts of 8 MB, and what the sockets hold of them.
  expect(external!).toBeLessThan(48 * MB);
  expect(rss!).toBeLessThan(120 * MB);
});

it("goes on with its steps while it sends to a slow service", async () => {
  bucket.bytesPerSecond = 16 * MB;
  const { quiet, busy } = await report(start("steps"));
  const quantile = (values: readonly number[], q: number): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length * q)]!;
  const show = (values: readonly number[]): string =>
    [0.5, 0.9, 0.99].map((q) => quantile(values, q).toFixed(0)).join(" / ");
  console.log(
    `p50 / p90 / p99 of a step in µs: ${show(quiet!)} of ${quiet!.length} alone, ${show(busy!)} of ${busy!.length} while it sends`,
  );
  expect(manifests()).toHaveLength(1);
  // How long they take is printed, and not a matter of right or wrong: the machine may be busy with other things.
  expect(busy!.length).toBeGreaterThan(0);
});
