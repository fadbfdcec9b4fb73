// A Chromium whose main thread's processor time is measured, by the clock of that thread: other programs do not count.
import { existsSync } from "node:fs";
import { chromium, type Browser, type CDPSession, type Page } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const chromiumIsHere: boolean = existsSync(executablePath);

export class Measured {
  readonly page: Page;
  readonly #session: CDPSession;

  private constructor(page: Page, session: CDPSession) {
    this.page = page;
    this.#session = session;
  }

  static async open(browser: Browser, link: string): Promise<Measured> {
    const page = await browser.newPage({ viewport: { width: 1500, height: 900 } });
    // tsx names functions with a helper, which a page does not have.
    await page.addInitScript("globalThis.__name = (named) => named");
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(link);
    return new Measured(page, session);
  }

  /** Milliseconds that the main thread has computed since the page was loaded. */
  async sinceLoad(): Promise<number> {
    return 1000 * (await this.#metric("TaskDuration"));
  }

  async #metric(name: string): Promise<number> {
    const { metrics } = await this.#session.send("Performance.getMetrics");
    return metrics.find((each) => each.name === name)!.value;
  }

  /** Milliseconds that the main thread computes during some work. */
  async cost(work: () => Promise<unknown>): Promise<number> {
    const before = await this.#metric("TaskDuration");
    await work();
    return 1000 * ((await this.#metric("TaskDuration")) - before);
  }

  /** Megabytes of JavaScript objects that are in use. */
  async heap(): Promise<number> {
    await this.#session.send("HeapProfiler.collectGarbage");
    return (await this.#metric("JSHeapUsedSize")) / 1e6;
  }
}

export const startChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--no-first-run"] });

/**
 * Pans a chart of the dashboard with the pointer, one move a frame, and leaves the button pressed. Returns the requests
 * that were made meanwhile.
 */
export function panChart(page: Page, frames: number): Promise<number> {
  return page.evaluate(async (count) => {
    const over = document.querySelector(".u-over")!;
    const { left, top, width } = over.getBoundingClientRect();
    const at = (type: string, x: number) =>
      new MouseEvent(type, { bubbles: true, cancelable: true, shiftKey: true, clientX: left + x, clientY: top + 50 });
    const frame = (): Promise<unknown> => new Promise((resolve) => void requestAnimationFrame(resolve));
    const requests = performance.getEntriesByType("resource").length;
    over.dispatchEvent(at("mousedown", width / 2));
    for (let i = 0; i < count; i++) {
      dispatchEvent(at("mousemove", width / 2 + 200 * Math.sin(i / 9)));
      await frame();
    }
    return performance.getEntriesByType("resource").length - requests;
  }, frames);
}
