// Uploads against a bucket that checks every signature: what arrives, what a bad service costs, and what is never said.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import type { Hook, Trainer } from "hookline";
import { memoryStore, openDirectoryStore } from "hookline/checkpoint";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { s3Server, type Fault, type S3Call, type S3Server } from "../../../tests/support/s3-server.ts";
import { s3Upload, type S3UploadOptions } from "./s3-upload.ts";

let bucket: S3Server;
let folder: string;
beforeEach(async () => {
  bucket = await s3Server();
  folder = mkdtempSync(join(tmpdir(), "hookline-"));
  // The shortest pauses that chance can bring.
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await bucket.close();
  rmSync(folder, { recursive: true, force: true });
  vi.unstubAllEnvs();
});

const MB = 1 << 20;
const words = Uint32Array.from({ length: (30 * MB) / 4 }, (_, i) => Math.imul(i + 1, 2654435761));
/** No two parts of it are alike. */
const noise = (bytes: number): Uint8Array => new Uint8Array(words.buffer, 0, bytes).slice();

/** Saves at these steps, for these reasons, with a file of this size. */
const saves = (reasons: Record<number, string>, size = 0): Hook => ({
  name: "saves",
  onStepEnd(ctx) {
    const reason = reasons[ctx.step];
    if (reason !== undefined) ctx.requestSave(reason);
  },
  onBeforeSave(ctx) {
    if (size > 0) ctx.saving.files["extra.bin"] = noise(size);
  },
});

type FitOptions = NonNullable<Parameters<Trainer["fit"]>[0]>;

interface Trained {
  readonly result: Awaited<ReturnType<Trainer["fit"]>>;
  readonly warnings: string[];
}

async function train(hooks: Hook[], { resume, ...options }: TinyOptions & FitOptions = {}): Promise<Trained> {
  const warnings: string[] = [];
  const trainer = tinyTrainer({ runDir: folder, hooks, warn: (message) => void warnings.push(message), ...options });
  const result = await trainer.fit(resume === undefined ? {} : { resume });
  await trainer.close();
  return { result, warnings };
}

const upload = (options: Partial<S3UploadOptions> = {}): Hook =>
  s3Upload({ ...bucket.options, run: "digits", ...options });
const done = (operation: S3Call["operation"]): string[] =>
  bucket.calls.filter((call) => call.operation === operation).map(({ key }) => key);

/** What is in the bucket, as a directory that can be read. */
async function download(): Promise<ReturnType<typeof openDirectoryStore>> {
  const copy = mkdtempSync(join(folder, "copy-"));
  for (const [key, bytes] of bucket.objects) {
    const file = join(copy, key);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  }
  const store = await openDirectoryStore(join(copy, "digits"), { readOnly: true });
  onTestFinished(() => store.close());
  return store;
}

describe("what arrives", () => {
  it("every file, byte for byte, and the manifest last", async () => {
    const { result, warnings } = await train([
      saves({ 2: "interval", 4: "final" }, 12 * MB),
      upload({ partSize: 5 * MB }),
    ]);
    expect(warnings).toEqual([]);
    expect(bucket.unsigned).toEqual([]);
    const remote = await download();
    const local = await openDirectoryStore(join(folder, "checkpoints"), { readOnly: true });
    onTestFinished(() => local.close());
    const names = (await remote.list()).map(({ name }) => name);
    expect(names).toEqual(["step-000002", "step-000004"]);
    for (const name of names) {
      await remote.verify(name);
      const [there, here] = [await remote.load({ name }), await local.load({ name })];
      expect(Object.keys(there.files)).toEqual(Object.keys(here.files));
      for (const [file, bytes] of Object.entries(there.files)) {
        expect(Buffer.compare(bytes, here.files[file]!), file).toBe(0);
      }
    }
    // 12 MB in parts of 5 go as three; what is smaller in one piece.
    expect(done("part")).toHaveLength(6);
    expect(bucket.open.size).toBe(0);
    const written = bucket.calls.filter(({ operation }) => operation === "put" || operation === "complete");
    const ends = written.map(({ key }, i) => (key.endsWith("manifest.json") ? i : -1)).filter((i) => i >= 0);
    expect(ends).toEqual([written.length / 2 - 1, written.length - 1]);
    expect(result.metrics).toMatchObject({ "s3Upload/uploaded": 2, "s3Upload/failed": 0, "s3Upload/dropped": 0 });
    expect(result.metrics["s3Upload/bytes"]).toBeGreaterThan(24 * MB);
    await expect.poll(() => bucket.connections()).toBe(0);
  });

  it("under prefix, run and checkpoint; the run's id where none is given", async () => {
    await train([saves({ 4: "final" }), upload({ prefix: "team/a=1", run: undefined })]);
    expect([...bucket.objects.keys()].sort()[0]).toMatch(/^team\/a=1\/[0-9a-f]{8}\/step-000004\/[\w.-]+$/);
  });

  it("from a store in memory too, with the manifest that a directory would have", async () => {
    const { warnings } = await train([saves({ 4: "final" }, 6 * MB), upload({ partSize: 5 * MB })], {
      store: memoryStore(),
    });
    expect(warnings).toEqual([]);
    const remote = await download();
    expect(await remote.list()).toHaveLength(1);
    await remote.verify("step-000004");
  });

  it("only what `only` names, or chooses", async () => {
    const reasons = { 1: "interval", 2: "best", 3: "interval", 4: "final" };
    await train([saves(reasons), upload({ only: ["best", "final"] })]);
    await train([saves(reasons), upload({ run: "other", only: ({ step }) => step === 3 })], {
      runDir: join(folder, "b"),
    });
    const names = [...bucket.objects.keys()].filter((key) => key.endsWith("manifest.json"));
    expect(names.sort()).toEqual(
      ["digits/step-000002", "digits/step-000004", "other/step-000003"].map((name) => `${name}/manifest.json`),
    );
  });

  it("with the keys and the region of the environment", async () => {
    const { accessKeyId, secretAccessKey, region, ...rest } = bucket.options;
    vi.stubEnv("AWS_ACCESS_KEY_ID", accessKeyId);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", secretAccessKey);
    vi.stubEnv("AWS_REGION", region);
    expect((await train([saves({ 4: "final" }), s3Upload(rest)])).warnings).toEqual([]);
    expect(bucket.objects.size).toBeGreaterThan(2);
  });
});

