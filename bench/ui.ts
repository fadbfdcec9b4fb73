// The dashboard's budgets: processor time of its server and of its pages, bytes, memory, and what live control adds to a
// step. Each is a ratio, a count, or the clock of one thread: a busy machine does not change them much.
import { fork } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { readRun } from "hookline/runs";
import type { Browser, Page } from "playwright-core";
import { buildPages } from "../build-pages.js";
import { recordLine } from "../src/runs/log-lines.ts";
import { compiledProgram } from "./lib/compiled.ts";
import type { ControlCost } from "./lib/control-cost.ts";
import type { Aim, Report } from "./lib/report.ts";
import { median, quantile } from "./lib/stats.ts";
import { chromiumIsHere, Measured, panChart, startChromium } from "./lib/ui-browser.ts";
import { startUiServer } from "./lib/ui-client.ts";
import { noteFrames, watched } from "./lib/ui-watched.ts";
import { writeInfo, writeLog, writeLossLog, writeRuns } from "../tests/support/dashboard-runs.ts";

const MILLION = 1_000_000;
const FRAMES = 90;
const TICKS = 1000;

interface Place {
  readonly folder: string;
  readonly pages: string;
  readonly browser: Browser;
}

type Rows = [string, ...(number | undefined)[]][];

/** The list of 1,000 and of 10,000 runs: what a server that has just started needs, and the page. */
async function lists({ folder, pages, browser }: Place): Promise<Report> {
  const rows: Rows = [];
  const costs: { readonly list: number; readonly page: number; readonly filter: number; readonly shown: number }[] = [];
  for (const runs of [1000, 10_000]) {
    const root = join(folder, `runs-${runs}`);
    writeRuns(root, runs, 10_000);
    const server = await startUiServer(root, pages);
    const list = await server.cost(() => server.get("runs"));
    const measured = await Measured.open(browser, server.link);
    const { page } = measured;
    await page.locator("table.runs tbody tr").first().waitFor();
    await page.reload();
    await page.locator("table.runs tbody tr").first().waitFor();
    const cost = await measured.sinceLoad();
    const shown = await page.locator("table.runs tbody tr").count();
    const filter = await measured.cost(async () => {
      await page.locator("input[type=search]").fill("lr<1e-3 status:completed");
      await page.waitForFunction(() => document.querySelector(".counts")?.textContent.includes(" of "));
    });
    costs.push({ list, page: cost, filter, shown });
    rows.push([`${runs} runs`, list, cost, filter, shown]);
    await page.close();
    server.close();
  }
  const [few, many] = costs as [(typeof costs)[number], (typeof costs)[number]];
  const log = await cpuOf(() => readRun(join(folder, "runs-1000/mlp/run-00000")));
  return {
    name: "ui list",
    title: "ui: the list of runs; processor ms of the server, and of the page's main thread",
    columns: ["server", "page load", "filter", "rows"],
    rows,
    aims: [
      {
        what: "list of 1,000 runs, server",
        measured: few.list,
        unit: "ms",
        limit: 100,
        cause:
          "a third is V8 compiling what a server that has just started runs for the first time, on other threads; the next list takes 5 ms",
      },
      {
        what: "1,000 logs read for each list",
        measured: (1000 * log) / few.list,
        unit: "×",
        limit: 100,
        atLeast: true,
      },
      {
        what: "list of 1,000 runs, main thread",
        measured: few.page,
        unit: "ms",
        limit: 60,
        cause:
          "a quarter is the page's own code; the rest is leaving the page before it, layout, paint and the scripts that measure",
      },
      { what: "rows in the document", measured: Math.max(few.shown, many.shown), unit: "rows", limit: 42 },
      { what: "10,000 runs to 1,000, server", measured: many.list / few.list, unit: "×", limit: 10 },
      { what: "filter of 10,000 runs, main thread", measured: many.filter, unit: "ms", limit: 50 },
    ],
  };
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const begun = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

/** A run of a million records: its first chart, and queries after that. */
async function queries({ folder, pages }: Place): Promise<Report> {
  const dir = join(folder, "long/long");
  writeInfo(dir, "long", MILLION);
  writeLog(join(dir, "metrics.jsonl"), MILLION);
  const alone = await cpuOf(async () => (await readRun(dir)).get("loss"));
  const server = await startUiServer(join(folder, "long"), pages);
  try {
    const run = await server.idOf("long");
    const idle = (await server.usage()).rss;
    const ask = (from: number, to: number): Promise<ArrayBuffer> =>
      server.post("series", { x: "step", px: 1500, from, to, series: [{ run, name: "loss" }] });
    const first = await server.cost(() => ask(0, MILLION));
    await ask(0, 1000);
    const many = 50;
    const later = await server.cost(async () => {
      for (let i = 0; i < many; i++) await ask(i * 7000, MILLION - i * 9000);
    });
    const { rss } = await server.usage();
    return {
      name: "ui queries",
      title: "ui: charts of a run of a million records; processor ms of the server, and its memory",
      columns: ["readRun", "first chart", "a query later", "MB idle", "MB"],
      rows: [["1,000,000 records", alone, first, later / many, idle / 1e6, rss / 1e6]],
      aims: [
        { what: "first chart to readRun", measured: first / alone, unit: "×", limit: 1.5 },
        {
          what: "a query after that",
          measured: later / many,
          unit: "ms",
          limit: 5,
          cause: `half is V8 compiling the choice of points during these ${many} queries, on other threads`,
        },
        { what: "memory of the idle server", measured: idle / 1e6, unit: "MB", limit: 200 },
        { what: "memory with the run, without 512 MB of cache", measured: rss / 1e6 - 512, unit: "MB", limit: 200 },
      ],
    };
  } finally {
    server.close();
  }
}

const SCENES = [
  { lines: 1, records: MILLION },
  { lines: 20, records: 50_000 },
  { lines: 100, records: 10_000 },
] as const;

/** Frames while a chart is moved, beside uPlot alone with all the points. */
async function frames({ folder, pages, browser }: Place): Promise<Report> {
  const script = await build({
    entryPoints: [new URL("./lib/ui-alone.ts", import.meta.url).pathname],
    bundle: true,
    write: false,
    format: "iife",
  });
  const rows: Rows = [];
  const aims: Aim[] = [];
  for (const { lines, records } of SCENES) {
    const root = join(folder, `lines-${lines}`);
    for (let i = 0; i < lines; i++) {
      writeInfo(join(root, `line-${i}`), `line-${i}`, records);
      writeLossLog(join(root, `line-${i}/metrics.jsonl`), records, i);
    }
    const server = await startUiServer(root, pages);
    const ids = await Promise.all(Array.from({ length: lines }, (_, i) => server.idOf(`line-${i}`)));
    const measured = await Measured.open(browser, server.link);
    const { page } = measured;
    await page.goto(
      `${server.url}#/compare?runs=${ids.join(",")}&from=${records / 4}&to=${(3 * records) / 4}&smooth=0`,
    );
    await settled(page, records, lines);
    let requests = 0;
    const moved = (await measured.cost(async () => (requests = await panChart(page, FRAMES)))) / FRAMES;
    // What was moved is drawn again once the pointer rests.
    await page.waitForTimeout(1000);
    const rest = await measured.cost(async () => {
      await page.setViewportSize({ width: 1460, height: 900 });
      await page.waitForTimeout(500);
    });
    await page.close();
    server.close();
    const other = await Measured.open(browser, "about:blank");
    await other.page.addScriptTag({ content: script.outputFiles[0]!.text });
    await other.page.evaluate(([n, points]) => globalThis.alone.draw(n!, points!), [lines, records]);
    const alone = (await other.cost(() => other.page.evaluate((n) => globalThis.alone.pan(n), FRAMES))) / FRAMES;
    await other.page.close();
    const what = `${lines} × ${records}`;
    rows.push([what, moved, rest, alone, requests]);
    aims.push(
      { what: `${what}, a frame while moving`, measured: moved, unit: "ms", limit: 8 },
      { what: `${what}, to uPlot alone`, measured: moved / alone, unit: "×", limit: 1 },
      { what: `${what}, requests while moving`, measured: requests, unit: "requests", limit: 0 },
    );
    if (lines > 1) aims.push({ what: `${what}, redrawn at rest`, measured: rest, unit: "ms", limit: 80 });
  }
  return {
    name: "ui frames",
    title: "ui: ms of the main thread for a frame",
    columns: ["moving", "redrawn", "uPlot alone", "requests"],
    rows,
    aims,
  };
}

/** Until the chart of the loss has as many lines of so many points, and stands still. */
async function settled(page: Page, points: number, lines: number): Promise<void> {
  await page.waitForFunction(
    ([wanted, n]) => {
      const text = document.querySelector("figure[data-chart=loss] > p.hidden")?.textContent ?? "";
      const counts = [...text.matchAll(/, (\d[^a-z,]*) points/g)].map(([, digits]) =>
        Number(digits!.replaceAll(/\D/g, "")),
      );
      return counts.filter((count) => count === wanted).length >= n;
    },
    [points, lines] as const,
    { timeout: 120_000 },
  );
  await page.waitForTimeout(1000);
}

/** A run that grows while its page is open: how late the page is, what is sent, and what a long watch leaves behind. */
async function live({ folder, pages, browser }: Place): Promise<Report> {
  const root = join(folder, "live");
  const dir = join(root, "live");
  writeInfo(dir, "live", MILLION, { status: "running", about: {}, startedAt: Date.now(), partStartedAt: Date.now() });
  writeLossLog(join(dir, "metrics.jsonl"), 500, 1);
  const server = await startUiServer(root, pages);
  try {
    const measured = await Measured.open(browser, server.link);
    const { page } = measured;
    const answers: { readonly bytes: number; readonly points: number; readonly series: number }[] = [];
    page.on("response", (response) => void noteAnswer(response, answers));
    await page.goto(`${server.url}#/run/${await server.idOf("live")}?smooth=0`);
    await settled(page, 500, 1);
    const before = await measured.heap();
    answers.length = 0;
    await noteFrames(page);
    const written: number[] = [];
    for (let tick = 0; tick < TICKS; tick++) {
      const now = Date.now();
      for (let i = 0; i < 5; i++) {
        const step = 501 + written.length;
        const scalars = { loss: 1 / step, lr: 0.01 };
        appendFileSync(
          join(dir, "metrics.jsonl"),
          recordLine({ step, epoch: 0, time: now, elapsed: step, scalars, media: {} }),
        );
        written.push(now);
      }
      await new Promise((resolve) => void setTimeout(resolve, 250));
    }
    await page.waitForTimeout(1500);
    const seen = await page.evaluate(() => globalThis.seen);
    const late = written.map((at, i) => (seen.find(([points]) => points >= 501 + i)?.[1] ?? Infinity) - at);
    const heap = await measured.heap();
    const over = answers.map(({ bytes, points, series }) => bytes - 16 * points - 600 * series);
    await page.close();
    return {
      name: "ui live",
      title: `ui: ${TICKS} ticks of a live run, ${written.length} records`,
      columns: ["p50 ms", "p95 ms", "answers", "bytes", "MB before", "MB after"],
      rows: [
        [
          "from the record to the page",
          quantile(late, 0.5),
          quantile(late, 0.95),
          answers.length,
          median(answers.map(({ bytes }) => bytes)),
          before,
          heap,
        ],
      ],
      aims: [
        { what: "from the record to the page, p95", measured: quantile(late, 0.95), unit: "ms", limit: 1000 },
        {
          what: "bytes of an answer beyond 16 a point and 600 a curve",
          measured: Math.max(...over),
          unit: "bytes",
          limit: 0,
        },
        { what: "memory of the tab", measured: heap, unit: "MB", limit: 150 },
        { what: "growth of the tab", measured: heap - before, unit: "MB", limit: 10 },
      ],
    };
  } finally {
    server.close();
  }
}

async function noteAnswer(
  response: Awaited<ReturnType<Page["waitForResponse"]>>,
  answers: { bytes: number; points: number; series: number }[],
): Promise<void> {
  if (!response.url().endsWith("/series")) return;
  const body = await response.body();
  const header = JSON.parse(body.subarray(8, 8 + body.readUInt32LE(4)).toString()) as { series: { n: number }[] };
  const points = header.series.reduce((sum, { n }) => sum + n, 0);
  answers.push({ bytes: body.length, points, series: header.series.length });
}

function sizes(pages: string): Report {
  const kilobytes = (file: string): number => gzipSync(readFileSync(join(pages, file))).length / 1000;
  const all = readdirSync(pages).reduce((sum, file) => sum + kilobytes(file), 0);
  return {
    name: "ui sizes",
    title: "ui: kilobytes of the page, gzip",
    columns: ["kB"],
    rows: readdirSync(pages).map((file) => [file, kilobytes(file)]),
    aims: [
      { what: "app.js", measured: kilobytes("app.js"), unit: "kB", limit: 100, must: true },
      { what: "app.css", measured: kilobytes("app.css"), unit: "kB", limit: 12, must: true },
      { what: "what the page adds to the tarball", measured: all, unit: "kB", limit: 200, must: true },
    ],
  };
}

async function controls(): Promise<Report> {
  const child = fork(compiledProgram("control-process"), { execArgv: [] });
  const [cost] = (await once(child, "message")) as [ControlCost];
  const { without, listening, ratio } = cost;
  return {
    name: "ui control",
    title: "ui: µs of a small step without and with control()",
    columns: ["without", "with", "ratio"],
    rows: [["one layer", without, listening, ratio]],
    aims: [{ what: "a step that takes commands", measured: ratio, unit: "×", limit: 1.01 }],
  };
}

declare global {
  // What the pages of this benchmark leave for it.
  var alone: { draw(lines: number, points: number): void; pan(frames: number): Promise<void> };
}

const PARTS = { lists, queries, frames, live, watched } as const;

export async function run(): Promise<Report[]> {
  const folder = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const pages = join(folder, "pages");
  const only = process.argv.filter((arg) => arg.startsWith("--only=")).map((arg) => arg.slice("--only=".length));
  const wants = (name: string): boolean => only.length === 0 || only.includes(name);
  mkdirSync(pages, { recursive: true });
  try {
    await buildPages(pages);
    const reports = [sizes(pages), ...(wants("control") ? [await controls()] : [])];
    if (!chromiumIsHere) return reports;
    const browser = await startChromium();
    try {
      for (const [name, part] of Object.entries(PARTS))
        if (wants(name)) reports.push(await part({ folder, pages, browser }));
    } finally {
      await browser.close();
    }
    return reports;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
