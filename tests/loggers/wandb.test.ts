// W&B's backend against a server that speaks its protocol: everything once, in order, whatever the network does.
import { createHash } from "node:crypto";
import { expect, it, onTestFinished, vi } from "vitest";
import { histogram, image, text } from "../../src/core/media.ts";
import type { LoggerBackend } from "../../src/loggers/backend.ts";
import { encodePngNow } from "../../src/loggers/png.ts";
import { wandb, type WandbOptions } from "../../src/loggers/wandb/wandb.ts";
import { wandbSender } from "../../src/loggers/wandb/sender.ts";
import { parseExtended, wandbServer, type WandbServer } from "../support/wandb-server.ts";
import { ending, facts, logSteps, range, record, START, temporaryFolder, textOf } from "./queue-runs.ts";
import { arrivesOnce, served } from "./queue-suite.ts";

const serve = (): Promise<WandbServer> => served(wandbServer);
// The time limit is no part of what these tests show: a busy machine must not reach it.
const quick = { sendEvery: 5, backoff: 5, timeout: 60_000, project: "digits" } as const;

function backendFor(server: WandbServer, options: WandbOptions = {}): { backend: LoggerBackend; warnings: string[] } {
  const warnings: string[] = [];
  const { url: baseUrl, apiKey } = server;
  const warn = (message: string): void => void warnings.push(message);
  return { backend: wandb({ baseUrl, apiKey, ...quick, warn, ...options }), warnings };
}

const lines = (server: WandbServer, file = "wandb-history.jsonl", id = "run-1"): Record<string, unknown>[] =>
  (server.runs.get(id)!.files.get(file) ?? []).map(parseExtended);
const steps = (server: WandbServer, id = "run-1"): unknown[] => lines(server, undefined, id).map(({ _step }) => _step);

it("logs a run: config, history, summary, system metrics and its end", async () => {
  const server = await serve();
  const { backend, warnings } = backendFor(server, { tags: ["a"], name: "my run" });
  await backend.open(facts({ dir: temporaryFolder() }));
  backend.log(record(1, { "train/loss": 0.5, "system/cpu": 20, "system/gpu/0": 3 }));
  backend.log(record(1, { "val/loss": Number.NaN }));
  backend.log({
    ...record(2, { "train/loss": -Infinity }),
    media: { w: histogram({ edges: [0, 1, 2], counts: [3, 4] }), t: text("hi") },
  });
  backend.log(record(3, { "system/cpu": 21 }));
  await backend.close(ending(3));
  expect(server.problems).toEqual([]);
  expect(warnings).toEqual([]);
  expect(server.runs.get("run-1")).toMatchObject({
    displayName: "my run",
    tags: ["a"],
    config: { lr: { value: 0.1 }, model: { value: { width: 32 } }, _wandb: { value: { t: {} } } },
    state: "finished",
    exitCode: 0,
  });
  const at = (step: number) => ({ _step: step, _runtime: step / 100, _timestamp: (START + step * 10) / 1000 });
  const last = {
    "train/loss": "-Infinity",
    w: { _type: "histogram", bins: [0, 1, 2], values: [3, 4] },
    t: "hi",
    ...at(2),
  };
  expect(lines(server)).toEqual([{ "train/loss": 0.5, "val/loss": "NaN", ...at(1) }, last]);
  expect(lines(server, "wandb-events.jsonl")).toEqual([
    { _wandb: true, _timestamp: at(1)._timestamp, _runtime: 0.01, "system.cpu": 20, "system.gpu.0": 3 },
    { _wandb: true, _timestamp: at(3)._timestamp, _runtime: 0.03, "system.cpu": 21 },
  ]);
  expect(lines(server, "wandb-summary.json")).toEqual([{ ...last, "val/loss": "NaN", _wandb: { runtime: 0 } }]);
  expect(server.calls.at(-1)!.path).toBe("/files/ann/digits/run-1/file_stream");
  await expect.poll(() => server.connections()).toBe(0);
});

it("sends images as files, before the lines that point to them", async () => {
  const server = await serve();
  // Also those for the files.
  server.fault = (count) => (count % 3 === 0 ? "500" : "ok");
  const { backend } = backendFor(server);
  await backend.open(facts({ dir: temporaryFolder() }));
  const pixels = image({ data: Uint8Array.of(0, 80, 160, 240), shape: [2, 2] });
  backend.log({ ...record(1, { loss: 1 }), media: { "a/../b c": pixels, t: text("hi") } });
  backend.log(record(2, { loss: 0.5 }));
  await backend.close(ending(2));
  expect(server.problems).toEqual([]);
  const { uploads } = server.runs.get("run-1")!;
  const png = encodePngNow(pixels);
  const sha256 = createHash("sha256").update(png).digest("hex");
  const path = `media/images/a_.._b_c_1_${sha256.slice(0, 20)}.png`;
  expect([...uploads]).toEqual([[path, Buffer.from(png)]]);
  const shown = { _type: "image-file", path, sha256, size: png.length, format: "png", width: 2, height: 2 };
  expect(lines(server)).toMatchObject([
    { loss: 1, t: "hi", "a/../b c": shown },
    { loss: 0.5, _step: 2 },
  ]);
});