describe("a run that is resumed", () => {
  it("sends nothing again that is there, and the rest of what was cut off", async () => {
    const reasons = { 2: "interval", 4: "final" };
    await train([saves(reasons, 6 * MB), upload({ partSize: 5 * MB })]);
    const before = bucket.calls.length;
    const since = (operation: string): string[] =>
      bucket.calls
        .slice(before)
        .filter((call) => call.operation === operation)
        .map(({ key }) => key);
    // As a kill would leave it: a file and the manifest are missing.
    const objects = bucket.objects as Map<string, Uint8Array>;
    objects.delete("digits/step-000004/manifest.json");
    objects.delete("digits/step-000004/model.safetensors");
    const { warnings } = await train([saves({}), upload({ partSize: 5 * MB })], { resume: "auto" });
    expect(warnings).toEqual([]);
    expect(since("part")).toEqual([]);
    expect(since("put")).toEqual(["digits/step-000004/model.safetensors", "digits/step-000004/manifest.json"]);
    await (await download()).verify("step-000004");
  });

  it("replaces another checkpoint of the same name without it looking complete in between", async () => {
    await train([saves({ 4: "final" }, 6 * MB), upload()]);
    const objects = bucket.objects as Map<string, Uint8Array>;
    let whole = true;
    bucket.fault = ({ operation, key }) => {
      if (operation === "put" && key.endsWith("manifest.json")) whole = objects.has(key);
      return undefined;
    };
    await train([saves({ 4: "final" }, 5 * MB), upload()], { runDir: join(folder, "again") });
    expect(whole).toBe(false);
    expect(done("delete")).toEqual(["digits/step-000004/manifest.json"]);
    await (await download()).verify("step-000004");
  });
});

/** Faults that pass, and the request that they hit. */
const PASSING: readonly (readonly [what: string, operation: S3Call["operation"], times: number, fault: Fault])[] = [
  ["500 for a file", "put", 1, { status: 500 }],
  ["503 with a time to wait", "put", 2, { status: 503, code: "SlowDown", retryAfter: 0 }],
  ["a slow body, as S3 calls it", "part", 1, { status: 400, code: "RequestTimeout" }],
  ["a reset in the middle of a part", "part", 1, "reset"],
  ["a part that fails twice", "part", 2, { status: 500 }],
  ["a part that hangs", "part", 1, "hang"],
  ["a part with a wrong tag", "part", 1, "wrongEtag"],
  ["a part that is cut short", "part", 1, "truncate"],
  ["a file that is cut short", "put", 1, "truncate"],
  ["500 when a file is begun", "begin", 1, { status: 500 }],
  ["500 when it is joined", "complete", 1, { status: 500 }],
  ["an error in the answer when it is joined", "complete", 1, "errorIn200"],
  ["an answer that is cut short when it is joined", "complete", 1, "shortAnswer"],
  ["500 for what is there", "head", 1, { status: 500 }],
];

