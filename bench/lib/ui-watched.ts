// A real training while nobody looks, while its page is open, and while it is sent commands.
import { fork } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readControl, sendCommand } from "hookline/runs";
import type { Browser, Page } from "playwright-core";
import { compiledProgram } from "./compiled.ts";
import type { Report } from "./report.ts";
import { quantile } from "./stats.ts";
import { Measured } from "./ui-browser.ts";
import { startUiServer } from "./ui-client.ts";
import type { RunUsage } from "./watched-run.ts";

const WARM_MS = 5000;
const PHASE_MS = 20_000;
const COMMANDS = 60;

export async function watched(place: {
  readonly folder: string;
  readonly pages: string;
  readonly browser: Browser;
}): Promise<Report> {
  const root = join(place.folder, "watched");
  const runDir = join(root, "run");
  const child = fork(compiledProgram("watched-run"), [runDir], { execArgv: [] });
  const usage = (): Promise<RunUsage> =>
    new Promise((resolve) => {
      child.once("message", (message) => resolve(message as RunUsage));
      child.send({});
    });
  /** Processor milliseconds of the training for a second. */
  const load = async (): Promise<number> => {
    const before = await usage();
    await sleep(PHASE_MS);
    return (1000 * ((await usage()).cpu - before.cpu)) / PHASE_MS;
  };
  try {
    await until(async () => (await readControl(runDir)).hello?.state === "running");
    await sleep(WARM_MS);
    const alone = await load();
    const server = await startUiServer(root, place.pages);
    const { page } = await Measured.open(place.browser, server.link);
    await page.goto(`${server.url}#/run/${await server.idOf("run")}?smooth=0`);
    await noteFrames(page);
    // With the first second, in which the training notices that somebody watches.
    const begun = Date.now();
    const seen = await load();
    const frames = await page.evaluate(() => globalThis.seen);
    const { ends } = await usage();
    // What comes after the last frame was not looked for.
    const last = frames.at(-1)![0];
    const late = ends.flatMap((end, i) =>
      end < begun || i >= last ? [] : [frames.find(([points]) => points > i)![1] - end],
    );
    await page.close();
    server.close();
    for (let i = 0; i < COMMANDS; i++) {
      await sendCommand(runDir, { verb: "note", args: { text: `${i}` } });
      await sleep(37 * (1 + (i % 7)));
    }
    await until(async () => (await readControl(runDir)).commands.every(({ state }) => state !== "waiting"));
    const { commands } = await readControl(runDir);
    const waits = commands.map(({ sentAt, time }) => time! - sentAt);
    return {
      name: "ui watched",
      title: "ui: a training of 50 steps a second, alone and while its page is open",
      columns: ["p50 ms", "p95 ms", "ms of a core a second"],
      rows: [
        ["from the step's end to the pixel", quantile(late, 0.5), quantile(late, 0.95), seen],
        ["from sending a command to its line", quantile(waits, 0.5), quantile(waits, 0.95), undefined],
        ["alone", undefined, undefined, alone],
      ],
      aims: [
        { what: "from the step's end to the pixel, p95", measured: quantile(late, 0.95), unit: "ms", limit: 1000 },
        { what: "a command, p95", measured: quantile(waits, 0.95), unit: "ms", limit: 500 },
        { what: "commands lost", measured: COMMANDS - commands.length, unit: "commands", limit: 0 },
        { what: "what watching adds to the training", measured: (seen - alone) / 10, unit: "% of a core", limit: 0.5 },
      ],
    };
  } finally {
    child.kill("SIGKILL");
  }
}

async function until(test: () => Promise<boolean>): Promise<void> {
  while (!(await test())) await sleep(50);
}

/** Notes when the chart of the loss first showed so many points: after the frame that drew them. */
export async function noteFrames(page: Page): Promise<void> {
  await page.evaluate(() => {
    const frames: [points: number, at: number][] = [];
    Object.assign(globalThis, { seen: frames });
    const look = (): void => {
      const text = document.querySelector("figure[data-chart=loss] > p.hidden")?.textContent ?? "";
      const points = Number(/^loss, ([^a-z]+) points/.exec(text)?.[1]?.replaceAll(/\D/g, ""));
      if (points > 0 && points !== frames.at(-1)?.[0]) {
        const frame: [number, number] = [points, Infinity];
        frames.push(frame);
        // Curves are drawn after the words, in the frame that follows.
        requestAnimationFrame(() => requestAnimationFrame(() => (frame[1] = Date.now())));
      }
      requestAnimationFrame(look);
    };
    look();
  });
}

declare global {
  // What a measured page leaves.
  var seen: [points: number, at: number][];
}
