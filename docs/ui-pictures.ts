// Takes the pictures of the dashboard for ui.md and the README, from a training that commands change while it runs.
// Run it with `npx tsx docs/ui-pictures.ts`, where Chromium is installed.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { control, gradientMonitor, logger, modelCheckpoint, Trainer } from "hookline";
import { DataLoader, Rng, split } from "hookline/data";
import { accuracy, crossEntropy, dropout, linear, relu, sequential } from "hookline/nn";
import { adam } from "hookline/optim";
import { readControl, sendCommand } from "hookline/runs";
import { chromium, type Page } from "playwright-core";
import { buildPages } from "../build-pages.js";
import type { RunsAnswer, StudyRow } from "../src/ui/wire.ts";
import { writeRuns } from "../tests/support/dashboard-runs.ts";
import { exampleStudy } from "../tests/support/example-study.ts";
import { startServer } from "../src/ui/server/server.ts";

const SAMPLES = 2000;
/** At this step the training waits for its picture. */
const SHOWN = 1500;
const SIZE = { width: 1280, height: 800 };

/** Three arms of a spiral. */
function spiral() {
  const rng = new Rng(3);
  const y = Int32Array.from({ length: SAMPLES }, (_, i) => i % 3);
  const x = new Float32Array(2 * SAMPLES);
  y.forEach((arm, i) => {
    const radius = 2 * rng.next() + 0.1;
    const angle = 2.6 * radius + (2 * Math.PI * arm) / 3 + 0.22 * rng.normal();
    x.set([radius * Math.cos(angle), radius * Math.sin(angle)], 2 * i);
  });
  return split({ x: { data: x, shape: [SAMPLES, 2] }, y }, [0.8, 0.2]);
}

function trainerFor(runDir: string, lr: number, seed = 1): Trainer {
  const [train, val] = spiral();
  return new Trainer({
    model: sequential(linear(2, 48), relu(), dropout(0.1), linear(48, 48), relu(), linear(48, 3)),
    loss: crossEntropy(),
    metrics: { accuracy: accuracy() },
    optimizer: adam({ lr }),
    train: new DataLoader(train, { batchSize: 32, shuffle: true }),
    eval: new DataLoader(val, { batchSize: 400 }),
    epochs: 40,
    seed,
    logEvery: 2,
    runDir,
    engine: "wasm",
    hooks: [
      control(),
      logger("jsonl", { hparams: { lr, width: 48 } }),
      modelCheckpoint({ every: 250, saveTopK: -1 }),
      gradientMonitor({ every: 20 }),
    ],
  });
}

/** What is shown of a live training, in this order. */
interface Looks {
  /** It runs; it is paused; its rate was changed meanwhile; it runs again. */
  frame(): Promise<void>;
  /** All of its pictures. */
  shown(): Promise<void>;
}

/** Trains, and is steered by a person on its way: paused, changed, continued. It waits while it is looked at. */
async function trainLive(runDir: string, { frame, shown }: Looks): Promise<void> {
  const steer = async (): Promise<void> => {
    await frame();
    await sendCommand(runDir, { verb: "setLr", args: { factor: 0.3 }, why: "noisy since 400", by: "ann@lab3" });
    const isWaiting = async (): Promise<boolean> =>
      (await readControl(runDir)).commands.some(({ state, at }) => state === "waiting" && !at);
    while (await isWaiting()) await sleep(50);
    await frame();
    await sendCommand(runDir, { verb: "continue", by: "ann@lab3" });
  };
  let steered: Promise<void> | undefined;
  await using trainer = trainerFor(runDir, 0.03);
  trainer.on("pause", () => void (steered = steer()));
  trainer.on("stepEnd", { at: [10] }, async () => {
    await sendCommand(runDir, { verb: "pause", at: { step: 620 }, by: "ann@lab3" });
    await sendCommand(runDir, { verb: "save", args: {}, why: "before the change", at: { step: 980 } });
    await sendCommand(runDir, { verb: "setLr", args: { factor: 0.05 }, why: "settle down", at: { step: 1000 } });
  });
  trainer.on("stepEnd", { at: [560, 760] }, frame);
  trainer.on("stepEnd", { at: [SHOWN] }, shown);
  await trainer.fit();
  await steered;
}

/** Another run begins at an older checkpoint of the first. */
async function branch(runDir: string): Promise<void> {
  await using trainer = trainerFor(runDir, 0.01);
  await trainer.fit({ resume: "step-001000", steps: 1600 });
}

const temporary = mkdtempSync(join(tmpdir(), "hookline-pictures-"));
const images = new URL("./images/", import.meta.url);
mkdirSync(images, { recursive: true });
const root = join(temporary, "runs");
mkdirSync(root);
await buildPages(join(temporary, "pages"));
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const server = await startServer({ root, version: "0.0.0", port: 0, pages: join(temporary, "pages") });
const context = await browser.newContext({ viewport: SIZE, deviceScaleFactor: 1.5 });
const page = await context.newPage();
await page.goto(server.newLink());

type Scheme = "light" | "dark";

/** Shows a page, and waits until it stands still. */
async function show(hash: string, ready: string, colorScheme: Scheme = "light"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.goto(`${server.url}${hash}`);
  await page.locator(ready).first().waitFor();
  await settled(page);
}