describe("a service that fails for a while", () => {
  it.each(PASSING)("%s", async (_what, operation, times, fault) => {
    bucket.fault = (call) =>
      call.operation === operation && call.attempt <= times && !call.key.endsWith("manifest.json") ? fault : undefined;
    const hook = upload({ partSize: 5 * MB, ...(fault === "hang" && { timeout: 300 }) });
    const { result, warnings } = await train([saves({ 4: "final" }, 11 * MB), hook]);
    expect(warnings).toEqual([]);
    expect(result.metrics["s3Upload/uploaded"]).toBe(1);
    expect(bucket.open.size).toBe(0);
    expect(bucket.unsigned).toEqual([]);
    await (await download()).verify("step-000004");
  });
});

const allText = ({ warnings, result }: Trained): string =>
  [...warnings, ...result.hookErrors.map((error) => inspect(error, { depth: 9 }))].join("\n");

describe("a service that fails for good", () => {
  it.each([
    ["403", { status: 403, code: "AccessDenied" }, /HTTP 403 AccessDenied: check the keys/, 1],
    ["500", { status: 500 }, /HTTP 500 InternalError/, 2],
    ["resets", "reset", /ECONNRESET|EPIPE|socket hang up/, 2],
    ["hangs", "hang", /no progress within 200 ms/, 2],
    ["wrong tags", "wrongEtag", /what arrived is not what was sent/, 2],
    ["truncates", "truncate", /what arrived is not what was sent/, 2],
    ["redirects", { status: 301, code: "PermanentRedirect" }, /HTTP 301 PermanentRedirect: the bucket is elsewhere/, 1],
  ] as const)("%s: a warning, no manifest, and the run completes", async (_what, fault, message, attempts) => {
    bucket.fault = ({ operation }) => (operation === "part" ? fault : undefined);
    const hook = upload({ partSize: 5 * MB, retries: 1, concurrency: 1, ...(fault === "hang" && { timeout: 200 }) });
    const trained = await train([saves({ 4: "final" }, 11 * MB), hook]);
    expect(trained.result.status).toBe("completed");
    expect(trained.warnings).toEqual([
      expect.stringMatching(/^s3Upload, to 127\.0\.0\.1:\d+\/checkpoints: step-000004 was not sent: extra\.bin: /),
      expect.stringMatching(/`s3Upload` failed in `close`.*of 1 checkpoints 0 arrived; 1 failed/),
    ]);
    expect(trained.warnings[0]).toMatch(message);
    expect(trained.result.hookErrors).toMatchObject([{ hook: "s3Upload", event: "close" }]);
    expect(done("part")).toHaveLength(attempts);
    // Nothing that looks complete, and no parts that cost money.
    expect([...bucket.objects.keys()].filter((key) => key.includes("manifest"))).toEqual([]);
    expect(bucket.open.size).toBe(0);
    expect(allText(trained)).not.toContain(bucket.options.secretAccessKey);
    expect(allText(trained)).not.toContain(bucket.options.accessKeyId);
    await expect.poll(() => bucket.connections()).toBe(0);
  });

  it("wrong keys: a warning without them", async () => {
    const secretAccessKey = "wrong/KEY+that=nobody-must-see";
    const trained = await train([saves({ 2: "best", 4: "final" }), upload({ secretAccessKey })]);
    // The same reason twice is said once.
    expect(trained.warnings).toHaveLength(2);
    expect(trained.warnings[0]).toMatch(/HTTP 403 SignatureDoesNotMatch/);
    expect(trained.warnings[1]).toMatch(/2 failed/);
    expect(allText(trained)).not.toContain(secretAccessKey);
  });

  it("no such host is a warning", async () => {
    const hook = s3Upload({ ...bucket.options, endpoint: "https://does-not-exist.invalid", retries: 0 });
    const { result, warnings } = await train([saves({ 4: "final" }), hook]);
    expect(result.status).toBe("completed");
    expect(warnings[0]).toMatch(/does-not-exist\.invalid (does not resolve|could not be resolved)/);
  });

  it("hangs: the end waits for as long as it is told, and says what was not sent", async () => {
    bucket.fault = ({ operation, key }) => (operation === "part" && key.includes("step-000002") ? "hang" : undefined);
    const hook = upload({ partSize: 5 * MB, flushTimeout: 400 });
    const { result, warnings } = await train([saves({ 2: "best", 4: "final" }, 6 * MB), hook]);
    expect(result.status).toBe("completed");
    expect(warnings).toEqual([
      expect.stringMatching(/of 2 checkpoints 0 arrived; step-000002, step-000004 not sent before the run was over/),
    ]);
    expect([...bucket.objects.keys()].filter((key) => key.includes("manifest"))).toEqual([]);
    // It was told that these parts will not be joined.
    expect(bucket.open.size).toBe(0);
    await expect.poll(() => bucket.connections()).toBe(0);
  });

  it("hangs: training does not wait for it", async () => {
    bucket.fault = ({ operation }) => (operation === "put" ? "hang" : undefined);
    const hook = upload({ flushTimeout: 100 });
    // The loop awaits what a hook returns.
    const returned: unknown[] = [];
    const watched: Hook = { ...hook, onAfterSave: (ctx) => void returned.push(hook.onAfterSave!(ctx)) };
    const { result } = await train([saves({ 2: "best", 4: "final" }), watched]);
    expect(result.status).toBe("completed");
    expect(returned).toEqual([undefined, undefined]);
  });

  it("hangs while the run fails: the failure is what is thrown, within the loop's deadline", async () => {
    bucket.fault = ({ operation }) => (operation === "put" ? "hang" : undefined);
    const failing: Hook = {
      name: "failing",
      onStepEnd(ctx) {
        if (ctx.step === 4) throw new Error("as planned");
      },
    };
    const trained = train([saves({ 2: "best" }), upload(), failing], { closeTimeout: 1500, save: "sync" });
    await expect(trained).rejects.toThrow("as planned");
  });
});

