// Notices against a real server: what they say, what they refuse, and that a bad service cannot hurt the run.
import { setTimeout as sleep } from "node:timers/promises";
import { defineEvent, type Hook } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { noticeServer, type Mode, type NoticeServer } from "../../tests/support/notice-server.ts";
import { webhook, type WebhookInfo, type WebhookOptions } from "./webhook.ts";

declare module "hookline" {
  interface CustomEvents {
    labelDrift: { readonly drift: number };
  }
}
defineEvent("labelDrift");

const SECRET = "T0SECRET-abcdefghijkl";
const LOCAL = { allowHttp: true, allowPrivate: true };

afterEach(() => void vi.restoreAllMocks());

/** Tests that run at the same time pass their own `finished`. */
async function server(mode: Mode = "ok", finished = onTestFinished): Promise<NoticeServer> {
  const started = await noticeServer(mode);
  finished(() => started.close());
  return started;
}

const evaluation = { eval: new DataLoader(tinyData(4), { batchSize: 4 }) };

/** A run with the hook; its warnings and how it ended. */
async function train(hook: Hook, options: TinyOptions = {}) {
  const warnings: string[] = [];
  const trainer = tinyTrainer({ hooks: [hook], warn: (message) => void warnings.push(message), ...options });
  return { result: await trainer.fit(), warnings, trainer };
}

const texts = ({ received }: NoticeServer): string[] =>
  received.map(({ body }) => (JSON.parse(body) as { text: string }).text);

describe("what is sent", () => {
  it("a line for each new best value, and one at the end, as Slack takes them", async () => {
    const to = await server();
    const { warnings } = await train(webhook({ url: `${to.url}services/x`, ...LOCAL }), { epochs: 2, ...evaluation });
    expect(warnings).toEqual([]);
    expect(texts(to)).toEqual([
      expect.stringMatching(/^New best val\/loss: [\d.]+ at step 4 \(epoch 1\)\.$/),
      expect.stringMatching(/^New best val\/loss: [\d.]+ at step 8 \(epoch 2\)\.$/),
      expect.stringMatching(/^Training completed at step 8 \(epoch 2\), after [\d.]+ s: 2 epochs\.\nBest val\/loss: /),
    ]);
    expect(to.received[0]).toMatchObject({ path: "/services/x", headers: { "content-type": "application/json" } });
  });

  it("the message of an error, once, without what it must not say", async () => {
    const to = await server();
    vi.stubEnv("SOME_API_KEY", "planted-in-the-environment");
    onTestFinished(() => void vi.unstubAllEnvs());
    const failing: Hook = {
      name: "failing",
      onStepEnd() {
        throw new Error(`no access to https://me:hunter22@db.example with planted-in-the-environment, ${SECRET}`);
      },
    };
    const hook = webhook({ url: `${to.url}${SECRET}`, ...LOCAL });
    await expect(tinyTrainer({ hooks: [hook, failing] }).fit()).rejects.toThrow("no access");
    expect(texts(to)).toEqual([expect.stringMatching(/^Training failed at step 1 \(epoch 1\): .*no access/)]);
    for (const secret of ["hunter22", "planted", SECRET]) expect(to.received[0]!.body).not.toContain(secret);
  });

  it("own events with their payload, and only what `on` names", async () => {
    const to = await server();
    const hook = webhook({ url: to.url, on: ["labelDrift"], ...LOCAL });
    const trainer = tinyTrainer({ hooks: [hook], ...evaluation });
    trainer.on("epochEnd", () => trainer.emit("labelDrift", { drift: 0.25 }));
    await trainer.fit();
    expect(texts(to)).toEqual([`labelDrift at step 4 (epoch 1): {"drift":0.25}`]);
  });

  it("every other event that can be named", async () => {
    const to = await server();
    await train(webhook({ url: to.url, on: ["trainBegin", "evalEnd", "epochEnd"], ...LOCAL }), evaluation);
    expect(texts(to).map((text) => text.split("\n")[0])).toEqual([
      "Training begins at step 0 (epoch 1).",
      "Evaluated at step 4 (epoch 1).",
      "Epoch 1 is over, at step 4.",
    ]);
  });

  it("whatever a template makes of it", async () => {
    const to = await server();
    const infos: WebhookInfo[] = [];
    const template = (info: WebhookInfo): unknown => {
      infos.push(info);
      return info.event === "trainEnd" ? `plain: ${info.status}` : { content: info.text };
    };
    const options: WebhookOptions = { url: to.url.replace("//", "//me:pass%20word@"), template, ...LOCAL };
    await train(webhook({ ...options, headers: { "X-Run": "7" } }), evaluation);
    expect(infos[0]).toMatchObject({ event: "bestModel", step: 4, epoch: 0, status: "training" });
    expect(infos[0]!.best).toEqual({ monitor: "val/loss", value: infos[0]!.metrics["val/loss"] });
    expect(infos[1]).toMatchObject({ event: "trainEnd", reason: "1 epoch", status: "completed" });
    expect(to.received.map(({ body }) => body)).toEqual([
      JSON.stringify({ content: infos[0]!.text }),
      "plain: completed",
    ]);
    const basic = `Basic ${Buffer.from("me:pass word").toString("base64")}`;
    expect(to.received[1]!.headers).toMatchObject({
      "content-type": "text/plain; charset=utf-8",
      authorization: basic,
      "x-run": "7",
    });
  });

  it("is a warning when the template throws", async () => {
    const to = await server();
    const template = (): never => {
      throw new Error("bad template");
    };
    const { result, warnings } = await train(webhook({ url: to.url, on: ["trainEnd"], template, ...LOCAL }));
    expect(result.status).toBe("completed");
    expect(warnings).toEqual([expect.stringContaining("bad template")]);
    expect(to.received).toEqual([]);
  });
});

