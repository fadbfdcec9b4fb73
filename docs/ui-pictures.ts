// Takes the pictures of the dashboard for ui.md and the README, from a training that commands change while it runs.
// Run it with `npx tsx docs/ui-pictures.ts`, where Chromium is installed.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { control, gradientMonitor, logger, modelCheckpoint, Trainer, type Hook } from "hookline";
import { DataLoader, Rng, split } from "hookline/data";
import { accuracy, crossEntropy, dropout, linear, relu, sequential } from "hookline/nn";
import { adam } from "hookline/optim";
import { sendCommand } from "hookline/runs";
import { chromium, type Page } from "playwright-core";
import { buildPages } from "../build-pages.js";
import type { RunsAnswer, StudyRow } from "../src/ui/wire.ts";
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

function trainerFor(runDir: string, lr: number, hooks: readonly Hook[] = []): Trainer {
  const [train, val] = spiral();
  return new Trainer({
    model: sequential(linear(2, 48), relu(), dropout(0.1), linear(48, 48), relu(), linear(48, 3)),
    loss: crossEntropy(),
    metrics: { accuracy: accuracy() },
    optimizer: adam({ lr }),
    train: new DataLoader(train, { batchSize: 32, shuffle: true }),
    eval: new DataLoader(val, { batchSize: 400 }),
    epochs: 40,
    logEvery: 2,
    runDir,
    engine: "wasm",
    hooks: [
      control(),
      logger("jsonl", { hparams: { lr, width: 48 } }),
      modelCheckpoint({ every: 250, saveTopK: -1 }),
      gradientMonitor({ every: 20 }),
      ...hooks,
    ],
  });
}

/** Trains with two commands of a person on its way, and waits at `SHOWN` until `look` is done. */
async function trainLive(runDir: string, look: () => Promise<void>): Promise<void> {
  const wait: Hook = { name: "pace", onStepEnd: async (ctx) => (ctx.step === SHOWN ? look() : undefined) };
  await using trainer = trainerFor(runDir, 0.03, [wait]);
  trainer.on("stepEnd", { at: [10] }, async () => {
    await sendCommand(runDir, { verb: "setLr", args: { factor: 0.3 }, why: "noisy since 400", at: { step: 620 } });
    await sendCommand(runDir, { verb: "save", args: {}, why: "before the change", at: { step: 980 } });
    await sendCommand(runDir, { verb: "setLr", args: { factor: 0.05 }, why: "settle down", at: { step: 1000 } });
  });
  await trainer.fit();
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

/** A third of the size of a PNG; the browser can make it. The names of this machine and its user are nobody's business. */
async function take(name: string, hash: string, ready: string, colorScheme: "light" | "dark" = "light"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.goto(`${server.url}${hash}`);
  await page.locator(ready).first().waitFor();
  await settled(page);
  await page.evaluate(rename, { user: /[\w.-]+@[\w.-]+/g.source });
  const picture = (await page.screenshot()).toString("base64");
  const blank = await browser.newPage();
  const webp = await blank.evaluate(async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d")!.drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.85);
  }, picture);
  await blank.close();
  writeFileSync(new URL(`${name}.webp`, images), Buffer.from(webp.split(",")[1]!, "base64"));
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
  for (const [i, lr] of [0.001, 0.003, 0.01].entries()) {
    await using trainer = trainerFor(join(root, `spiral/lr-${i}`), lr);
    await trainer.fit();
  }
  await trainLive(join(root, "spiral/live"), async () => {
    const id = await idOf("spiral/live");
    await take("ui-run-light", `#/run/${id}`, "figure .u-over");
    await take("ui-run-dark", `#/run/${id}`, "figure .u-over", "dark");
    await take("ui-runs", "#/", "table.runs");
  });
  await exampleStudy({ trials: 40, dir: join(root, "digits") });
  const id = await idOf("spiral/live");
  const compared = await Promise.all([0, 1, 2].map((i) => idOf(`spiral/lr-${i}`)));
  await take("ui-compare", `#/compare?runs=${compared.join(",")}&group=directory`, "figure .u-over");
  await take("ui-layers", `#/run/${id}/layers`, ".heat canvas");
  await take("ui-sweep", `#/sweep/${(await get<readonly StudyRow[]>("studies"))[0]!.id}`, "svg.parallel");
  await take("ui-checkpoints", `#/run/${id}/checkpoints`, "svg.tree");
} finally {
  await browser.close();
  await server.close();
  rmSync(temporary, { recursive: true, force: true });
}
