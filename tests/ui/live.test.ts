// The dashboard while things happen to it: a run that is resumed, a server that is killed, seven tabs, a tunnel, and a
// training that is steered without a mouse.
import { spawn } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { modelCheckpoint, logger } from "hookline";
import { tinyTrainer } from "hookline/testing";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startNoting } from "../support/noting-child.ts";
import { compiled } from "../support/programs.ts";
import { Dashboard, present } from "./browser.ts";
import { seedOne } from "./seeded-runs.ts";

const summary = (page: Page, chart = "loss"): Promise<string> =>
  page.locator(`figure[data-chart="${chart}"] > p.hidden`).innerText();
const points = async (page: Page): Promise<number> =>
  Number(/^loss, ([^a-z]+) points/.exec(await summary(page))?.[1]?.replaceAll(/\D/g, "") ?? 0);

describe.runIf(present)("in Chromium", () => {
  const dashboard = new Dashboard();
  beforeAll(async () => {
    seedOne(dashboard.root);
    await dashboard.start({ elsewhere: true });
  });
  afterAll(() => dashboard.close());

  test("a run that is resumed: its curve is cut back and continues, without a zigzag; its new part has a mark", async () => {
    const runDir = join(dashboard.root, "resumed");
    const part = async (steps: number, resume?: "auto"): Promise<void> => {
      await using trainer = tinyTrainer({
        runDir,
        steps,
        samples: 64,
        logEvery: 1,
        hooks: [logger("jsonl"), modelCheckpoint({ every: 40, saveLast: 3 })],
      });
      if (!resume) trainer.on("stepEnd", { at: [99] }, () => Promise.reject(new Error("out of luck")));
      await trainer.fit(resume && { resume }).catch(() => undefined);
    };
    await part(120);
    await expect.poll(() => dashboard.find("resumed")).toBeDefined();
    const { page, complaints } = await dashboard.open(`#/run/${(await dashboard.find("resumed"))!}`);
    await expect.poll(() => summary(page)).toMatch(/^loss, \d+ points.* error|^loss, \d+ points/);
    const before = await points(page);
    expect(before).toBeGreaterThan(90);
    // What it saved as it failed is lost too, as if it had been killed.
    const saved = join(runDir, "checkpoints");
    for (const name of readdirSync(saved).filter((each) => each > "step-000080" && each.startsWith("step-")))
      rmSync(join(saved, name), { recursive: true });
    await part(120, "auto");
    await expect.poll(() => page.locator(".where").innerText()).toContain("step 120");
    const figure = page.locator('figure[data-chart="loss"]');
    await figure.locator(".canvas").focus();
    await page.keyboard.press("t");
    await expect.poll(() => figure.locator("tbody tr").last().locator("td").first().innerText()).toBe("120");
    const xs = (await figure.locator("tbody tr td:first-child").allInnerTexts()).map(Number);
    expect(xs).toEqual([...new Set(xs)].sort((a, b) => a - b));
    await page.goto(`${page.url().replace(/\?.*/, "")}/interventions`);
    await expect.poll(() => page.locator(".interventions li.part").innerText()).toContain("step 80");
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("a server that is killed: its page says so, and recovers when another one listens there", async () => {
    const start = (port = 0, token = "") => {
      const program = compiled(new URL("./server-child.ts", import.meta.url));
      return startNoting<{ note: "listening"; port: number; token: string; link: string }>([
        program,
        dashboard.root,
        dashboard.pages,
        String(port),
        token,
      ]);
    };
    const first = start();
    const { port, token, link } = await first.until("listening");
    const page = await dashboard.blank();
    await page.goto(link);
    await page.locator("tr:has-text('one')").waitFor();
    first.signal("SIGKILL");
    await expect.poll(() => page.locator(".connection").innerText()).toMatch(/^No answer from the server/);
    expect(await page.locator("tr:has-text('one')").count()).toBe(1);
    await first.exit;
    const second = start(port, token);
    await second.until("listening");
    await page.locator(".connection").waitFor({ state: "detached" });
    second.signal("SIGKILL");
    await second.exit;
    await page.close();
  });

  test("seven tabs: those that nobody sees hold no connection, and catch up when they are shown", async () => {
    const hide = (page: Page, hidden: boolean): Promise<void> =>
      page.evaluate((isHidden) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    const pages: Page[] = [];
    for (let i = 0; i < 7; i++) {
      const { page } = await dashboard.open(`#/run/${(await dashboard.find("one"))!}`);
      await expect.poll(() => points(page)).toBe(10);
      // A browser hides a tab when another one is opened; one without a window does not.
      await hide(page, true);
      pages.push(page);
    }
    for (const page of [pages[0]!, pages[6]!]) {
      const opened = page.waitForRequest((request) => request.url().includes("/stream"));
      await hide(page, false);
      await opened;
      await expect.poll(() => page.locator(".connection").count()).toBe(0);
      await hide(page, true);
    }
    for (const page of pages) await page.close();
  });

  test("through a tunnel to another port, as `ssh -L` makes it", async () => {
    const tunnel = createServer((from) => {
      const to = connect(dashboard.port, "127.0.0.1");
      from.pipe(to).pipe(from);
      from.on("error", () => to.destroy());
      to.on("error", () => from.destroy());
    });
    await new Promise<void>((done) => void tunnel.listen(0, "127.0.0.1", done));
    onTestFinished(() => void tunnel.close());
    const page = await dashboard.blank();
    const link = new URL(dashboard.newLink());
    link.hostname = "localhost";
    link.port = String((tunnel.address() as AddressInfo).port);
    await page.goto(link.href);
    await page.locator("tr:has-text('one') a").click();
    await expect.poll(() => points(page)).toBe(10);
    expect(new URL(page.url()).host).toBe(link.host);
    await page.close();
  });

  test("a keyboard alone pauses a training, does one step, evaluates, changes the rate, continues and stops it", async () => {
    const child = spawn(
      process.execPath,
      [compiled(new URL("./live-child.ts", import.meta.url)), join(dashboard.root, "keys")],
      {
        stdio: "inherit",
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    await expect.poll(() => dashboard.find("keys")).toBeDefined();
    const { page, complaints } = await dashboard.open(`#/run/${(await dashboard.find("keys"))!}`);
    await page.getByRole("button", { name: "Pause" }).waitFor();
    const commands = page.locator(".commands");
    const applied = async (text: RegExp): Promise<void> => {
      await expect.poll(() => commands.innerText()).toMatch(text);
    };
    // A single letter changes nothing.
    for (const key of ["p", "n", "s", "e"]) await page.keyboard.press(key);
    await page.keyboard.press("Shift+P");
    await page.getByRole("button", { name: "Continue" }).waitFor();
    await applied(/^pause applied/);
    await page.keyboard.press("Shift+N");
    await applied(/step n=1 applied/);
    await page.keyboard.press("Shift+E");
    await applied(/eval applied/);
    await page.keyboard.press("Shift+L");
    await page.keyboard.type("0.07");
    await page.keyboard.press("Enter");
    await applied(/setLr lr=0.07 applied/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+P");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.keyboard.press("Shift+X");
    await page.getByRole("dialog").waitFor();
    // The field for the reason has the focus.
    await page.keyboard.type("enough");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".where .state").innerText()).toContain("stopped");
    expect(complaints).toEqual([]);
    await page.close();
  });
});
