// MLflow's backend against a server that speaks its API: everything once, in order, whatever the network does.
import { expect, it, onTestFinished, vi } from "vitest";
import { mlflow, type MlflowOptions } from "../../src/loggers/mlflow/mlflow.ts";
import { mlflowServer, type MlflowServer } from "../support/mlflow-server.ts";
import { downHalfOfTheTime } from "./queue-faults.ts";
import { ending, facts, logSteps, range, record, temporaryFolder, textOf } from "./queue-runs.ts";
import { arrivesOnce, served } from "./queue-suite.ts";

const serve = (): Promise<MlflowServer> => served(mlflowServer);
// The time limit is no part of what these tests show: a busy machine must not reach it.
const quick = { sendEvery: 5, backoff: 5, timeout: 60_000 } as const;
const steps = (server: MlflowServer, run = 0): number[] => server.runs[run]!.metrics.map(({ step }) => step);

function backendFor(server: { readonly url: string }, options: MlflowOptions = {}) {
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  return { backend: mlflow({ uri: server.url, ...quick, warn, ...options }), warnings };
}

it("logs a run: experiment, tags, parameters, metrics and its end", async () => {
  const server = await serve();
  const dir = temporaryFolder();
  const { backend, warnings } = backendFor(server, { experiment: "digits", tags: { team: "a" } });
  await backend.open(facts({ dir }));
  backend.log(record(1, { "train/loss": 0.5, lr: 0.1 }));
  backend.log(record(1, { "val/loss": Number.NaN }));
  backend.log(record(2, { "train/loss": Number.POSITIVE_INFINITY, "odd|name/../x": 1 }));
  await backend.close(ending(2));
  const [run] = server.runs;
  expect(server.runs).toHaveLength(1);
  expect([...server.experiments.keys()]).toEqual(["Default", "digits"]);
  expect(run).toMatchObject({
    name: "digits",
    status: "FINISHED",
    startTime: facts().startedAt,
    endTime: ending(2).time,
  });
  expect(Object.fromEntries(run!.tags)).toEqual({ team: "a", hookline_run: "run-1", hookline_run_directory: dir });
  expect(Object.fromEntries(run!.params)).toEqual({ lr: "0.1", "model.width": "32" });
  expect(run!.metrics.map(({ key, value, step }) => [step, key, value])).toEqual([
    [1, "train/loss", 0.5],
    [1, "lr", 0.1],
    [1, "val/loss", "NaN"],
    [2, "train/loss", "Infinity"],
    [2, "odd_name/__/x", 1],
  ]);
  expect(warnings).toEqual([]);
  expect(server.problems).toEqual([]);
  await expect.poll(() => server.connections()).toBe(0);
});

arrivesOnce<MlflowServer, MlflowOptions>({
  name: "mlflow",
  serve,
  backendFor,
  steps: (server, run) => server.runs[run ?? 0] && steps(server, run),
  outcome: ({ runs }) => runs.map(({ status }) => status),
  well: "FINISHED",
  failed: "FAILED",
  // One that has to be made first: that is a kind of request too.
  faultyOptions: { experiment: "digits" },
  faults: ["lateReset", "late500", "half", "down", "html", "429", "hang"],
  kinds: { least: 6, most: Infinity },
  // No more than 1,000 metrics fit into one.
  leastCalls: 10,
  outage: "down",
  secondId: "run-2",
});

it("sends what another run left in the directory, and says that it was killed", async () => {
  const server = await serve();
  const dir = temporaryFolder();
  const { DiskQueue } = await import("../../src/loggers/remote/disk-queue.ts");
  // A process that was killed before it could send anything.
  const queue = new DiskQueue({ dir: `${dir}/.queue/mlflow`, limit: 1e6, warn: () => undefined });
  const head = { part: "p", id: "old", name: "old", experiment: "Default", startedAt: 1, tags: {}, hparams: {} };
  queue.begin(head);
  queue.append(['{"kind":"log","step":1,"time":5,"elapsed":1,"scalars":{"loss":1}}']);
  queue.close();
  const { backend } = backendFor(server);
  await backend.open(facts({ dir }));
  await backend.close(ending(0));
  expect(server.runs.map(({ name, status, metrics }) => [name, status, metrics.length])).toEqual([
    ["old", "KILLED", 1],
    ["digits", "FINISHED", 0],
  ]);
});

it("finds out what arrived before a crash that came before the acknowledgement", async () => {
  const server = await serve();
  const dir = temporaryFolder();
  const { cpSync } = await import("node:fs");
  const first = backendFor(server, { sendEvery: 60_000 });
  await first.backend.open(facts({ dir }));
  await expect.poll(() => server.calls.length).toBeGreaterThan(0);
  await logSteps(first.backend, 1, 30);
  await first.backend.flush?.();
  const copy = `${temporaryFolder()}/copy`;
  // The queue as it is before anything of it is acknowledged.
  cpSync(dir, copy, { recursive: true, filter: (path) => !path.endsWith(".lock") });
  await first.backend.close(ending(30, "interrupted"));
  expect(steps(server)).toEqual(range(1, 30));
  const second = backendFor(server);
  await second.backend.open(facts({ dir: copy, resumedAt: 20 }));
  await logSteps(second.backend, 21, 40);
  await second.backend.close(ending(40));
  expect(server.runs).toHaveLength(1);
  expect(steps(server)).toEqual(range(1, 40));
});

