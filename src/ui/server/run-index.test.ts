// The index against directories in any state that kills leave behind, the states of runs, and names that attack.
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { tempDir } from "../../../tests/support/temp-dir.ts";
import { exampleStudy } from "../../../tests/support/example-study.ts";
import { Rng } from "../../data/random.ts";
import { headerLine, recordLine } from "../../runs/log-lines.ts";
import { thisProcess } from "../../runs/liveness.ts";
import type { RunRow, StudyPage, StudyRow } from "../wire.ts";
import { RunIndex } from "./run-index.ts";
import { startServer } from "./server.ts";

const infoOf = (id: string, more: object = {}): string =>
  JSON.stringify({
    schema: "hookline.run",
    version: 1,
    id,
    name: id,
    status: "completed",
    startedAt: 1,
    partStartedAt: 1,
    resumedAt: null,
    totalSteps: 9,
    hparams: {},
    about: {},
    ...more,
  });
const line = (step: number, name = "loss", time = step): string =>
  recordLine({ step, epoch: 0, time, elapsed: step, scalars: { [name]: 1 / step }, media: {} });
const header = headerLine("metrics", { id: "r", startedAt: 1 });

function leaveRun(dir: string, info: string, lines: readonly string[]): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(`${dir}/run.json`, info);
  writeFileSync(`${dir}/metrics.jsonl`, header + lines.join(""));
}

const rowsOf = (index: RunIndex): RunRow[] => [...index.answer(undefined).rows].sort((a, b) => (a.id < b.id ? -1 : 1));

