// Checkpoints in Chromium's own file system, with workers, tabs and whole browsers killed while they save.
import { existsSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { chromium, type BrowserContext, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundle } from "../support/bundle.ts";
import { NEVER_MS } from "../support/chromium.ts";
import { isSoak } from "../support/repetitions.ts";
import type { Look } from "./opfs-page.ts";
import { newFolder } from "./strace.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const present = existsSync(executablePath);
if (!present) console.warn("OPFS is skipped: apt-get install chromium (or set CHROMIUM to its path)");

const FLAGS = ["--no-sandbox", "--no-first-run", "--disable-background-networking", "--disable-component-update"];

/** What opfs-page.ts puts into its page. */
interface PageApi {
  look(): Promise<Look>;
  startWorker(saved: (step: number) => void): void;
  killWorker(): void;
  saveForEver(saved: (step: number) => void): Promise<void>;
  inWorker(call: string): Promise<unknown>;
  replaceAndRemove(): Promise<unknown>;
  partsAndDamage(): Promise<unknown>;
  saveBeyondQuota(): Promise<unknown>;
  tell(step: number): void;
}

describe.runIf(present)("in Chromium", () => {
  const home = newFolder();
  let server: Server;
  let address: string;
  let context: BrowserContext;
  /** The last step that a page said was saved. */
  let told = 0;

  beforeAll(async () => {
    const { code } = await bundle({ file: "tests/crash/opfs-page.ts" }, { jax: false });
    server = createServer(({ url }, response) => {
      if (url === "/page.js") return response.setHeader("content-type", "text/javascript").end(code);
      return response
        .setHeader("content-type", "text/html")
        .end(`<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>`);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    context = await launch();
  });

  afterAll(async () => {
    await context?.close();
    server?.close();
    rmSync(home, { recursive: true, force: true });
  });

  async function launch(): Promise<BrowserContext> {
    const options = { executablePath, args: FLAGS, timeout: NEVER_MS };
    const launched = await chromium.launchPersistentContext(`${home}/profile`, options);
    launched.setDefaultTimeout(NEVER_MS);
    return launched;
  }

  async function openPage(): Promise<Page> {
    const page = await context.newPage();
    await page.exposeFunction("tell", (step: number) => void (told = step));
    await page.goto(address);
    await page.waitForFunction(() => "look" in globalThis);
    return page;
  }

  const pause = (most: number): Promise<void> =>
    new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * most));

  /** Starts a page that saves, in a worker or itself, and waits until it has. */
  async function startSaving(page: Page, where: "page" | "worker"): Promise<void> {
    told = 0;
    await page.evaluate((where) => {
      const api = globalThis as unknown as PageApi;
      if (where === "worker") api.startWorker((step) => api.tell(step));
      else void api.saveForEver((step) => api.tell(step));
    }, where);
    await expect.poll(() => told, { interval: 5 }).toBeGreaterThan(0);
  }

  async function expectNothingTorn(page: Page): Promise<number> {
    const atLeast = told;
    const { step, whole, skipped } = await page.evaluate(() => (globalThis as unknown as PageApi).look());
    expect({ whole, skipped }).toEqual({ whole: true, skipped: 0 });
    expect(step).toBeGreaterThanOrEqual(atLeast);
    return step;
  }

  test("replaces, removes and refuses a second user", async () => {
    const page = await openPage();
    const expected = {
      second: expect.stringMatching(/CheckpointError: runs\/plain: another tab or worker uses it\. Close that one/),
      listed: ["other 1", "best 2"],
      first: 2,
      after: ["other"],
    };
    expect(await page.evaluate(() => (globalThis as unknown as PageApi).replaceAndRemove())).toEqual(expected);
    expect(await page.evaluate(() => (globalThis as unknown as PageApi).inWorker("replaceAndRemove"))).toEqual(
      expected,
    );
    await page.close();
  });

  test("joins parts, and verifies", async () => {
    const page = await openPage();
    const expected = {
      read: "1,2,3,3,4",
      by: ["mine"],
      intact: true,
      damaged: expect.stringMatching(
        /CheckpointError: runs\/parts\/a~.*\/state\.json: its SHA-256 is not the manifest's/,
      ),
    };
    expect(await page.evaluate(() => (globalThis as unknown as PageApi).partsAndDamage())).toEqual(expected);
    expect(await page.evaluate(() => (globalThis as unknown as PageApi).inWorker("partsAndDamage"))).toEqual(expected);
    await page.close();
  });

  test("a quota that is used up is a CheckpointError, and the one before stays", async () => {
    const page = await openPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send("Storage.overrideQuotaForOrigin", { origin: address, quotaSize: 4 << 20 });
    for (const where of ["page", "worker"]) {
      const result = await page.evaluate((where) => {
        const api = globalThis as unknown as PageApi;
        return where === "page" ? api.saveBeyondQuota() : api.inWorker("saveBeyondQuota");
      }, where);
      const error = expect.stringMatching(
        /CheckpointError: runs\/quota\/large~.*model\.safetensors: .*(quota|written|data pipe)/,
      );
      expect(result, where).toEqual({ error, loaded: "small", left: [] });
    }
    await devtools.send("Storage.overrideQuotaForOrigin", { origin: address });
    await page.close();
  });

  const kills = isSoak ? { workers: 25, tabs: 22, browsers: 3 } : { workers: 8, tabs: 6, browsers: 1 };
  const total = kills.workers + kills.tabs + kills.browsers;

  test(`${total} kills of workers, tabs and browsers leave nothing torn and lose nothing`, async () => {
    let watcher = await openPage();
    const steps: number[] = [];
    for (let kill = 0; kill < kills.workers; kill++) {
      await startSaving(watcher, "worker");
      await pause(40);
      await watcher.evaluate(() => (globalThis as unknown as PageApi).killWorker());
      steps.push(await expectNothingTorn(watcher));
    }
    for (let kill = 0; kill < kills.tabs; kill++) {
      const page = await openPage();
      await startSaving(page, kill % 2 === 0 ? "page" : "worker");
      await pause(40);
      await page.close();
      steps.push(await expectNothingTorn(watcher));
    }
    for (let kill = 0; kill < kills.browsers; kill++) {
      const devtools = await context.browser()!.newBrowserCDPSession();
      const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
      const { id } = processInfo.find(({ type }) => type === "browser")!;
      const ended = new Promise((resolve) => context.once("close", resolve));
      await startSaving(watcher, "worker");
      await pause(40);
      process.kill(id, "SIGKILL");
      await ended;
      context = await launch();
      watcher = await openPage();
      steps.push(await expectNothingTorn(watcher));
    }
    expect(steps).toHaveLength(total);
    expect(steps.at(-1)).toBeGreaterThan(total);
  });
});
