// Where uploads may go and with what: options, keys, the package; and that no key is ever shown.
import { inspect } from "node:util";
import { HookError, type Hook } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { tinyTrainer } from "hookline/testing";
import type { S3mini as RealS3mini } from "s3mini";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it, onTestFinished, vi } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { s3Server, type S3Server } from "../../../tests/support/s3-server.ts";
import { s3Upload, type S3UploadOptions } from "./s3-upload.ts";
import type { S3mini } from "./bucket.ts";

let bucket: S3Server;
beforeEach(async () => void (bucket = await s3Server()));
afterEach(async () => {
  await bucket.close();
  vi.unstubAllEnvs();
});

const saves: Hook = { name: "saves", onEpochEnd: (ctx) => ctx.requestSave("final") };

async function train(...hooks: Hook[]) {
  const warnings: string[] = [];
  const trainer = tinyTrainer({ store: memoryStore(), hooks, warn: (message) => void warnings.push(message) });
  const result = await trainer.fit();
  await trainer.close();
  const text = [...warnings, ...result.hookErrors.map((error) => inspect(error, { depth: 9 }))].join("\n");
  return { result, warnings, text };
}

describe("what is missing ends the run before its first step", () => {
  async function failure(hook: Hook): Promise<string> {
    let steps = 0;
    const error: unknown = await train(hook, { name: "counts", onStepBegin: () => void steps++ }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(HookError);
    expect(steps).toBe(0);
    return inspect(error, { depth: 9 });
  }

  it("keys", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "");
    const { accessKeyId: _, secretAccessKey: __, ...rest } = bucket.options;
    expect(await failure(s3Upload(rest))).toMatch(/`trainBegin`.*there are no keys for .*set AWS_ACCESS_KEY_ID/);
  });

  it("keys that can be signed with: a session token cannot", async () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"])
      vi.stubEnv(name, "planted-secret");
    const { accessKeyId: _, secretAccessKey: __, ...rest } = bucket.options;
    const text = await failure(s3Upload(rest));
    expect(text).toMatch(/`trainBegin`.*are temporary/);
    expect(text).not.toContain("planted");
  });

  it("the package, with the version to install", async () => {
    vi.doMock("s3mini", () => {
      throw new Error("Cannot find package");
    });
    onTestFinished(() => {
      vi.doUnmock("s3mini");
    });
    vi.resetModules();
    const fresh = await import("./s3-upload.ts");
    const [, hint] = /needs the package s3mini\. Install it: npm install s3mini@(\S+)/.exec(
      await failure(fresh.s3Upload(bucket.options)),
    )!;
    expect(manifest.peerDependencies.s3mini).toMatch(new RegExp(`^\\^${hint}\\.`));
  });
});

describe("options", () => {
  const endpoint = "https://s3.example.com";
  const SECRET = "hunter22-hunter22";

  it.each([
    [{}, /missing option `endpoint`/],
    [{ endpoint, bukcet: "x" }, /unknown option `bukcet`. Did you mean `bucket`\?/],
    [{ endpoint: "s3.example.com" }, /whole URL/],
    [{ endpoint: 7 }, /Expected `endpoint` to be a URL/],
    [{ endpoint: `https://me:${SECRET}@s3.example.com` }, /plain address/],
    [{ endpoint: `https://s3.example.com/?token=${SECRET}` }, /plain address/],
    [{ endpoint: "http://s3.example.com" }, /begin with https:\/\/.*allowHttp/],
    [{ endpoint: "https://10.0.0.1" }, /10\.0\.0\.1.*allowPrivate/],
    [{ endpoint: "https://169.254.169.254" }, /allowPrivate/],
    [{ endpoint: "https://localhost:9000" }, /localhost.*allowPrivate/],
    [{ endpoint, bucket: "a/b" }, /Expected `bucket`/],
    [{ endpoint, prefix: "a/../../other" }, /Expected `prefix`/],
    [{ endpoint, prefix: "/a" }, /Expected `prefix`/],
    [{ endpoint, run: ".." }, /Expected `run`/],
    [
      { endpoint, secretAccessKey: 12345678 },
      /Expected `secretAccessKey` to be a non-empty string \(it is not shown\)/,
    ],
    [{ endpoint, secretAccessKey: SECRET }, /missing option `accessKeyId`: the two keys go together/],
    [{ endpoint, partSize: 1000 }, /Expected `partSize` to be a whole number ≥ 5242880/],
    [{ endpoint, concurrency: 0 }, /Expected `concurrency`/],
    [{ endpoint, retries: -1 }, /Expected `retries`/],
    [{ endpoint, only: "best" }, /Expected `only`/],
  ])("%o is an error", (options, message) => {
    const make = (): Hook => s3Upload(options as unknown as S3UploadOptions);
    expect(make).toThrow(message);
    expect(make).not.toThrow(SECRET);
    expect(make).not.toThrow("12345678");
  });

  it("a name that leads into a private network is refused", async () => {
    const dns = process.getBuiltinModule("node:dns").promises;
    vi.spyOn(dns.Resolver.prototype, "resolve4").mockResolvedValue(["10.0.0.7"]);
    vi.spyOn(dns.Resolver.prototype, "resolve6").mockRejectedValue(Object.assign(new Error(), { code: "ENODATA" }));
    onTestFinished(() => void vi.restoreAllMocks());
    const hook = s3Upload({ ...bucket.options, endpoint: "https://inside.example", allowPrivate: false });
    const { warnings } = await train(saves, hook);
    expect(warnings[0]).toMatch(/inside\.example is 10\.0\.0\.7, .*allowPrivate: true/);
  });

  it("show no keys, wherever the hook is printed", async () => {
    let config = "";
    const dump: Hook = {
      name: "dump",
      onTrainEnd: (ctx) => void (config = inspect(ctx.config, { depth: 20, showHidden: true })),
    };
    const hook = s3Upload(bucket.options);
    await train(saves, hook, dump);
    for (const text of [config, JSON.stringify(hook), inspect(hook, { depth: 20, showHidden: true })]) {
      expect(text).not.toContain(bucket.options.secretAccessKey);
      expect(text).not.toContain(bucket.options.accessKeyId);
    }
  });

  it("what is used of s3mini is what it has", () => {
    expectTypeOf<RealS3mini>().toExtend<S3mini>();
  });
});
