// Training in a real browser: Chromium on wasm (one thread, and threads in an isolated page) and on WebGPU in software.
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundle } from "../support/bundle.ts";
import { NEVER_MS } from "../support/chromium.ts";
import type { PageExperiment, PageLook, PageResult } from "./page.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const present = existsSync(executablePath);
if (!present) console.warn("Browser training is skipped: apt-get install chromium (or set CHROMIUM to its path)");

const FLAGS = [
  "--no-sandbox", // Chromium refuses to run as root with one
  "--no-first-run",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // WebGPU without a GPU: slow, but its results count.
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
];

let server: Server;
let address: string;

/** The page as a program that a bundler made of the sources, at `/`, and at `/isolated` with the headers that allow threads. */
async function serve(): Promise<void> {
  const { code } = await bundle({ file: "tests/browser/page.ts" }, { jax: true });
  server = createServer(({ url }, response) => {
    if (url === "/page.js") return response.setHeader("content-type", "text/javascript").end(code);
    if (url === "/isolated") {
      response.setHeader("cross-origin-opener-policy", "same-origin");
      response.setHeader("cross-origin-embedder-policy", "require-corp");
    }
    return response
      .setHeader("content-type", "text/html")
      .end(`<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>`);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function open(browser: Browser, path: string): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(NEVER_MS);
  page.on("console", (message) => {
    if (message.type() === "error") console.error(`page: ${message.text()}`);
  });
  await page.goto(address + path);
  return page;
}

async function train(page: Page, engine: string, split: boolean): Promise<PageResult> {
  return page.evaluate(
    ([engine, split]) =>
      (globalThis as unknown as { train(engine: string, split: boolean): Promise<PageResult> }).train(engine, split),
    [engine, split] as const,
  );
}

function expectTrained({ losses, norms, events, status, test: metrics }: PageResult): void {
  expect(status).toBe("completed");
  expect(losses).toHaveLength(20);
  expect(norms).toHaveLength(20);
  for (const value of [...losses, ...norms]) expect(value).toSatisfy(Number.isFinite);
  expect(losses[19]).toBeLessThan((losses[0] as number) / 2);
  expect(events).toEqual({ init: 2, trainBegin: 1, stepBegin: 20, stepEnd: 20, trainEnd: 1, evalEnd: 1, close: 2 });
  expect(metrics["test/accuracy"]).toBeGreaterThan(0.8);
}

describe.runIf(present)("in Chromium", () => {
  let browser: Browser;
  let wasm: PageResult;

  beforeAll(async () => {
    await serve();
    browser = await chromium.launch({ executablePath, args: FLAGS, timeout: NEVER_MS });
  });

  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  test("wasm trains, and a gradient listener changes nothing", async () => {
    const page = await open(browser, "/");
    wasm = await train(page, "wasm", false);
    expect(wasm).toMatchObject({ device: "wasm", isolated: false });
    expectTrained(wasm);
    const apart = await train(page, "wasm", true);
    expectTrained(apart);
    expect(apart.losses).toEqual(wasm.losses);
  });

  test("an experiment runs from arrays in memory to its results", async () => {
    const page = await open(browser, "/");
    const { result, events } = await page.evaluate(() =>
      (globalThis as unknown as { experiment(): Promise<PageExperiment> }).experiment(),
    );
    const perModel = ["trainingComplete", "evaluationComplete"];
    expect(events).toEqual(["dataRead", "datasetCreated", ...perModel, ...perModel]);
    expect(result).toMatchObject({ status: "completed", reason: "2 models" });
    for (const { results, folds } of Object.values(result.models)) {
      expect(results["test/accuracy"]).toBeGreaterThan(0.8);
      expect(folds!["val/accuracy"]!.mean).toBeGreaterThan(0.8);
    }
  });

  test("wasm trains with threads in an isolated page", async () => {
    const result = await train(await open(browser, "/isolated"), "wasm", false);
    expect(result).toMatchObject({ device: "wasm", isolated: true });
    expectTrained(result);
  });

  test("WebGPU trains, with a real number in ctx.loss", async ({ skip }) => {
    const page = await open(browser, "/");
    const adapter = await page.evaluate(async () =>
      Boolean(await (navigator as { gpu?: { requestAdapter(): Promise<unknown> } }).gpu?.requestAdapter()),
    );
    skip(!adapter, "This Chromium has no WebGPU adapter, not even one in software.");
    for (const split of [false, true]) {
      const result = await train(page, "webgpu", split);
      expect(result.device).toBe("webgpu");
      expectTrained(result);
      for (const [i, loss] of result.losses.entries()) expect(loss).toBeCloseTo(wasm.losses[i] as number, 2);
    }
    expect((await train(page, "auto", false)).device).toBe("webgpu");
    const seen = await page.evaluate(() =>
      (globalThis as unknown as { look(engine: string): Promise<PageLook> }).look("webgpu"),
    );
    expect(seen.looks).toBe(20);
    expect(seen.avgLoss).toBeGreaterThan(0);
    expect(seen.avgLoss).toBe(seen.trainLoss);
  });
});
