// Uploads against moto, which others wrote: pip install "moto[server]". By hand: npx vitest run tests/interop/s3-moto
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openDirectoryStore } from "hookline/checkpoint";
import { tinyTrainer } from "hookline/testing";
import { S3mini } from "s3mini";
import { expect, onTestFinished, test } from "vitest";
import { s3Upload } from "../../src/hooks/s3-upload/s3-upload.ts";

const moto = "moto_server";
const found = spawnSync(moto, ["--help"], { timeout: 120_000 }).status === 0;
if (!found) console.log('Skipped: uploads against moto. Install it: pip install "moto[server]"');

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });

test.skipIf(!found)("what was saved can be read from there", async () => {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const server = spawn(moto, ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  const keys = { accessKeyId: "testing", secretAccessKey: "testing-secret", region: "eu-central-1" };
  const s3 = new S3mini({ endpoint: `${endpoint}/checkpoints`, ...keys });
  await expect.poll(() => s3.createBucket().catch(() => false), { timeout: 120_000, interval: 200 }).toBe(true);

  const warnings: string[] = [];
  const local = { allowHttp: true, allowPrivate: true };
  const hook = s3Upload({ endpoint, bucket: "checkpoints", run: "digits", partSize: 5 << 20, ...keys, ...local });
  const trainer = tinyTrainer({ runDir: folder, hooks: [hook], warn: (message) => void warnings.push(message) });
  trainer.on("stepEnd", (ctx) => (ctx.step % 2 === 0 ? ctx.requestSave("best") : undefined));
  const extra = new Uint8Array(13 << 20).map((_, i) => (i * 31) % 251);
  trainer.on("beforeSave", (ctx) => void (ctx.saving.files["extra.bin"] = extra));
  const { metrics } = await trainer.fit();
  await trainer.close();
  expect(warnings).toEqual([]);
  expect(metrics["s3Upload/uploaded"]).toBe(2);

  const copy = join(folder, "copy");
  const objects = (await s3.listObjects())!;
  for (const { Key } of objects) {
    mkdirSync(dirname(join(copy, Key)), { recursive: true });
    writeFileSync(join(copy, Key), new Uint8Array((await s3.getObjectArrayBuffer(Key))!));
  }
  expect(objects.find(({ Key }) => Key.endsWith("000004/extra.bin"))!.ETag).toMatch(/-3/);
  const store = await openDirectoryStore(join(copy, "digits"), { readOnly: true });
  onTestFinished(() => store.close());
  expect((await store.list()).map(({ name }) => name)).toEqual(["step-000002", "step-000004"]);
  for (const { name } of await store.list()) await store.verify(name);
  expect(Buffer.compare(await store.read("step-000004", "extra.bin"), extra)).toBe(0);
});
