// Commands over HTTP to a run that listens, and the stream that rings when something is new.
import { appendFileSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../../../tests/support/http-ask.ts";
import { ControlInbox, type Hello } from "../../runs/control/inbox.ts";
import { headerLine, recordLine } from "../../runs/log-lines.ts";
import { thisProcess } from "../../runs/liveness.ts";
import type { CommandRow, ErrorAnswer, RunRow, RunsAnswer } from "../wire.ts";
import { idOf } from "./run-index.ts";
import { startServer, type RunningServer } from "./server.ts";

const root = mkdtempSync(`${tmpdir()}/hookline-`);
const dir = `${root}/live`;
const id = idOf(root, dir);
const started = Date.now();
const servers: RunningServer[] = [];
let inbox: ControlInbox;

const HELLO: Hello = {
  run: "r1",
  part: started,
  worldSize: 1,
  state: "running",
  step: 3,
  lr: [0.1],
  scheduledLr: [0.1],
  accumulate: 1,
  allow: ["pause", "setLr", "stop"],
  bounds: { lr: [0.01, 10] },
  hooks: [],
  checkpoints: true,
  evals: true,
};

const line = (step: number): string =>
  recordLine({ step, epoch: 0, time: Date.now(), elapsed: step, scalars: { loss: 1 / step }, media: {} });

beforeAll(() => {
  mkdirSync(dir);
  const info = { schema: "hookline.run", version: 1, id: "r1", name: "live", status: "running", startedAt: started };
  const rest = { partStartedAt: started, resumedAt: null, totalSteps: 10, hparams: {}, about: { ...thisProcess() } };
  writeFileSync(`${dir}/run.json`, JSON.stringify({ ...info, ...rest }));
  writeFileSync(`${dir}/metrics.jsonl`, headerLine("metrics", { id: "r1", startedAt: started }) + line(1));
  inbox = new ControlInbox(dir, () => undefined);
  inbox.sayHello(HELLO);
});
afterAll(async () => {
  for (const server of servers) await server.close();
  rmSync(root, { recursive: true });
});

async function start(options: { readonly readOnly?: boolean } = {}) {
  const server = await startServer({ root, version: "1", port: 0, ...options });
  servers.push(server);
  const call = async (method: "GET" | "POST", path: string, body?: object): Promise<[number, unknown]> => {
    const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json", "x-hookline": "1" };
    const text = body && JSON.stringify(body);
    const answer = await ask(server.port, `/api/v1/${path}`, {
      method,
      headers,
      ...(text !== undefined && { body: text }),
    });
    return [answer.status, JSON.parse(answer.body.toString())];
  };
  const [, { rows }] = (await call("GET", "runs")) as [number, RunsAnswer];
  const send = (body: object): Promise<[number, unknown]> => call("POST", `runs/${id}/commands`, body);
  return { server, call, send, row: rows[0]! };
}

const codeOf = ([status, body]: readonly [number, unknown]): [number, string] => [
  status,
  (body as ErrorAnswer).error.code,
];

test("a command is put into the inbox, listed, and taken back", async () => {
  const { call, send, row } = await start();
  expect(row).toMatchObject({ state: "running", controllable: true } satisfies Partial<RunRow>);
  const [status, answer] = await send({
    verb: "setLr",
    args: { factor: 0.5 },
    why: "plateau",
    says: "Ada",
    part: started,
  });
  expect(status).toBe(202);
  const { id: cid } = answer as { id: string };
  expect(inbox.list().map(({ command }) => command)).toMatchObject([
    {
      id: cid,
      run: "r1",
      verb: "setLr",
      args: { factor: 0.5 },
      via: "ui",
      why: "plateau",
      by: expect.stringMatching(/^Ada \(says\), .+@/),
    },
  ]);
  const [, list] = await call("GET", `runs/${id}/commands`);
  expect(list).toMatchObject([{ id: cid, state: "waiting" }] satisfies Partial<CommandRow>[]);
  expect(await call("POST", `runs/${id}/commands/${cid}/cancel`, {})).toEqual([200, { id: cid }]);
  expect(inbox.list()).toEqual([]);
  expect(codeOf(await call("POST", `runs/${id}/commands/${cid}/cancel`, {}))).toEqual([404, "gone"]);
});

test("what the run would refuse is refused at once, and too many are", async () => {
  const { send } = await start();
  expect(codeOf(await send({ verb: "setLr", args: { factor: 1000 } }))).toEqual([422, "bounds"]);
  expect(codeOf(await send({ verb: "save" }))).toEqual([422, "not-allowed"]);
  expect(codeOf(await send({ verb: "setLr", args: {} }))).toEqual([400, "bad-command"]);
  expect(codeOf(await send({ verb: 3 }))).toEqual([400, "bad-request"]);
  expect(codeOf(await send({ verb: "pause", part: started - 1 }))).toEqual([410, "part-over"]);
  let last: [number, unknown] = [0, {}];
  for (let i = 0; i < 20; i++) last = await send({ verb: "pause" });
  expect(codeOf(last)).toEqual([429, "too-many"]);
  for (const { name } of inbox.list()) inbox.remove(name);
});

test("a read-only server, and a run that has ended, take no command", async () => {
  const { send } = await start({ readOnly: true });
  expect(codeOf(await send({ verb: "pause" }))).toEqual([409, "not-controllable"]);
  inbox.sayHello({ ...HELLO, state: "ended" });
  const other = await start();
  expect(codeOf(await other.send({ verb: "pause" }))).toEqual([409, "not-controllable"]);
  expect(other.row.controllable).toBe(false);
  inbox.sayHello({ ...HELLO, state: "paused" });
  expect((await start()).row).toMatchObject({ state: "paused", controllable: true });
  inbox.sayHello(HELLO);
});

test("the stream rings for records, commands and the end, and tells the run that it is watched", async () => {
  const { server, send } = await start();
  const response = await fetch(`${server.url}api/v1/stream?show=${id}`, {
    headers: { authorization: `Bearer ${server.token}` },
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const heard = async (test: RegExp): Promise<void> => {
    while (!test.test(text)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`The stream ended without ${test}: ${text}`);
      text += value;
    }
  };
  // The run itself says that it has taken three steps, of which one was logged.
  await heard(/event: run\ndata: .*"records":1,"step":3/);
  appendFileSync(`${dir}/metrics.jsonl`, line(5));
  await heard(/event: run\ndata: .*"records":2,"step":5/);
  await heard(/event: runs\n/);
  await send({ verb: "stop", args: { save: true } });
  await heard(/event: command\ndata: .*"verb":"stop".*"state":"waiting"/);
  expect(lstatSync(`${dir}/control/watch`).isFile()).toBe(true);
  await server.close();
  await heard(/event: bye\n/);
});