describe("a bucket whose tags are no digests", () => {
  it("is judged by sizes", async () => {
    bucket.kms = true;
    const { warnings } = await train([saves({ 4: "final" }, 11 * MB), upload({ partSize: 5 * MB })]);
    expect(warnings).toEqual([]);
    await (await download()).verify("step-000004");
  });

  it("notices one that is cut short", async () => {
    bucket.kms = true;
    bucket.fault = ({ operation, attempt }) => (operation === "put" && attempt === 1 ? "truncate" : undefined);
    expect((await train([saves({ 4: "final" }), upload()])).warnings).toEqual([]);
    await (await download()).verify("step-000004");
    bucket.fault = ({ operation }) => (operation === "put" ? "truncate" : undefined);
    const { warnings } = await train([saves({ 4: "final" }), upload({ retries: 0 })], { runDir: join(folder, "b") });
    expect(warnings[0]).toMatch(/model\.safetensors: \d+ of \d+ bytes are there/);
  });
});

describe("keys that may write and not look", () => {
  it("are enough", async () => {
    bucket.fault = ({ operation }) => (operation === "head" ? { status: 403, code: "AccessDenied" } : undefined);
    bucket.kms = true;
    expect((await train([saves({ 2: "best", 4: "final" }), upload()])).warnings).toEqual([]);
    expect(await (await download()).list()).toHaveLength(2);
  });
});

describe("the local copy", () => {
  it("that others give up while it waits is kept until it has been sent", async () => {
    let reached = (): void => undefined;
    const onItsWay = new Promise<void>((resolve) => (reached = resolve));
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    bucket.fault = ({ operation, key }) => {
      if (operation === "begin" && key.includes("step-000001")) reached();
      return undefined;
    };
    const keeper: Hook = {
      name: "saves",
      async onStepEnd(ctx) {
        if (ctx.step <= 3) ctx.requestSave("best");
        if (ctx.step < 4) return;
        await onItsWay;
        ctx.checkpoints.release(["step-000001", "step-000002"]);
        // The store removes in the background, in the order of its calls.
        await ctx.checkpoints.read("step-000003", "model.safetensors");
        go();
      },
      onBeforeSave: (ctx) => void (ctx.saving.files["extra.bin"] = noise(30 * MB)),
    };
    bucket.bytesPerSecond = 60 * MB;
    const { result, warnings } = await train([keeper, upload({ partSize: 5 * MB, concurrency: 1 })], { save: "sync" });
    await gate;
    expect(result.status).toBe("completed");
    expect(warnings).toEqual([]);
    expect(result.hookErrors).toEqual([]);
    const there = await download();
    for (const step of [1, 2, 3]) await there.verify(`step-00000${step}`);
    expect(readdirSync(join(folder, "checkpoints")).filter((name) => name.startsWith("step"))).toEqual(["step-000003"]);
  });

  it("that was changed on the disk is not passed on", async () => {
    const spoil: Hook = {
      name: "spoil",
      before: "s3Upload",
      onAfterSave: (ctx) => writeFileSync(join(ctx.saved.dir!, "extra.bin"), noise(6 * MB).fill(0, 100, 101)),
    };
    const { warnings } = await train([saves({ 4: "final" }, 6 * MB), spoil, upload({ partSize: 5 * MB })]);
    expect(warnings[0]).toMatch(/extra\.bin: its bytes on the disk are not those that were saved/);
    expect([...bucket.objects.keys()].filter((key) => key.includes("manifest"))).toEqual([]);
    expect(bucket.open.size).toBe(0);
  });
});