async function take(name: string, hash: string, ready: string, colorScheme: Scheme = "light"): Promise<void> {
  await show(hash, ready, colorScheme);
  writeFileSync(new URL(`${name}.webp`, images), Buffer.from(await picture(1), "base64"));
}

/** A third of the size of a PNG; the browser can make it. The names of this machine and its user are nobody's business. */
async function picture(scale: number, height = SIZE.height): Promise<string> {
  await page.evaluate(rename, { user: /[\w.-]+@[\w.-]+/g.source });
  const png = (await page.screenshot({ clip: { x: 0, y: 0, width: SIZE.width, height } })).toString("base64");
  const blank = await browser.newPage();
  const webp = await blank.evaluate(
    async ([data, factor]) => {
      const image = new Image();
      image.src = `data:image/png;base64,${data}`;
      await image.decode();
      const [width, tall] = [image.width * factor, image.height * factor];
      const canvas = Object.assign(document.createElement("canvas"), { width, height: tall });
      canvas.getContext("2d")!.drawImage(image, 0, 0, width, tall);
      return canvas.toDataURL("image/webp", 0.85);
    },
    [png, scale] as const,
  );
  await blank.close();
  return webp.split(",")[1]!;
}

const FRAME_S = 2.5;

/** Frames one after the other, in one file that needs no script. */
function animated(frames: readonly string[]): string {
  const { width, height } = SIZE;
  const seconds = FRAME_S * frames.length;
  const shown = (100 / frames.length).toFixed(3);
  const drawn = frames.map(
    (webp, i) =>
      `<image width="${width}" height="${height}" style="animation-delay:${i * FRAME_S}s" href="data:image/webp;base64,${webp}"/>`,
  );
  const style = `@keyframes show{0%,${shown}%{opacity:1}${shown}1%,100%{opacity:0}}image{opacity:0;animation:show ${seconds}s step-end infinite}image:first-of-type{opacity:1}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}"><style>${style}</style>${drawn.join("")}</svg>\n`;
}

/** Until charts and tables stand still. */
async function settled(shown: Page): Promise<void> {
  const text = async (): Promise<string> => (await shown.locator("figure, table").allInnerTexts()).join();
  for (let before = ""; ;) {
    await shown.waitForTimeout(1500);
    const now = await text();
    if (now === before) return;
    before = now;
  }
}

function rename({ user }: { user: string }): void {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const changed = node.nodeValue!.replaceAll(new RegExp(user, "g"), "ann@lab3");
    if (changed !== node.nodeValue) node.nodeValue = changed;
  }
  for (const shown of document.querySelectorAll(".root")) shown.textContent = "runs";
  const facts = document.querySelector(".run-head .soft");
  if (facts) facts.textContent = facts.textContent.replace(/ · [^·]+ · pid \d+/, " · lab3 · pid 31008");
}

async function get<T>(path: string): Promise<T> {
  const headers = { authorization: `Bearer ${server.token}` };
  return (await (await fetch(`${server.url}api/v1/${path}`, { headers })).json()) as T;
}

const idOf = async (name: string): Promise<string> =>
  (await get<RunsAnswer>("runs")).rows.find((row) => row.name === name)!.id;

try {
  for (const [group, lr] of [["slow", 0.002] as const, ["fast", 0.02] as const]) {
    for (const seed of [1, 2, 3]) {
      await using trainer = trainerFor(join(root, `spiral/${group}/seed-${seed}`), lr, seed);
      await trainer.fit();
    }
  }
  const frames: string[] = [];
  const live = async (): Promise<string> => `#/run/${await idOf("spiral/live")}`;
  await trainLive(join(root, "spiral/live"), {
    async frame() {
      await show(await live(), "figure .u-over");
      frames.push(await picture(2 / 3));
    },
    async shown() {
      await take("ui-run-light", await live(), "figure .u-over");
      frames.push(await picture(2 / 3));
      await take("ui-run-dark", await live(), "figure .u-over", "dark");
      await takeRefused(await live());
      writeRuns(root, 1000, 2000);
      await take("ui-runs", "#/", "tr:has-text('spiral/live')");
    },
  });
  writeFileSync(new URL("ui-live.svg", images), animated(frames));
  await exampleStudy({ trials: 40, dir: join(root, "digits") });
  const compared = await Promise.all(
    ["slow", "fast"].flatMap((group) => [1, 2, 3].map((seed) => idOf(`spiral/${group}/seed-${seed}`))),
  );
  await take("ui-compare", `#/compare?runs=${compared.join(",")}&group=directory`, "figure .u-over");
  await take("ui-layers", `${await live()}/layers`, ".heat canvas");
  await take("ui-sweep", `#/sweep/${(await get<readonly StudyRow[]>("studies"))[0]!.id}`, "svg.parallel");
  await branch(join(root, "spiral/live"));
  await take("ui-checkpoints", `${await live()}/checkpoints`, "svg.tree");
} finally {
  await browser.close();
  await server.close();
  rmSync(temporary, { recursive: true, force: true });
}

/** A rate that the run's bounds do not allow. */
async function takeRefused(hash: string): Promise<void> {
  await show(hash, "figure .u-over");
  await page.locator(".rate input").fill("30");
  await page.getByRole("button", { name: "Set", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Set 30" }).click();
  await page.locator(".commands .failed").waitFor();
  writeFileSync(new URL("ui-refused.webp", images), Buffer.from(await picture(1, 240), "base64"));
  await page.getByRole("button", { name: "dismiss" }).click();
}