test("after each of 200 kills, cuts and removals the list is that of a fresh look, and no answer misses a change", async () => {
  const root = tempDir();
  const rng = new Rng(7);
  const pick = (n: number): number => Math.floor(rng.next() * n);
  const index = new RunIndex(root);
  /** As a page keeps it, from what has changed. */
  const page = new Map<string, RunRow>();
  let rev: number | undefined;
  for (let i = 0; i < 200; i++) {
    const dir = `${root}/${["a", "b", "group/c", "group/d"][pick(4)]!}`;
    const steps = Array.from({ length: 1 + pick(20) }, (_, at) => line(at + 1));
    const acts = [
      () => leaveRun(dir, infoOf(`r${i}`), steps),
      () => leaveRun(dir, infoOf(`r${i}`, { status: "running" }), steps),
      () => appendFileSync(`${dir}/metrics.jsonl`, line(50 + i).slice(0, pick(60))),
      () => truncateSync(`${dir}/metrics.jsonl`, pick(readFileSync(`${dir}/metrics.jsonl`).length)),
      () => writeFileSync(`${dir}/run.json`, infoOf(`r${i}`).slice(0, pick(100))),
      () => rmSync(dir, { recursive: true }),
    ];
    try {
      acts[pick(acts.length)]!();
    } catch {
      leaveRun(dir, infoOf(`r${i}`), steps);
    }
    await index.scan();
    const answer = index.answer(rev);
    for (const row of answer.rows) page.set(row.id, row);
    for (const id of answer.gone) page.delete(id);
    rev = answer.rev;
    expect([...page.values()].sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(rowsOf(index));
    const fresh = new RunIndex(root);
    await fresh.scan();
    // A run.json that is torn leaves the row of before, until it can be read again.
    const readable = new Set(rowsOf(fresh).map(({ id }) => id));
    expect(rowsOf(index).filter(({ id }) => readable.has(id))).toEqual(rowsOf(fresh));
  }
});

test("a run.json that cannot be read is named, until it can", async () => {
  const root = tempDir();
  for (const name of ["good", "torn"]) mkdirSync(`${root}/${name}`);
  writeFileSync(`${root}/good/run.json`, infoOf("good"));
  writeFileSync(`${root}/torn/run.json`, infoOf("torn").slice(0, -9));
  const index = new RunIndex(root);
  await index.scan();
  const { rev, rows, unreadable } = index.answer(undefined);
  expect([rows.map(({ name }) => name), unreadable]).toEqual([["good"], { some: ["torn"], count: 1 }]);
  writeFileSync(`${root}/torn/run.json`, infoOf("torn"));
  await index.scan();
  const later = index.answer(rev);
  expect([later.rows.map(({ name }) => name), later.unreadable]).toEqual([["torn"], { some: [], count: 0 }]);
  expect(later.rev).toBeGreaterThan(rev);
});

test("states: starting, running, stale, killed, elsewhere, and how it ended", async () => {
  const root = tempDir();
  const now = Date.now();
  const me = thisProcess();
  const running = (about: object, more: object = {}): string =>
    infoOf("r", { status: "running", partStartedAt: now - 1000, about, ...more });
  const records = [line(1, "loss", now - 500), line(2, "loss", now - 400)];
  leaveRun(`${root}/starting`, running(me), []);
  leaveRun(`${root}/resuming`, running(me), [line(1, "loss", now - 5000)]);
  leaveRun(`${root}/running`, running(me), records);
  leaveRun(`${root}/killed`, running({ ...me, started: "0" }), records);
  leaveRun(`${root}/far`, running({ ...me, host: `not-${hostname()}` }), records);
  for (const name of ["stale", "elsewhere"]) {
    const about = name === "stale" ? me : { ...me, host: `not-${hostname()}` };
    leaveRun(`${root}/${name}`, running(about), records);
    for (const file of ["run.json", "metrics.jsonl"]) utimesSync(`${root}/${name}/${file}`, 1, 1);
  }
  for (const status of ["completed", "stopped", "interrupted", "error"])
    leaveRun(`${root}/${status}`, infoOf("r", { status }), records);
  const index = new RunIndex(root);
  await index.scan();
  const states = Object.fromEntries(rowsOf(index).map(({ name, state }) => [name, state]));
  for (const [name, state] of Object.entries(states))
    expect([name, state]).toEqual([name, { far: "running", resuming: "starting" }[name] ?? name]);
  expect(Object.keys(states).length).toBe(11);
});

test("400 hostile names of runs, metrics, texts and images stay data; links and pipes are not followed", async () => {
  const root = tempDir();
  const bad = [
    "<img src=x onerror=alert(1)>",
    "__proto__",
    "constructor",
    "‮evil",
    "a\u0000b",
    "'\"`${1}",
    "../../etc/passwd",
    "%2e%2e",
    "🙂",
    " ",
  ];
  const names = Array.from({ length: 400 }, (_, i) => `${bad[i % bad.length]!}${i}`);
  for (const [i, name] of names.entries()) {
    const shown = recordLine({
      step: 1,
      epoch: 0,
      time: 1,
      elapsed: 1,
      scalars: { [name]: i },
      media: { [`${name}t`]: { kind: "text", text: name } },
    }).slice(0, -2);
    const image = `,${JSON.stringify(`${name}i`)}:{"image":${JSON.stringify(i % 2 === 0 ? `media/${name}` : "../secret.png")}}}\n`;
    leaveRun(`${root}/x${name.replaceAll(/[/\0]/g, "_")}`, infoOf(name, { reason: name, hparams: { [name]: name } }), [
      shown + image,
    ]);
  }
  leaveRun(`${root}/linked`, infoOf("linked"), []);
  writeFileSync(`${root}/secret.png`, "secret");
  rmSync(`${root}/linked/metrics.jsonl`);
  symlinkSync(`${root}/secret.png`, `${root}/linked/metrics.jsonl`);
  const server = await startServer({ root, version: "1", port: 0 });
  const get = (path: string) =>
    fetch(`${server.url}api/v1/${path}`, { headers: { authorization: `Bearer ${server.token}` } });
  try {
    const { rows } = (await (await get("runs")).json()) as { rows: RunRow[] };
    expect(rows.length).toBe(401);
    for (const { id, name, reason } of rows.filter((_, i) => i % 20 === 0)) {
      const page = await get(`runs/${id}`);
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
      const query = `name=${encodeURIComponent(`${reason}t`)}`;
      if (name !== "linked")
        expect(await (await get(`runs/${id}/texts?${query}`)).json()).toEqual({ texts: [{ step: 1, text: reason }] });
      const image = await get(`runs/${id}/media?name=${encodeURIComponent(`${reason}i`)}&step=1`);
      expect([image.status, await image.text()]).toEqual([404, expect.not.stringContaining("secret\n")]);
    }
    expect(({} as Record<string, unknown>)["0"]).toBeUndefined();
  } finally {
    await server.close();
  }
});

test("a study: its trials, parameters and importance, and the runs of its trials", async () => {
  const root = tempDir();
  const study = await exampleStudy({ trials: 30, dir: `${root}/sweep` });
  const server = await startServer({ root, version: "1", port: 0 });
  const get = async (path: string): Promise<unknown> =>
    (await fetch(`${server.url}api/v1/${path}`, { headers: { authorization: `Bearer ${server.token}` } })).json();
  try {
    const [row] = (await get("studies")) as StudyRow[];
    expect(row).toMatchObject({ name: "sweep", state: "completed", trials: 30, done: 30, objective: "val/accuracy" });
    const page = (await get(`studies/${row!.id}`)) as StudyPage;
    expect(page.parameters.map(({ name, scale }) => [name, scale])).toEqual([
      ["lr", "log"],
      ["width", "linear"],
      ["dropout", "linear"],
      ["optimizer", "choice"],
      ["optimizer.momentum", "linear"],
    ]);
    expect(page.trials.map(({ number, status, result }) => [number, status, result["val/accuracy"] ?? null])).toEqual(
      study.trials.map(({ number, status, result }) => [number, status, result?.["val/accuracy"] ?? null]),
    );
    expect(page.importance!.length).toBe(5);
    expect([page.allow, page.trials.every(({ touched }) => !touched)]).toEqual([[], true]);
  } finally {
    await server.close();
  }
});
