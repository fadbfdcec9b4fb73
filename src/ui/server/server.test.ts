// The dashboard's server over real HTTP: what it answers, and what it refuses.
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { headerLine, recordLine } from "../../runs/log-lines.ts";
import { ask as askServer, type Answered, type Asked } from "../../../tests/support/http-ask.ts";
import { decodeSeries } from "../series.ts";
import type { CheckpointRow, EventsAnswer, RunPage, RunsAnswer, ServerHello, SparksAnswer } from "../wire.ts";
import { HEADERS } from "./gate.ts";
import { PAGE_PATHS } from "./pages.ts";
import { ROUTES } from "./routes.ts";
import { idOf } from "./run-index.ts";
import { startServer, type RunningServer } from "./server.ts";

const folder = mkdtempSync(`${tmpdir()}/hookline-`);
const [root, pages] = [`${folder}/runs`, `${folder}/pages`];
let server: RunningServer;

const record = (step: number, scalars: Record<string, number>): string =>
  recordLine({ step, epoch: 0, time: 1000 + step, elapsed: step / 10, scalars, media: {} });

/** A run with as many records as `loss` has values. */
function leaveRun(name: string, loss: readonly number[], more: object = {}): string {
  const dir = `${root}/${name}`;
  mkdirSync(dir, { recursive: true });
  const info = {
    schema: "hookline.run",
    version: 1,
    id: name,
    name,
    status: "completed",
    startedAt: 1,
    partStartedAt: 1,
  };
  const rest = {
    resumedAt: null,
    totalSteps: loss.length,
    hparams: { lr: 0.1, nested: { depth: 2 } },
    about: {},
    reason: "done",
  };
  writeFileSync(`${dir}/run.json`, JSON.stringify({ ...info, ...rest, ...more }));
  const lines = loss.map((value, i) => record(i + 1, { loss: value }));
  writeFileSync(`${dir}/metrics.jsonl`, headerLine("metrics", { id: name, startedAt: 1 }) + lines.join(""));
  writeFileSync(
    `${dir}/events.jsonl`,
    '{"schema":"hookline.events","version":1}\n{"type":"start","step":0,"time":5,"details":{}}\n',
  );
  return dir;
}

