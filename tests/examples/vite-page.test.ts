// The page of examples/vite-page as a user has it: hookline installed as a package, built by Vite, opened in Chromium.
import { cpSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build, preview, type PreviewServer } from "vite";
import { installHookline, type Installed } from "../cli/installed.ts";
import { NEVER_MS } from "../support/chromium.ts";
import { root } from "../support/sources.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const present = existsSync(executablePath);
if (!present) console.warn("The Vite page is not opened: apt-get install chromium (or set CHROMIUM to its path)");

let installed: Installed;
let server: PreviewServer;
let browser: Browser;
let dir: string;

beforeAll(async () => {
  installed = await installHookline();
  dir = installed.project();
  for (const file of ["index.html", "main.ts", "messages.ts", "worker.ts"])
    cpSync(join(root, "examples/vite-page", file), join(dir, file));
  const config = { root: dir, configFile: false as const, logLevel: "error" as const };
  await build({ ...config, worker: { format: "es" } });
  server = await preview({ ...config, preview: { host: "127.0.0.1", port: 0 } });
});

afterAll(async () => {
  await browser?.close();
  await server?.close();
  installed.remove();
});

test("what the worker loads at once is small, and nothing in the bundle is for Node", () => {
  const files = readdirSync(join(dir, "dist/assets"));
  expect(files.filter((file) => /native|mpi|bullmq|threaded/.test(file))).toEqual([]);
  const worker = files.find((file) => file.startsWith("worker-"))!;
  // More than half of it is jax-js.
  expect(statSync(join(dir, "dist/assets", worker)).size).toBeLessThan(500_000);
});

test.runIf(present)("the worker trains, and the chart shows it", async () => {
  browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic"],
    timeout: NEVER_MS,
  });
  const page = await browser.newPage();
  page.setDefaultTimeout(NEVER_MS);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(server.resolvedUrls!.local[0]!);
  const inked = () =>
    page.evaluate(() => {
      const chart = document.querySelector("canvas")!;
      const { data } = chart.getContext("2d")!.getImageData(0, 0, chart.width, chart.height);
      return data.filter((value, i) => i % 4 === 3 && value > 0).length;
    });
  expect(await inked()).toBe(0);
  await page.click("#train");
  await page.waitForFunction(() => document.querySelector("output")!.value.startsWith("epoch 2"));
  expect(await inked()).toBeGreaterThan(100);
  await page.waitForFunction(() => document.querySelector("output")!.value.includes("completed"));
  const said = await page.evaluate(() => document.querySelector("output")!.value);
  expect(said).toMatch(/^completed on wasm; epoch 30: /);
  expect(Number(/([\d.]+) %/.exec(said)![1])).toBeGreaterThan(90);
  expect(errors).toEqual([]);

  // Stopped by the page itself, at once: a click from here might come after the last epoch.
  await page.evaluate(() => {
    const stop = document.querySelector<HTMLButtonElement>("#stop")!;
    new MutationObserver((_, observer) => {
      observer.disconnect();
      stop.click();
    }).observe(document.querySelector("output")!, { childList: true });
  });
  await page.click("#train");
  await page.waitForFunction(() => document.querySelector("output")!.value.startsWith("stopped"));
});
