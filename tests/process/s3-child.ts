// Uploads in a process of its own, for s3-upload.test.ts: it is killed, its memory is measured, or its steps are timed.
import { openDirectoryStore } from "../../src/checkpoint/index.ts";
import { s3Upload, type S3UploadOptions } from "../../src/hooks/s3-upload/s3-upload.ts";
import { tinyTrainer } from "../../src/testing/index.ts";

export interface S3ChildOptions {
  readonly mode: "train" | "memory" | "steps";
  readonly folder: string;
  readonly upload: S3UploadOptions;
}

export interface S3ChildReport {
  /** `memory`: bytes above what was in use before. */
  readonly external?: number;
  readonly rss?: number;
  readonly seconds?: number;
  /** `steps`: microseconds of a step while nothing was uploaded, and while something was. */
  readonly quiet?: readonly number[];
  readonly busy?: readonly number[];
}

const { mode, folder, upload } = JSON.parse(process.argv[2]!) as S3ChildOptions;
const extra = new Uint8Array(16 << 20).map((_, i) => (i * 31) % 251);

/** Saves once and trains on until it is killed. */
async function train(): Promise<void> {
  const trainer = tinyTrainer({ runDir: folder, steps: 1e6, hooks: [s3Upload(upload)] });
  trainer.on("stepEnd", (ctx) => (ctx.step === 3 ? ctx.requestSave("best") : undefined));
  trainer.on("beforeSave", (ctx) => void (ctx.saving.files["extra.bin"] = extra));
  await trainer.fit({ ...(process.argv[3] === "resume" && { resume: "auto", steps: 10 }) });
}

/** Uploads the one checkpoint that lies in the folder, without training. */
async function memory(): Promise<S3ChildReport> {
  const store = await openDirectoryStore(folder, { readOnly: true, thread: false });
  const [saved] = await store.list();
  const hook = s3Upload(upload);
  const ctx = {
    saved,
    checkpoints: { list: () => [saved], hold() {}, release() {} },
    config: {},
    log: () => undefined,
    status: "completed",
  };
  await hook.onTrainBegin!(ctx as never);
  const before = process.memoryUsage();
  let [external, rss] = [0, 0];
  const look = setInterval(() => {
    const now = process.memoryUsage();
    external = Math.max(external, now.external - before.external);
    rss = Math.max(rss, now.rss - before.rss);
  }, 5);
  const start = performance.now();
  await hook.onAfterSave!(ctx as never);
  await hook.onTrainEnd!(ctx as never);
  await hook.onClose!(ctx as never);
  clearInterval(look);
  return { external, rss, seconds: (performance.now() - start) / 1000 };
}

/** Times steps for a while with an upload to a slow service under way, and for a while without. */
async function steps(): Promise<S3ChildReport> {
  const [quiet, busy]: number[][] = [[], []];
  const trainer = tinyTrainer({ runDir: folder, steps: 1e9, samples: 4096, batchSize: 64, hooks: [s3Upload(upload)] });
  let phase: "warm up" | "busy" | "rest" | "quiet" = "warm up";
  let since = 0;
  let last = 0;
  const enter = (next: typeof phase): void => void ([phase, since] = [next, performance.now()]);
  trainer.on("beforeSave", (ctx) => void (ctx.saving.files["extra.bin"] = extra));
  trainer.on("afterSave", () => enter("busy"));
  trainer.on("stepEnd", (ctx) => {
    const now = performance.now();
    const taken = (now - last) * 1000;
    last = now;
    if (phase === "busy") busy!.push(taken);
    if (phase === "quiet") quiet!.push(taken);
    const spent = now - since;
    // The service takes a second for the file, at the least.
    if (phase === "busy" && spent > 900) enter("rest");
    // By then it has long arrived.
    else if (phase === "rest" && spent > 1500) enter("quiet");
    else if (phase === "quiet" && spent > 900) ctx.stop("enough");
    else if (phase === "warm up" && ctx.step === 2000) ctx.requestSave("best");
  });
  await trainer.fit();
  return { quiet: quiet!, busy: busy! };
}

if (mode === "train") await train();
else console.log(JSON.stringify(mode === "memory" ? await memory() : await steps()));