describe("the best value", () => {
  it("is the greatest where the name or `mode` says so, and NaN is none", async () => {
    const to = await server();
    const values = [0.5, Number.NaN, 0.4, 0.7];
    const scores: Hook = { name: "scores", onEvalBegin: (ctx) => ctx.log({ "val/score": values[ctx.epoch]! }) };
    const hooks = ["max", "min"].map((mode) =>
      webhook({
        url: `${to.url}${mode}`,
        monitor: "val/score",
        mode: mode as "max",
        on: ["bestModel"],
        name: mode,
        ...LOCAL,
      }),
    );
    await tinyTrainer({ hooks: [scores, ...hooks], epochs: 4, ...evaluation }).fit();
    const at = (path: string) =>
      to.received.filter((each) => each.path === path).map(({ body }) => /epoch (\d)/.exec(body)![1]);
    expect(at("/max")).toEqual(["1", "4"]);
    expect(at("/min")).toEqual(["1", "3"]);
  });

  it("survives a resume: what is no news is not announced, and a run that starts anew has its own", async () => {
    const to = await server();
    const same: Hook = { name: "same", onEvalBegin: (ctx) => ctx.log({ "val/score": 1 }) };
    const saves: Hook = { name: "saves", onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end" }) };
    const make = () => webhook({ url: to.url, monitor: "val/score", on: ["bestModel"], ...LOCAL });
    const options = { ...evaluation, store: memoryStore() };
    const first = make();
    await tinyTrainer({ ...options, hooks: [first, same, saves] }).fit();
    expect(to.received).toHaveLength(1);
    await tinyTrainer({ ...options, hooks: [make(), same], epochs: 2 }).fit({ resume: "auto" });
    expect(to.received).toHaveLength(1);
    await tinyTrainer({ ...options, hooks: [first, same] }).fit();
    expect(to.received).toHaveLength(2);
  });

  it("that nobody computes is named at the end", async () => {
    const to = await server();
    const { warnings } = await train(webhook({ url: to.url, monitor: "val/acuracy", ...LOCAL }), evaluation);
    expect(warnings).toEqual([expect.stringMatching(/no metric `val\/acuracy`.*Metrics so far: .*val\/loss/)]);
    expect(texts(to)).toEqual([expect.stringContaining("Training completed")]);
  });

  it("does not count an evaluation on its own", async () => {
    const to = await server();
    const trainer = tinyTrainer({ hooks: [webhook({ url: to.url, monitor: "test/loss", ...LOCAL })] });
    await trainer.evaluate(evaluation.eval);
    expect(to.received).toEqual([]);
  });
});

// Each waits for the end of a deadline: at the same time.
describe.concurrent("a service that", () => {
  it.for([
    ["hang", /did not get through.*aborted/is, 1],
    ["500", /HTTP 500/, 2],
    ["reset", /ECONNRESET/, 2],
  ] as const)(
    "answers with %s is a warning, tried again, and does not keep the run from ending",
    async ([mode, problem, atLeast], { onTestFinished }) => {
      const to = await server(mode, onTestFinished);
      const { result, warnings } = await train(webhook({ url: `${to.url}${SECRET}`, on: ["trainEnd"], ...LOCAL }));
      expect(result.status).toBe("completed");
      expect(result.hookErrors).toMatchObject([{ hook: "webhook", event: "close" }]);
      expect(warnings).toEqual([expect.stringMatching(problem)]);
      expect(warnings[0]).toContain("127.0.0.1");
      expect(warnings[0]).not.toContain(SECRET);
      expect(to.received.length).toBeGreaterThanOrEqual(atLeast);
      await vi.waitFor(async () => expect(await to.connections()).toBe(0), { timeout: 300_000 });
    },
  );

  it("does not answer in time is given up", async ({ onTestFinished }) => {
    const to = await server("hang", onTestFinished);
    const { warnings } = await train(webhook({ url: to.url, on: ["trainEnd"], timeout: 50, retries: 1, ...LOCAL }));
    expect(warnings).toEqual([expect.stringContaining("no answer within 50 ms")]);
    expect(to.received).toHaveLength(2);
  });

  it("does not exist is a warning", async () => {
    const url = `https://does-not-exist.invalid/${SECRET}`;
    const { result, warnings } = await train(webhook({ url, on: ["trainEnd"], retries: 0 }));
    expect(result.status).toBe("completed");
    expect(warnings).toEqual([
      expect.stringMatching(/does-not-exist\.invalid (does not resolve|could not be resolved)/),
    ]);
    expect(warnings[0]).not.toContain(SECRET);
  });

  it("comes back is tried until it takes the notice", async ({ onTestFinished }) => {
    const to = await server("429", onTestFinished);
    const trained = train(webhook({ url: to.url, on: ["trainEnd"], ...LOCAL }));
    await to.until(1);
    to.mode = "ok";
    expect((await trained).warnings).toEqual([]);
    expect(to.received).toHaveLength(2);
  });

  it("refuses is not asked twice", async ({ onTestFinished }) => {
    const to = await server("404", onTestFinished);
    const { warnings } = await train(webhook({ url: to.url, on: ["trainEnd"], ...LOCAL }));
    expect(warnings).toEqual([expect.stringContaining("HTTP 404")]);
    expect(to.received).toHaveLength(1);
  });

  it("redirects is not followed", async ({ onTestFinished }) => {
    const to = await server("redirect", onTestFinished);
    const { warnings } = await train(webhook({ url: to.url, on: ["trainEnd"], ...LOCAL }));
    expect(warnings).toEqual([expect.stringContaining("it redirects, which is refused")]);
    expect(to.received.map(({ path }) => path)).toEqual(["/"]);
  });

  it("is broken says so while the run goes on, once", async ({ onTestFinished }) => {
    const to = await server("404", onTestFinished);
    const answered: Hook = {
      name: "answered",
      // By the second epoch the first notice has been refused.
      onEpochBegin: async ({ epoch }) => {
        if (epoch > 0) await to.until(epoch).then(() => sleep(20));
      },
    };
    const hook = webhook({ url: to.url, on: ["epochEnd"], ...LOCAL });
    const { result, warnings } = await train(hook, { epochs: 5, hooks: [hook, answered] });
    expect(result.status).toBe("completed");
    expect(warnings).toEqual([
      expect.stringMatching(/`epochEnd` at step 8: .*1 of 1 did not get through.*HTTP 404/),
      expect.stringMatching(/`close` at step 20: .*5 of 5 did not get through.*HTTP 404/),
    ]);
  });

  it("hangs does not hold up the steps, and its queue stays bounded", async ({ onTestFinished }) => {
    const to = await server("hang", onTestFinished);
    const warnings: string[] = [];
    const hooks = [webhook({ url: to.url, on: ["labelDrift"], ...LOCAL })];
    const trainer = tinyTrainer({ hooks, steps: 600, warn: (message) => void warnings.push(message) });
    const waits: unknown[] = [];
    trainer.on("stepEnd", () => {
      // A promise here would be awaited. bench/webhook.ts measures what is left.
      const wait = trainer.emit("labelDrift", { drift: 1 });
      if (wait !== undefined) waits.push(wait);
    });
    await trainer.fit();
    expect(waits).toEqual([]);
    // One on its way, 256 waiting: the others were pushed out, and the rest is lost with the run.
    expect(warnings).toEqual([expect.stringMatching(/600 of 600 did not get through, \d+ of them dropped/)]);
  });
});

describe("where notices may go", () => {
  const dns = process.getBuiltinModule("node:dns").promises;
  const resolveTo = (...addresses: string[]): void => {
    vi.spyOn(dns.Resolver.prototype, "resolve4").mockResolvedValue(addresses);
    vi.spyOn(dns.Resolver.prototype, "resolve6").mockRejectedValue(Object.assign(new Error(), { code: "ENODATA" }));
  };

  it("not to a name with any address of a private network", async () => {
    resolveTo("93.184.216.34", "10.0.0.7");
    const { warnings } = await train(webhook({ url: `https://inside.example/${SECRET}`, on: ["trainEnd"] }));
    expect(warnings).toEqual([expect.stringMatching(/inside\.example is 10\.0\.0\.7, .*allowPrivate: true/)]);
  });

  it("just to the addresses that were checked", async () => {
    const to = await server();
    resolveTo("127.0.0.1");
    const url = to.url.replace("127.0.0.1", "outside.example");
    const { warnings } = await train(webhook({ url, on: ["trainEnd"], ...LOCAL }));
    expect(warnings).toEqual([]);
    expect(to.received[0]!.headers.host).toMatch(/^outside\.example:/);
  });

  it.each([
    ["http://example.com/x", /begin with https:\/\/.*allowHttp/],
    ["ftp://example.com/x", /begin with https:\/\//],
    ["https://127.0.0.1/x", /127\.0\.0\.1.*allowPrivate/],
    ["https://2130706433/x", /127\.0\.0\.1.*allowPrivate/],
    ["https://[::1]/x", /::1.*allowPrivate/],
    ["https://[::ffff:169.254.169.254]/x", /allowPrivate/],
    ["https://192.168.1.1/x", /allowPrivate/],
    ["https://localhost/x", /localhost.*allowPrivate/],
    ["https://a.localhost./x", /allowPrivate/],
    [`hooks.example.com/${SECRET}`, /whole URL/],
    [`${SECRET}:x`, /whole URL/],
    [7, /Expected `url` to be a URL.*got `7` \(number\)/],
    [undefined, /missing option `url`/],
  ])("not to %s, told at construction", (url, message) => {
    const make = (): Hook => webhook({ url: url as string });
    expect(make).toThrow(message);
    expect(make).not.toThrow(SECRET);
  });
});

describe("options", () => {
  const url = "https://example.com/x";

  it.each([
    [{ url, tmeout: 5 }, /unknown option `tmeout`. Did you mean `timeout`\?/],
    [{ url, on: ["bestModle"] }, /Did you mean `bestModel`\?/],
    [{ url, on: ["stepEnd"] }, /Expected `on` to name trainBegin/],
    [{ url, on: ["afterSave"] }, /Expected `on` to name trainBegin/],
    [{ url, on: ["dataRead"] }, /Expected `on` to name trainBegin/],
    [{ url, mode: "best" }, /Expected `mode` to be one of/],
    [{ url, headers: { a: 1 } }, /Expected `headers` to be an object of strings/],
  ])("%o is an error", (options, message) => {
    expect(() => webhook(options as unknown as WebhookOptions)).toThrow(message);
  });

  it("a misspelled event is named when the hook is registered", () => {
    expect(() => tinyTrainer({ hooks: [webhook({ url, on: ["trainEnnd" as "trainEnd"] })] })).toThrow(
      /Did you mean `onTrainEnd`\?/,
    );
  });
});
