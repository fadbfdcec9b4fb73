// One Chromium and one server for the tests of the pages.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { startServer, type RunningServer } from "../../src/ui/server/server.ts";
import type { RunsAnswer } from "../../src/ui/wire.ts";
import { buildPages } from "../../build-pages.js";
import { NEVER_MS } from "../support/chromium.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const present = existsSync(executablePath);

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export interface Opened {
  readonly page: Page;
  /** Everything that the page has complained about, and every request that went elsewhere. */
  readonly complaints: string[];
}

export class Dashboard {
  readonly folder: string = mkdtempSync(join(tmpdir(), "hookline-ui-"));
  readonly root: string = join(this.folder, "runs");
  readonly pages: string = join(this.folder, "pages");
  #server!: RunningServer;
  #browser!: Browser;
  #context!: BrowserContext;
  readonly #flags: readonly string[];

  /** @param flags of Chromium */
  constructor(flags: readonly string[] = []) {
    this.#flags = flags;
  }

  get url(): string {
    return this.#server.url;
  }

  /** @param options `elsewhere`: pages may also talk to others than our server */
  async start({ elsewhere = false } = {}): Promise<void> {
    await buildPages(this.pages);
    this.#browser = await chromium.launch({
      timeout: NEVER_MS,
      executablePath,
      args: ["--no-sandbox", "--disable-gpu", "--no-first-run", ...this.#flags],
    });
    await this.serve();
    this.#context = await this.#browser.newContext();
    this.#context.setDefaultTimeout(NEVER_MS);
    if (!elsewhere)
      await this.#context.route(
        (url) => !url.href.startsWith(this.url),
        (route) => route.abort(),
      );
    const page = await this.#context.newPage();
    await page.goto(this.#server.newLink());
    await page.close();
  }

  /** Starts the server, at the same port and with the same token as before if there was one. */
  async serve(): Promise<void> {
    const before = this.#server as RunningServer | undefined;
    const again = { port: before?.port ?? 0, token: before?.token };
    this.#server = await startServer({ root: this.root, version: "0.0.0", ...again, pages: this.pages });
  }

  get port(): number {
    return this.#server.port;
  }

  newLink(): string {
    return this.#server.newLink();
  }

  /** A page without anything of ours. */
  blank(): Promise<Page> {
    return this.#context.newPage();
  }

  stopServing(): Promise<void> {
    return this.#server.close();
  }

  async close(): Promise<void> {
    await this.#browser?.close();
    await this.#server?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async get<T>(path: string): Promise<T> {
    const headers = { authorization: `Bearer ${this.#server.token}` };
    return (await (await fetch(`${this.url}api/v1/${path}`, { headers })).json()) as T;
  }

  /** The id of a run by its name; undefined when there is none. */
  async find(name: string): Promise<string | undefined> {
    const { rows } = await this.get<RunsAnswer>("runs");
    return rows.find((row) => row.name === name)?.id;
  }

  async open(hash: string, size = { width: 1280, height: 900 }): Promise<Opened> {
    const page = await this.#context.newPage();
    await page.setViewportSize(size);
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(this.url)) complaints.push(`request: ${request.url()}`);
    });
    await page.goto(`${this.url}${hash}`);
    return { page, complaints };
  }
}

/** What axe finds, in words. */
export async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource);
  return page.evaluate(async () => {
    interface Found {
      readonly violations: readonly {
        readonly id: string;
        readonly help: string;
        readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
      }[];
    }
    const { axe } = globalThis as unknown as { readonly axe: { run(): Promise<Found> } };
    const found = await axe.run();
    return found.violations.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]!.html} ${nodes[0]!.failureSummary}`,
    );
  });
}

export const isTooWide = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
