// Charts of fixed data look as they did: curves, shades, bands, marks and lanes, without text, whose letters depend on the
// fonts of a machine. HOOKLINE_GOLDEN=write keeps what is drawn now.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeInfo, writeLog } from "../support/dashboard-runs.ts";
import { Dashboard, present } from "./browser.ts";

const GOLDEN = fileURLToPath(new URL("./golden/", import.meta.url));
const PREFIX = "data:image/png;base64,";
const RECORDS = 4000;
const EVENTS = [
  { type: "start", step: 0, time: 1, details: {} },
  { type: "save", step: 1000, time: 2, details: { name: "step-001000" } },
  { type: "intervention", step: 1500, time: 3, details: { what: "setLr(0.1)", who: "tamer", why: "plateau" } },
  { type: "intervention", step: 2500, time: 4, details: { what: "setLr(0.01)", who: "control", by: "ada@lab3" } },
  { type: "intervention", step: 3000, time: 5, details: { what: "stop", who: "tamer" } },
  { type: "refused", step: 3000, time: 5, details: { what: "stop", who: "tamer", refused: "before minSteps" } },
];

describe.runIf(present)("in Chromium", () => {
  const dashboard = new Dashboard();
  const ids: string[] = [];

  beforeAll(async () => {
    for (let i = 0; i < 4; i++) {
      const dir = join(dashboard.root, `${i % 2 ? "b" : "a"}/${i}`);
      writeInfo(dir, String(i), RECORDS);
      writeLog(join(dir, "metrics.jsonl"), RECORDS, i + 1);
      writeFileSync(
        join(dir, "events.jsonl"),
        `{"schema":"hookline.events","version":1}\n${EVENTS.map((event) => `${JSON.stringify(event)}\n`).join("")}`,
      );
    }
    await dashboard.start();
    for (const name of ["a/0", "b/1", "a/2", "b/3"]) ids.push((await dashboard.find(name))!);
  });
  afterAll(() => dashboard.close());

  const SCENES: Readonly<Record<string, { readonly hash: () => string; readonly dark?: boolean }>> = {
    smoothed: { hash: () => `#/run/${ids[0]!}?smooth=64` },
    dark: { hash: () => `#/run/${ids[0]!}?smooth=64`, dark: true },
    "as logged, a part": { hash: () => `#/run/${ids[0]!}?smooth=0&from=1400&to=2600&linear=loss` },
    "by samples": { hash: () => `#/run/${ids[0]!}?x=samples&smooth=0` },
    "four runs": { hash: () => `#/compare?runs=${ids.join(",")}&smooth=64` },
    bands: { hash: () => `#/compare?runs=${ids.join(",")}&group=directory&smooth=64` },
    "relative to a base": { hash: () => `#/compare?runs=${ids.join(",")}&base=${ids[0]!}&smooth=64` },
  };

  /** The chart of the loss and its lanes, as PNGs. */
  const drawn = (page: Page): Promise<string[]> =>
    page.evaluate(() =>
      [...document.querySelectorAll<HTMLCanvasElement>('figure[data-chart="loss"] canvas')]
        .filter((canvas) => !canvas.hidden && canvas.width > 0 && canvas.height > 0)
        .map((canvas) => canvas.toDataURL("image/png")),
    );

  /** The share of the pixels that differ, by more than a trace. */
  const difference = (page: Page, a: string, b: string): Promise<number> =>
    page.evaluate(
      async (both) => {
        const [one, other] = await Promise.all(
          both.map(async (source) => {
            const bytes = Uint8Array.from(atob(source.slice(source.indexOf(",") + 1)), (c) => c.charCodeAt(0));
            const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
            const context = new OffscreenCanvas(image.width, image.height).getContext("2d")!;
            context.drawImage(image, 0, 0);
            return context.getImageData(0, 0, image.width, image.height);
          }),
        );
        if (one!.width !== other!.width || one!.height !== other!.height) return 1;
        let count = 0;
        for (let i = 0; i < one!.data.length; i += 4) {
          const far = [0, 1, 2, 3].some((c) => Math.abs(one!.data[i + c]! - other!.data[i + c]!) > 24);
          if (far) count++;
        }
        return (4 * count) / one!.data.length;
      },
      [a, b],
    );

  test.each(Object.keys(SCENES))("%s", async (name) => {
    const { hash, dark } = SCENES[name]!;
    const page = await dashboard.blank();
    await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
    await page.addInitScript(() => {
      CanvasRenderingContext2D.prototype.fillText = () => undefined;
    });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${dashboard.url}${hash()}`);
    await page.locator('figure[data-chart="loss"] .u-over').waitFor();
    const words = page.locator('figure[data-chart="loss"] > p.hidden');
    await expect.poll(() => words.innerText()).toMatch(hash().includes("base") ? /from 0 to 0/ : /points, from/);
    await expect.poll(() => words.innerText()).not.toContain("no points yet");
    let before: string[] = [];
    await expect
      .poll(
        async () => {
          const now = await drawn(page);
          const isSame = now.length > 0 && now.join() === before.join();
          before = now;
          return isSame;
        },
        { interval: 700 },
      )
      .toBe(true);
    const fileOf = (i: number): string => join(GOLDEN, `${name.replaceAll(/\W+/g, "-")}-${i}.png`);
    if (process.env["HOOKLINE_GOLDEN"] === "write") {
      mkdirSync(GOLDEN, { recursive: true });
      before.forEach((url, i) => writeFileSync(fileOf(i), Buffer.from(url.slice(PREFIX.length), "base64")));
    }
    // The curves and their axes, and the lanes where there are some.
    expect(before.length).toBe(hash().includes("compare") ? 1 : 2);
    for (const [i, picture] of before.entries()) {
      const golden = PREFIX + readFileSync(fileOf(i)).toString("base64");
      expect(await difference(page, golden, picture), fileOf(i)).toBeLessThan(0.001);
    }
    await page.close();
  });
});