beforeAll(async () => {
  mkdirSync(pages);
  leaveRun("a", [5, 4, NaN, 2, Infinity]);
  leaveRun(
    "group/b",
    Array.from({ length: 10_000 }, (_, i) => (i === 7777 ? 1e6 : Math.sin(i / 100))),
  );
  writeFileSync(`${pages}/index.html`, "<!doctype html><title>hookline</title>");
  writeFileSync(`${pages}/app.js`, "0");
  writeFileSync(`${pages}/app.css`, "");
  writeFileSync(`${pages}/icon.svg`, "<svg/>");
  server = await startServer({ root, version: "1.2.3", port: 0, pages });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const bearer = (): Record<string, string> => ({ authorization: `Bearer ${server.token}` });
const JSON_POST = { "content-type": "application/json", "x-hookline": "1" };

const ask = (path: string, asked?: Asked): Promise<Answered> => askServer(server.port, path, asked);

const get = async <T>(path: string): Promise<T> => {
  const { status, body } = await ask(`/api/v1/${path}`, { headers: bearer() });
  expect([path, status]).toEqual([path, 200]);
  return JSON.parse(body.toString()) as T;
};

const post = (path: string, body: unknown): Promise<Answered> =>
  ask(`/api/v1/${path}`, { method: "POST", headers: { ...bearer(), ...JSON_POST }, body: JSON.stringify(body) });

const series = async (body: object) => {
  const { status, body: bytes } = await post("series", body);
  expect(status).toBe(200);
  return decodeSeries(new Uint8Array(bytes).buffer);
};

const A = idOf("/r", "/r/a");
const B = idOf("/r", "/r/group/b");

describe("answers", () => {
  test("hello and the list of runs, then only what has changed", async () => {
    expect(await get<ServerHello>("hello")).toMatchObject({ version: "1.2.3", root, readOnly: false });
    const { rev, rows, gone } = await get<RunsAnswer>("runs");
    expect(gone).toEqual([]);
    expect(rows.map(({ id, name, state, step }) => ({ id, name, state, step }))).toEqual([
      { id: A, name: "a", state: "completed", step: 5 },
      { id: B, name: "group/b", state: "completed", step: 10_000 },
    ]);
    expect(rows[0]).toMatchObject({ hparams: { lr: 0.1, "nested.depth": 2 }, best: { loss: { value: 2, step: 4 } } });
    expect(await get(`runs?since=${rev}`)).toEqual({ rev, rows: [], gone: [], unreadable: { some: [], count: 0 } });
  });

  test("small curves of the runs that are asked for, and of no more than a screen shows", async () => {
    expect(await get<SparksAnswer>(`sparks?runs=${A},000000000000`)).toEqual({
      [A]: { metric: "loss", values: [5, 4, "NaN", 2, "Infinity"] },
    });
    expect((await get<SparksAnswer>(`sparks?runs=${B}`))[B]!.values.length).toBe(60);
    const many = Array.from({ length: 101 }, () => A).join();
    expect((await ask(`/api/v1/sparks?runs=${many}`, { headers: bearer() })).status).toBe(400);
  });

  test("the page of a run, its events and checkpoints", async () => {
    expect(await get<RunPage>(`runs/${A}`)).toMatchObject({
      records: 5,
      names: ["loss"],
      latest: { loss: "Infinity" },
      problems: 0,
      parts: [{ startedAt: 5, step: 0 }],
      control: null,
      info: { id: "a" },
    });
    const { events, next } = await get<EventsAnswer>(`runs/${A}/events`);
    expect(events.map(({ type }) => type)).toEqual(["start"]);
    expect(await get(`runs/${A}/events?after=${next}`)).toEqual({ events: [], next });
    expect(await get<CheckpointRow[]>(`runs/${A}/checkpoints`)).toEqual([]);
  });

  test("curves: NaN and infinities as they are, a spike in a reduced one", async () => {
    const [a, b] = await series({
      x: "step",
      px: 100,
      series: [
        { run: A, name: "loss" },
        { run: B, name: "loss" },
      ],
    });
    expect(a).toMatchObject({
      total: 5,
      reduced: false,
      x: Float64Array.of(1, 2, 3, 4, 5),
      y: Float64Array.of(5, 4, NaN, 2, Infinity),
    });
    expect(b).toMatchObject({ total: 10_000, reduced: true });
    expect(b!.x.length).toBeLessThanOrEqual(400);
    expect(b!.y).toContain(1e6);
  });

  test("a running run: only what is new, and a new revision when its log was cut", async () => {
    const dir = leaveRun("live", [3, 2]);
    const id = idOf("/r", "/r/live");
    // The list may be a second old.
    await expect.poll(async () => (await get<RunsAnswer>("runs")).rows.some((row) => row.id === id)).toBe(true);
    const request = { run: id, name: "loss" };
    const [first] = await series({ x: "step", px: 100, series: [request] });
    appendFileSync(`${dir}/metrics.jsonl`, record(3, { loss: 1 }) + '{"step":4,"lo');
    const { rev, total } = first!;
    const [second] = await series({ x: "step", px: 100, series: [{ ...request, after: total, rev }] });
    expect(second).toMatchObject({ rev, total: 3, x: Float64Array.of(3), y: Float64Array.of(1) });
    leaveRun("live", [9]);
    const [third] = await series({ x: "step", px: 100, series: [{ ...request, after: 3, rev }] });
    expect(third).toMatchObject({ total: 1, x: Float64Array.of(1), y: Float64Array.of(9) });
    expect(third!.rev).toBeGreaterThan(rev);
    rmSync(dir, { recursive: true });
  });
});

describe("the gate", () => {
  const paths = [
    ...Object.keys(ROUTES).map((name) => `/api/v1/${name.replace(":id", A).replace(":cid", "0")}`),
    ...PAGE_PATHS.map((path) => `/${path}`),
    "/api/v1/nothing",
    "/../etc/passwd",
  ];
  const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"];
  const token = (): Record<string, string> => ({ ...bearer(), ...JSON_POST });
  /** What each request lacks, or has too much; and the status with which it is refused. */
  const wrongs: readonly (readonly [string, (headers: Record<string, string>) => Record<string, string>, number])[] = [
    ["another name that resolves to this machine", (headers) => ({ ...headers, host: "evil.example:6116" }), 421],
    ["a name that begins like ours", (headers) => ({ ...headers, host: "localhost.evil.example" }), 421],
    ["another site's page", (headers) => ({ ...headers, origin: "https://evil.example" }), 403],
    ["a page without an origin", (headers) => ({ ...headers, origin: "null" }), 403],
    ["another port of this machine", (headers) => ({ ...headers, origin: "http://127.0.0.1:1" }), 403],
    ["a cross-site request", (headers) => ({ ...headers, "sec-fetch-site": "cross-site" }), 403],
    ["another port's request", (headers) => ({ ...headers, "sec-fetch-site": "same-site" }), 403],
    ["no token", () => JSON_POST, 401],
    ["a wrong token", (headers) => ({ ...headers, authorization: "Bearer wrong" }), 401],
    ["another server's cookie", () => ({ ...JSON_POST, cookie: "hookline-1=x" }), 401],
  ];

  test.each(paths)("%s: every method, and every way to be refused", async (path) => {
    for (const method of methods) {
      const isKnown = method === "GET" || method === "POST";
      for (const [wrong, change, status] of wrongs) {
        const answer = await ask(path, { method, headers: change(token()) });
        const expected = isKnown || status !== 401 ? status : 405;
        expect([method, wrong, answer.status]).toEqual([method, wrong, expected]);
        for (const [name, value] of Object.entries(HEADERS)) expect(answer.headers[name]).toBe(value);
        expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
        expect(answer.headers["set-cookie"]).toBeUndefined();
      }
      const { status, headers } = await ask(path, { method, headers: token() });
      if (!isKnown) expect([method, status]).toEqual([method, 405]);
      else expect([method, status < 500]).toEqual([method, true]);
      for (const [name, value] of Object.entries(HEADERS)) expect(headers[name]).toBe(value);
    }
    // What a form of another page could send.
    const forms: Record<string, string>[] = [
      { "content-type": "text/plain", "x-hookline": "1" },
      { "content-type": "application/json" },
    ];
    for (const headers of forms)
      expect((await ask(path, { method: "POST", headers: { ...bearer(), ...headers } })).status).toBeGreaterThanOrEqual(
        403,
      );
  });

  test("a link works once, and its token leaves the address", async () => {
    const { pathname, search } = new URL(server.newLink());
    expect((await ask(`${pathname}?token=wrong`)).status).toBe(401);
    expect((await ask(pathname + search, { headers: { host: "evil.example" } })).status).toBe(421);
    expect((await ask(pathname + search, { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403);
    const opened = await ask(pathname + search);
    expect([opened.status, opened.headers["location"]]).toEqual([303, "/"]);
    const [cookie] = opened.headers["set-cookie"] as string[];
    expect(cookie).toMatch(new RegExp(`^hookline-${server.port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/$`));
    expect((await ask(pathname + search)).status).toBe(401);
    const page = await ask("/", { headers: { cookie: `other=1; ${cookie!.split(";")[0]!}` } });
    expect([page.status, page.body.toString()]).toEqual([200, "<!doctype html><title>hookline</title>"]);
  });

  test("hosts of this machine with any port: a tunnel changes it", async () => {
    for (const host of ["localhost", "localhost:7000", "127.0.0.1:1", "[::1]:6116", "LOCALHOST:80"]) {
      const origin = `http://${host}`;
      const { status } = await ask("/api/v1/hello", { headers: { ...bearer(), host, origin } });
      expect([host, status]).toEqual([host, 200]);
    }
  });

  test("bodies that are too large, no JSON or of another shape", async () => {
    expect((await post("series", { x: "step".repeat(20_000) })).status).toBe(413);
    const raw = await ask("/api/v1/series", { method: "POST", headers: { ...bearer(), ...JSON_POST }, body: "{" });
    expect(raw.status).toBe(400);
    for (const body of [
      null,
      [],
      {},
      { x: "y" },
      { x: "step", px: 1e9, series: [] },
      { x: "step", px: 10, series: [1] },
    ])
      expect([body, (await post("series", body)).status]).toEqual([body, 400]);
    expect((await post("series", { x: "step", px: 10, series: [{ run: "../../x", name: "loss" }] })).status).toBe(404);
    expect((await post("heat", { run: A, match: "*".repeat(50), px: 10 })).status).toBe(400);
  });
});
