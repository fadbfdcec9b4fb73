// The report of a study in a real browser: whole on a wide and on a narrow screen, by day and by night, with and without script.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { studyReport } from "hookline/tune";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NEVER_MS } from "../support/chromium.ts";
import { exampleStudy, type ExampleOptions } from "../support/example-study.ts";
import { tempDir } from "../support/temp-dir.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const present = existsSync(executablePath);
if (!present) console.warn("The report's page is not opened: apt-get install chromium (or set CHROMIUM to its path)");

describe.runIf(present)("in Chromium", () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath,
      args: ["--no-sandbox", "--disable-gpu", "--no-first-run"],
      timeout: NEVER_MS,
    });
  });
  afterAll(() => browser?.close());

  /** Opens a study's report; what the page complains about is in `complaints`, and so is a dialog. */
  async function open(options: ExampleOptions, context: BrowserContextOptions = {}) {
    const file = join(tempDir(), "report.html");
    writeFileSync(file, studyReport(await exampleStudy(options)).html);
    const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...context });
    page.setDefaultTimeout(NEVER_MS);
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(pathToFileURL(file).href)) complaints.push(`request: ${request.url()}`);
    });
    await page.goto(pathToFileURL(file).href);
    return { page, complaints };
  }

  const isTooWide = (page: Page): Promise<boolean> =>
    page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

  test.each([
    { width: 1200, colorScheme: "light" },
    { width: 1200, colorScheme: "dark" },
    { width: 400, colorScheme: "light" },
    { width: 320, colorScheme: "dark" },
  ] as const)("is whole at $width pixels, $colorScheme", async ({ width, colorScheme }) => {
    const { page, complaints } = await open(
      { trials: 40, objectives: ["val/accuracy", "parameters"] },
      { viewport: { width, height: 800 }, colorScheme },
    );
    // Two of trials, two of curves, one of the objectives against each other, one of all parameters.
    expect(await page.locator("svg.plot").count()).toBe(6);
    for (const chart of await page.locator("svg.plot").all()) {
      const box = (await chart.boundingBox())!;
      expect(box.width).toBeGreaterThan(200);
      expect(await chart.locator(".mark").count()).toBeGreaterThan(5);
    }
    expect(await isTooWide(page)).toBe(false);
    expect(complaints).toEqual([]);
  });

  test("shows a trial everywhere when one points at it", async () => {
    const { page, complaints } = await open({ trials: 40 });
    const point = page.locator("circle.completed").first();
    await point.hover();
    const trial = await point.getAttribute("data-trial");
    await expect.poll(() => page.locator(".tip").innerText()).toMatch(new RegExp(`^trial: ${trial}\n`));
    const lit = page.locator(`.on[data-trial="${trial}"]`);
    expect(await lit.count()).toBeGreaterThanOrEqual(4);
    expect(await page.locator(".on").count()).toBe(await lit.count());
    expect(complaints).toEqual([]);
  });

  test("sorts its tables by numbers and by texts", async () => {
    const { page, complaints } = await open({ trials: 40 });
    const table = page.locator("table").last();
    const column = async (i: number): Promise<string[]> => table.locator(`tbody td:nth-child(${i})`).allInnerTexts();
    await table.getByRole("button", { name: "width" }).click();
    const widths = (await column(5)).map(Number);
    expect(widths).toEqual(widths.toSorted((a, b) => a - b));
    await table.getByRole("button", { name: "width" }).click();
    expect((await column(5)).map(Number)).toEqual(widths.toReversed());
    // A parameter that some trials do not have: those are last, whichever way.
    await table.getByRole("button", { name: "val/accuracy" }).click();
    const values = await column(3);
    expect(values.at(-1)).toBe("");
    expect(Number(values[0])).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
  });

  test("shows what lies in a range chosen on an axis", async () => {
    const { page } = await open({ trials: 40 });
    const brush = page.locator(".brush").first();
    await brush.scrollIntoViewIfNeeded();
    const { x, y, height } = (await brush.boundingBox())!;
    await page.mouse.move(x + 12, y + 1);
    await page.mouse.down();
    await page.mouse.move(x + 12, y + height / 2);
    await page.mouse.up();
    const row = page.locator("table").last().locator("tbody tr:visible");
    const rates = (await row.locator("td:nth-child(4)").allInnerTexts()).map(Number);
    // The upper half of 1e-4 to 1, but for trials that failed and have no line.
    expect(rates.length).toBeGreaterThan(5);
    expect(Math.min(...rates)).toBeGreaterThanOrEqual(0.009);
    expect(await page.locator(".parallel polyline.out").count()).toBeGreaterThan(0);
    await page.mouse.click(x + 12, y + 5);
    expect(await page.locator(".out").count()).toBe(0);
  });

  test("runs nothing that a name or a message holds", async () => {
    const hostile = `</script><script>alert(1)</script><img src=x onerror="alert(2)">`;
    const { page, complaints } = await open({ trials: 40, name: hostile, error: hostile });
    expect(await page.locator("h1").innerText()).toBe(hostile);
    expect(await page.locator(".failures pre").innerText()).toBe(hostile);
    expect(complaints).toEqual([]);
  });

  test("is whole without script", async () => {
    const { page } = await open({ trials: 40 }, { javaScriptEnabled: false });
    expect(await page.locator("svg.plot").count()).toBe(3);
    expect(await page.locator("table").last().locator("tbody tr").count()).toBe(40);
    expect(await page.locator(".scripted").isVisible()).toBe(false);
  });
});
