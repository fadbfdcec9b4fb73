// The same exported folder in Node and in Chromium: fetched, and from the browser's own files.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportModel, loadPredictor, type InputRow } from "hookline/predict";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundle } from "../support/bundle.ts";
import { NEVER_MS } from "../support/chromium.ts";
import type { PagePredictions, PredictPage } from "./browser-page.ts";
import { trainChurn } from "./churn-run.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const present = existsSync(executablePath);
if (!present)
  console.warn("Predictors in a browser are skipped: apt-get install chromium (or set CHROMIUM to its path)");

const FLAGS = [
  "--no-sandbox",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  // WebGPU without a GPU: slow, but its results count.
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
];

const rows: InputRow[] = Array.from({ length: 40 }, (_, i) => ({
  age: i % 7 === 0 ? null : 20 + i,
  plan: ["basic", "pro", "gold"][i % 3]!,
  active: i % 2 === 0,
  since: `2023-${String(1 + (i % 12)).padStart(2, "0")}-15`,
}));

interface Labels {
  readonly churn: string;
  readonly probabilities: { readonly yes: number };
}

describe.skipIf(!present)("Chromium", () => {
  const dir = mkdtempSync(join(tmpdir(), "hookline-browser-"));
  const folder = join(dir, "exported");
  let [server, browser, page]: [Server?, Browser?, Page?] = [];
  let address: string;
  let expected: Labels[];

  beforeAll(async () => {
    await exportModel(await trainChurn(dir), folder);
    await using predict = await loadPredictor<Labels>(folder, { engine: "wasm" });
    expected = await predict(rows);
    const { code } = await bundle({ file: "tests/predict/browser-page.ts" }, { jax: true });
    server = createServer(({ url = "" }, response) => {
      if (url === "/page.js") return response.setHeader("content-type", "text/javascript").end(code);
      const file = join(folder, url.replace("/models/churn/", ""));
      if (url.startsWith("/models/churn/"))
        return existsSync(file) ? response.end(readFileSync(file)) : response.writeHead(404).end();
      return response
        .setHeader("content-type", "text/html")
        .end(`<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>`);
    });
    await new Promise<void>((done) => void server!.listen(0, "127.0.0.1", done));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await chromium.launch({ executablePath, args: FLAGS, timeout: NEVER_MS });
    page = await browser.newPage();
    page.setDefaultTimeout(NEVER_MS);
    await page.goto(address);
    await page.waitForFunction("globalThis.predictAll");
  });

  afterAll(async () => {
    await browser?.close();
    server?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  function expectSame({ predictions, refused }: PagePredictions): void {
    expect(refused).toBe('Row 0, column `age`: expected a number, got `"old"` (string).');
    expect(predictions).toHaveLength(rows.length);
    for (const [i, each] of (predictions as unknown as Labels[]).entries()) {
      expect(each.churn).toBe(expected[i]!.churn);
      expect(each.probabilities.yes).toBeCloseTo(expected[i]!.probabilities.yes, 5);
    }
  }

  test("a folder at an address, relative to the page, with progress", async () => {
    const found = await page!.evaluate(
      (given) => (globalThis as unknown as PredictPage).predictAll("/models/churn", "wasm", given),
      rows,
    );
    expectSame(found);
    expect(found.engine).toBe("wasm");
    expect(new Set(found.progress.map(({ file }) => file))).toEqual(new Set(["model.json", "weights.safetensors"]));
  });

  test("on WebGPU", async () => {
    const found = await page!.evaluate(
      (given) => (globalThis as unknown as PredictPage).predictAll("/models/churn", "webgpu", given),
      rows,
    );
    expectSame(found);
    expect(found.engine).toBe("webgpu");
  });

  test("the browser's own files", async () => {
    const found = await page!.evaluate(
      (given) => (globalThis as unknown as PredictPage).predictFromFiles("/models/churn", given),
      rows,
    );
    expectSame(found);
    expect(found.progress).toEqual([]);
  });
});