it("sends the numbers when images are refused, and says so once", async () => {
  const server = await serve();
  const apply = server.apply;
  server.apply = (call, half) => (call.method === "PUT" ? { status: 403, body: {} } : apply(call, half));
  const { backend, warnings } = backendFor(server);
  await backend.open(facts({ dir: temporaryFolder() }));
  const media = { x: image({ data: new Uint8Array(4), shape: [2, 2] }) };
  for (const step of [1, 2]) {
    backend.log({ ...record(step, { loss: step }), media });
    await backend.flush?.();
  }
  await backend.close(ending(2));
  expect(lines(server).map(({ loss, x }) => [loss, x])).toEqual([
    [1, undefined],
    [2, undefined],
  ]);
  expect(warnings).toEqual([expect.stringMatching(/images could not be sent: HTTP 403 for a file/)]);
});

arrivesOnce<WandbServer, WandbOptions>({
  name: "wandb",
  serve,
  backendFor,
  steps: (server, run) => {
    const id = ["run-1", "run-2"][run ?? 0]!;
    return server.runs.has(id) ? steps(server, id) : undefined;
  },
  outcome: ({ runs, problems }) => [
    ...problems,
    ...[...runs.values()].map(({ state, exitCode }) => `${state} with ${exitCode}`),
  ],
  well: "finished with 0",
  failed: "failed with 1",
  faultyOptions: {},
  faults: ["lateReset", "late500", "down", "html", "429", "hang", "slow"],
  kinds: { least: 2, most: 2 },
  outage: "hang",
  // Not a name that the service takes as it is.
  secondId: "run/2",
});

it("goes on with a run whose queue is not here, from the line that the service has come to", async () => {
  const server = await serve();
  const first = backendFor(server);
  await first.backend.open(facts({ dir: temporaryFolder() }));
  await logSteps(first.backend, 1, 30);
  await first.backend.close(ending(30, "interrupted"));
  expect(server.runs.get("run-1")!.exitCode).toBe(255);
  const second = backendFor(server);
  await second.backend.open(facts({ dir: temporaryFolder(), resumedAt: 20 }));
  await logSteps(second.backend, 21, 40);
  await second.backend.close(ending(40));
  expect(steps(server)).toEqual(range(1, 40));
  expect(server.problems).toEqual([]);
});

it("tells a run that logs nothing from one that is dead", async () => {
  const server = await serve();
  const headers = { authorization: `Basic ${btoa(`api:${server.apiKey}`)}` };
  const service = { owner: "wandb", url: server.url, headers, secrets: [], timeout: 60_000 };
  const run = {
    part: "p",
    id: "run-1",
    name: "digits",
    project: "p",
    entity: "",
    tags: [],
    resumed: false,
    config: {},
  };
  // In this thread, whose clock can be moved.
  const backend = wandbSender({ service, head: run, sendEvery: 5, backoff: 5, queueBytes: undefined }, () => undefined);
  await backend.open(facts({ dir: temporaryFolder() }));
  await expect.poll(() => server.runs.size).toBe(1);
  let now = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => (now += 1000));
  onTestFinished(() => void vi.restoreAllMocks());
  await expect.poll(() => server.runs.get("run-1")!.heartbeats).toBeGreaterThan(0);
  await backend.close(ending(0));
});

it("gives up for now on a wrong key, keeps what was logged, and shows the key to nobody", async () => {
  const server = await serve();
  const dir = temporaryFolder();
  const key = "0123456789abcdef0123456789abcdef01234567";
  const wrong = backendFor(server, { apiKey: key });
  await wrong.backend.open(facts({ dir, hparams: { note: `my key is ${key}` } }));
  await logSteps(wrong.backend, 1, 5);
  await wrong.backend.close({ ...ending(5, "error"), reason: `it was ${key}` });
  expect(wrong.warnings.join("\n")).toMatch(/HTTP 401.*No more is sent before the next start/);
  const all = wrong.warnings.join("\n") + textOf(dir) + server.calls.map(({ body }) => JSON.stringify(body)).join("\n");
  expect(all).not.toContain(key);
  expect(all).not.toContain(btoa(`api:${key}`));
  const right = backendFor(server);
  await right.backend.open(facts({ dir, id: "another" }));
  await right.backend.close(ending(0));
  expect(steps(server)).toEqual(range(1, 5));
});

it("checks its options, and reads the environment when the run begins", async () => {
  expect(() => wandb({ projct: "x" } as WandbOptions)).toThrow(/unknown option `projct`.*project/);
  expect(() => wandb({ mode: "of" as "offline" })).toThrow(
    /Expected `mode` to be one of "online", "offline", got `"of"`/,
  );
  expect(() => wandb({ baseUrl: "http://example.com", apiKey: "x" }).open(facts())).toThrow(/plain http/);
  vi.stubEnv("WANDB_API_KEY", "");
  vi.stubEnv("WANDB_MODE", "");
  onTestFinished(() => void vi.unstubAllEnvs());
  const backend = wandb(quick);
  expect(() => backend.open(facts())).toThrow(/set WANDB_API_KEY/);
  const server = await serve();
  vi.stubEnv("WANDB_API_KEY", server.apiKey);
  vi.stubEnv("WANDB_BASE_URL", server.url);
  vi.stubEnv("WANDB_TAGS", "a,b");
  await backend.open(facts({ dir: temporaryFolder() }));
  await backend.close(ending(0, "stopped"));
  expect(server.runs.get("run-1")).toMatchObject({ tags: ["a", "b"], state: "finished" });
  vi.stubEnv("WANDB_MODE", "disabled");
  const silent = wandb();
  await silent.open(facts());
  silent.log(record(1));
  await silent.close(ending(1));
});