it("cuts parameters for old servers, and leaves those alone that have another value", async () => {
  const server = await serve();
  server.longestParam = 250;
  const dir = temporaryFolder();
  const long = "x".repeat(7000);
  const one = backendFor(server);
  await one.backend.open(facts({ dir, hparams: { long, lr: 1 } }));
  await one.backend.close(ending(0));
  expect(server.runs[0]!.params.get("long")).toHaveLength(250);
  const two = backendFor(server);
  await two.backend.open(facts({ dir, hparams: { lr: 2 }, resumedAt: 0 }));
  await two.backend.close(ending(0));
  expect(server.runs[0]!.params.get("lr")).toBe("1");
  expect(two.warnings).toEqual(["mlflow: These parameters have another value there, and keep it: lr."]);
});

it("gives up for now on a wrong token and on a redirect, and keeps what was logged", async () => {
  for (const trouble of ["401", "redirect"]) {
    const server = await serve();
    server.authorization = "Bearer the-right-token-of-them-all";
    if (trouble === "redirect") server.fault = () => "redirect";
    const dir = temporaryFolder();
    const wrong = backendFor(server, { token: "s3cret-wrong-token" });
    await wrong.backend.open(facts({ dir }));
    await logSteps(wrong.backend, 1, 5);
    await wrong.backend.close(ending(5));
    expect(wrong.warnings.join("\n")).toMatch(trouble === "401" ? /HTTP 401/ : /it redirects, which is refused/);
    expect(wrong.warnings.join("\n") + textOf(dir)).not.toContain("s3cret-wrong-token");
    expect(server.calls.some(({ path }) => path === "/elsewhere")).toBe(false);
    server.fault = () => "ok";
    const right = backendFor(server, { token: "the-right-token-of-them-all" });
    await right.backend.open(facts({ dir, id: "another" }));
    await right.backend.close(ending(0));
    expect(steps(server)).toEqual(range(1, 5));
  }
});

it("takes its address and keys from the environment, and lets none of them out", async () => {
  const server = await serve();
  server.authorization = `Basic ${btoa("ann:pa55word-of-ann")}`;
  vi.stubEnv("MLFLOW_TRACKING_URI", server.url.replace("//", "//ann:pa55word-of-ann@"));
  vi.stubEnv("SERVICE_TOKEN", "t0ken-of-something");
  onTestFinished(() => void vi.unstubAllEnvs());
  const dir = temporaryFolder();
  const warnings: string[] = [];
  const backend = mlflow({ ...quick, warn: (message) => void warnings.push(message) });
  await backend.open(facts({ dir, hparams: { note: "made with t0ken-of-something" } }));
  await logSteps(backend, 1, 3);
  await backend.close({ ...ending(3, "error"), reason: "the key t0ken-of-something was wrong" });
  expect(server.runs[0]!.status).toBe("FAILED");
  expect(server.runs[0]!.params.get("note")).toBe("made with …");
  const all = textOf(dir) + warnings.join("\n") + server.calls.map(({ body }) => JSON.stringify(body)).join("\n");
  for (const secret of ["pa55word-of-ann", "t0ken-of-something", btoa("ann:pa55word-of-ann")]) {
    expect(all).not.toContain(secret);
  }
});

it("checks its options", () => {
  expect(() => mlflow({ experimnt: "x" } as MlflowOptions)).toThrow(/unknown option `experimnt`.*experiment/);
  expect(() => mlflow({ token: 5 as unknown as string })).toThrow(
    "mlflow: Expected `token` to be a non-empty string (it is not shown).",
  );
  expect(() => mlflow({ uri: "databricks://x" }).open(facts())).toThrow(
    /Expected `uri` to be an address .* got databricks:/,
  );
  vi.stubEnv("MLFLOW_TRACKING_URI", "");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(() => mlflow().open(facts())).toThrow(/give `uri`, or set MLFLOW_TRACKING_URI/);
  expect(() => mlflow({ uri: "http://example.com", token: "abc" }).open(facts())).toThrow(/plain http/);
});

it("works without a run directory, and says what that means", async () => {
  const server = await serve();
  server.fault = downHalfOfTheTime;
  const { backend, warnings } = backendFor(server);
  await backend.open(facts());
  await logSteps(backend, 1, 200);
  await backend.close(ending(200));
  expect(steps(server)).toEqual(range(1, 200));
  expect(warnings[0]).toMatch(/no run directory, so that what cannot be sent waits in memory/);
});

it("goes on without a record that the server refuses, and says so", async () => {
  const server = await serve();
  const { apply } = server;
  server.apply = (call, half) => {
    const { metrics = [] } = (call.body ?? {}) as { metrics?: readonly { step: number }[] };
    const refused = metrics.some(({ step }) => step === 33 || step === 77);
    return refused
      ? { status: 400, body: { error_code: "INVALID_PARAMETER_VALUE", message: "no" } }
      : apply(call, half);
  };
  const { backend, warnings } = backendFor(server);
  await backend.open(facts({ dir: temporaryFolder() }));
  await logSteps(backend, 1, 100);
  await backend.flush?.();
  // The end waits a few seconds only for what is still to be sent: the search for the two takes many requests.
  await expect
    .poll(() => server.runs[0] && steps(server))
    .toEqual(range(1, 100).filter((step) => step !== 33 && step !== 77));
  await backend.close(ending(100));
  expect(warnings[0]).toMatch(/refused a record: HTTP 400: no/);
  expect(warnings.at(-1)).toMatch(/2 records were refused: HTTP 400: no/);
  expect(server.runs[0]!.status).toBe("FINISHED");
});
