// The dashboard's pages in a real browser, on real runs: whole at every width, by day and by night, without a mouse.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandsOf } from "../../src/runs/control/commands.ts";
import { inboxDirectory } from "../../src/runs/control/control-files.ts";
import { ControlInbox } from "../../src/runs/control/inbox.ts";
import { readControl } from "../../src/runs/control/read-control.ts";
import type { StudyRow } from "../../src/ui/wire.ts";
import { exampleStudy } from "../support/example-study.ts";
import { compiled } from "../support/programs.ts";
import { Dashboard, isTooWide, present, violations } from "./browser.ts";
import { HOSTILE, POINTS, seedRuns } from "./seeded-runs.ts";

if (!present)
  console.warn("The dashboard's pages are not opened: apt-get install chromium (or set CHROMIUM to its path)");

describe.runIf(present)("in Chromium", () => {
  const dashboard = new Dashboard();
  const ids = new Map<string, string>();
  let study = "";

  beforeAll(async () => {
    await seedRuns(dashboard.root);
    await dashboard.start();
    const names = ["lines/lr-0", "lines/lr-1", "lines/lr-2", "failed", "hostile", "silent"];
    for (const name of names) ids.set(name, (await dashboard.find(name))!);
    study = (await dashboard.get<readonly StudyRow[]>("studies"))[0]!.id;
  });
  afterAll(() => dashboard.close());

  const linesRun = (tab = ""): string => `#/run/${ids.get("lines/lr-1")!}${tab}`;
  const compared = (): string => `#/compare?runs=${[0, 1, 2].map((i) => ids.get(`lines/lr-${i}`)!).join(",")}`;

  /** Every page, and what is there once it is drawn. */
  const views: Readonly<Record<string, { readonly hash: () => string; readonly ready: string }>> = {
    runs: { hash: () => "#/", ready: "tr:has-text('lines/lr-2')" },
    "runs in groups": { hash: () => "#/?group=directory&sort=best", ready: "tr.group" },
    charts: { hash: () => linesRun(), ready: "figure .u-over" },
    layers: { hash: () => linesRun("/layers?row=grad/norm/0.weight"), ready: ".heat canvas" },
    hooks: { hash: () => linesRun("/hooks"), ready: ".page table, .empty" },
    checkpoints: { hash: () => linesRun("/checkpoints"), ready: "svg.tree" },
    interventions: { hash: () => linesRun("/interventions"), ready: ".interventions li" },
    media: { hash: () => linesRun("/media?name=pixels"), ready: ".sides img" },
    texts: { hash: () => linesRun("/media?name=note"), ready: ".sides pre" },
    sweeps: { hash: () => "#/sweeps", ready: "a:has-text('digits')" },
    sweep: { hash: () => `#/sweep/${study}`, ready: "svg.parallel" },
    about: { hash: () => linesRun("/about"), ready: ".facts" },
    compare: { hash: () => compared(), ready: "figure .u-over" },
    "compare groups": { hash: () => `${compared()}&group=directory`, ready: "figure .u-over" },
    "compare to a base": { hash: () => `${compared()}&base=${ids.get("lines/lr-0")!}`, ready: "figure .u-over" },
    "a failed run": { hash: () => `#/run/${ids.get("failed")!}`, ready: "[role=alert]" },
    "a run without a log": { hash: () => `#/run/${ids.get("silent")!}`, ready: ".empty" },
    "nothing to compare": { hash: () => "#/compare", ready: ".empty" },
    "no such run": { hash: () => "#/run/000000000000", ready: ".empty" },
  };

  test.each(Object.keys(views))("%s: whole at every width, light and dark, without a violation", async (name) => {
    const { hash, ready } = views[name]!;
    const { page, complaints } = await dashboard.open(hash());
    await page.locator(ready).first().waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1280, 400, 320]) {
        await page.setViewportSize({ width, height: 900 });
        await expect.poll(() => isTooWide(page), { message: `${colorScheme}, ${width} px` }).toBe(false);
      }
      expect(await violations(page), colorScheme).toEqual([]);
    }
    // A run that is not there is answered with 404, which the browser reports.
    if (name !== "no such run") expect(complaints).toEqual([]);
    await page.close();
  });

  const chartText = (page: Page, title: string): Promise<string> =>
    page.locator(`figure[data-chart="${title}"] > p.hidden`).innerText();

  test("a chart says in words what it shows, and in a table", async () => {
    const { page } = await dashboard.open(linesRun());
    await expect
      .poll(() => chartText(page, "loss"))
      .toMatch(
        new RegExp(`^loss, ${POINTS} points, from .* lowest .* at \\d+, highest .*; val, 15 points.*1 intervention`),
      );
    const chart = page.locator('figure[data-chart="loss"]');
    await chart.locator(".canvas").focus();
    await page.keyboard.press("t");
    expect(await chart.locator("tbody tr").count()).toBe(20);
    await page.keyboard.press("]");
    expect(await chart.locator(".tip").innerText()).toMatch(/^setLr\(0\.001\) · by a hook, tamer\nstep 120/);
    await page.keyboard.press("+");
    await expect.poll(() => page.url()).toMatch(/from=.*to=/);
    await page.keyboard.press("0");
    expect(page.url()).not.toMatch(/from=/);
    await page.keyboard.press("l");
    expect(page.url()).toMatch(/log=loss|linear=loss/);
    await page.close();
  });

  test("dragging zooms every chart, and the address shows the same view", async () => {
    const { page } = await dashboard.open(linesRun());
    const over = page.locator('figure[data-chart="loss"] .u-over');
    await over.waitFor();
    await expect.poll(() => chartText(page, "loss")).toContain(`${POINTS} points`);
    const { x, y, width } = (await over.boundingBox())!;
    await page.mouse.move(x + width / 4, y + 40);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + 60, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => page.url()).toMatch(/from=(59|6\d)/);
    const again = await dashboard.open(page.url().slice(dashboard.url.length));
    await expect.poll(() => again.page.locator(".view-controls button").innerText()).toMatch(/6\d.* – 1[12]\d/);
    await page.close();
    await again.page.close();
  });

  test("a keyboard alone opens, selects and compares", async () => {
    const { page } = await dashboard.open("#/?sort=name");
    await page.locator("tr:has-text('lines/lr-2')").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("lines lr<0.02");
    await expect.poll(() => page.locator("table.runs tbody tr").count()).toBe(2);
    await page.keyboard.press("Escape");
    // All in one task, which is faster than the page renders.
    await page.evaluate(() => {
      for (const key of ["j", "x", "j", "x", "c"]) document.dispatchEvent(new KeyboardEvent("keydown", { key }));
    });
    await page.locator("figure .u-over").first().waitFor();
    await expect
      .poll(() => page.locator("figure[data-chart=loss] .legend button").allInnerTexts())
      .toEqual([expect.stringMatching(/^lr-0 \d+\.\d+/), expect.stringMatching(/^lr-1 \d+\.\d+/)]);
    for (const key of ["g", "r"]) await page.keyboard.press(key);
    await page.locator("table.runs").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator(".run-head h1").waitFor();
    await page.close();
  });

  test("what strangers wrote is shown as text", async () => {
    const { page, complaints } = await dashboard.open(`#/run/${ids.get("hostile")!}`);
    await page.locator("figure h2", { hasText: "onerror" }).waitFor();
    await page.goto(`${dashboard.url}#/run/${ids.get("hostile")!}/about`);
    await expect.poll(() => page.locator(".facts dt", { hasText: HOSTILE }).count()).toBe(1);
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("unreadable lines are counted, and a NaN has a mark and a word", async () => {
    const { page } = await dashboard.open(`#/run/${ids.get("failed")!}`);
    await expect.poll(() => page.locator(".chip").innerText()).toBe("1 unreadable line");
    await expect.poll(() => chartText(page, "loss")).toContain("1 value that is not finite");
    await page.close();
  });

  test("a server that is gone is named, with the age of what is shown; the page recovers by itself", async () => {
    const { page } = await dashboard.open(linesRun());
    await page.locator("figure .u-over").first().waitFor();
    await dashboard.stopServing();
    await expect
      .poll(() => page.locator(".connection").innerText())
      .toMatch(/^The dashboard has ended.*npx hookline ui/s);
    expect(await page.locator("main.lost figure").count()).toBeGreaterThan(0);
    await dashboard.serve();
    await page.locator(".connection").waitFor({ state: "detached" });
    await page.close();
  });

  test("a running training: its curve grows, it is paused, stepped, changed by hand, continued and killed", async () => {
    const dir = join(dashboard.root, "live");
    const child = spawn(process.execPath, [compiled(new URL("./live-child.ts", import.meta.url)), dir], {
      stdio: "inherit",
    });
    try {
      await expect.poll(() => dashboard.find("live")).toBeDefined();
      const { page, complaints } = await dashboard.open(`#/run/${(await dashboard.find("live"))!}`);
      const points = async (): Promise<number> =>
        Number(/^loss, ([^a-z]+) points/.exec(await chartText(page, "loss"))?.[1]?.replaceAll(/\D/g, "") ?? 0);
      const step = async (): Promise<number> =>
        Number(/step (\S+)/.exec(await page.locator(".where").innerText())?.[1]?.replaceAll(/\D/g, ""));
      const press = (name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();
      await expect.poll(points).toBeGreaterThan(20);
      const before = await points();
      await expect.poll(points).toBeGreaterThan(before + 20);

      await press("Pause");
      await page.getByRole("button", { name: "Continue" }).waitFor();
      const commands = page.locator(".commands");
      await expect.poll(() => commands.innerText()).toMatch(/pause applied at step \d+/);
      const paused = Number(/pause applied at step (\S+)/.exec(await commands.innerText())![1]!.replaceAll(/\D/g, ""));
      await expect.poll(step).toBe(paused);
      await press("One step");
      await expect.poll(step).toBe(paused + 1);

      await page.locator(".rate input").fill("0.05");
      await press("Set");
      await expect.poll(() => commands.innerText()).toMatch(/setLr lr=0.05 applied at step/);
      await press("Continue");
      await page.getByRole("button", { name: "Pause" }).waitFor();
      const own = page.locator(".interventions .hand", { hasText: "setLr(0.05)" });
      await own.waitFor();
      expect(await own.innerText()).toContain(`step ${paused + 1}`);
      await expect.poll(points).toBeGreaterThan(before + 60);

      // A rate that is far away is asked about, and what the run does not allow is refused with its reason.
      await page.locator(".rate input").fill("30");
      await press("Set");
      await page.getByRole("dialog").getByRole("button", { name: "Set 30" }).click();
      await expect.poll(() => commands.innerText()).toMatch(/refused|bounds|at most/i);
      expect(await violations(page)).toEqual([]);

      child.kill("SIGKILL");
      await expect.poll(() => page.locator(".where .state").innerText()).toContain("killed");
      await expect.poll(() => page.locator("[aria-live]").innerText()).toBe("killed");
      expect(complaints.filter((line) => !line.includes("422"))).toEqual([]);
      await page.close();
    } finally {
      child.kill("SIGKILL");
    }
  });

  test("a study that listens takes a trial of one's own, and ends one early", async () => {
    const dir = join(dashboard.root, "steered");
    await exampleStudy({ trials: 12, dir });
    const journal = join(dir, "journal.jsonl");
    const lines = readFileSync(journal, "utf8").split("\n");
    // As if its last trial were under way.
    writeFileSync(
      journal,
      `${lines
        .slice(
          0,
          lines.findLastIndex((line) => line.includes('"type":"report"')),
        )
        .join("\n")}\n`,
    );
    mkdirSync(inboxDirectory(dir), { recursive: true });
    new ControlInbox(dir, () => undefined).sayHello({
      run: "steered",
      part: 1,
      worldSize: 1,
      state: "running",
      step: 0,
      lr: [],
      scheduledLr: [],
      accumulate: 1,
      allow: commandsOf("study"),
      bounds: {},
      hooks: [],
      checkpoints: false,
      evals: false,
      totalTrials: 40,
    });
    const steered = async (): Promise<string | undefined> =>
      (await dashboard.get<readonly StudyRow[]>("studies")).find(({ name }) => name === "steered")?.id;
    await expect.poll(steered).toBeDefined();
    const { page, complaints } = await dashboard.open(`#/sweep/${await steered()}`);
    await page.locator(".bar", { hasText: "11 of 40 trials" }).waitFor();
    await page.getByRole("button", { name: "Add a trial…" }).click();
    const params = page.getByRole("dialog").getByRole("textbox");
    expect(Object.keys(JSON.parse(await params.inputValue()) as object)).toEqual([
      "lr",
      "width",
      "dropout",
      "optimizer",
    ]);
    expect(await violations(page)).toEqual([]);
    await params.fill('{"lr": 0.01');
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("alert").getByText("not a JSON object").waitFor();
    await params.fill('{"lr": 0.01}');
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await expect.poll(() => page.locator(".bar [role=status]").innerText()).toMatch(/^enqueue: waiting/);
    await page.getByRole("button", { name: "Prune trial 11" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Prune" }).click();
    await expect
      .poll(async () => (await readControl(dir)).commands.map(({ verb, args }) => [verb, args]))
      .toEqual([
        ["prune", { trial: 11 }],
        ["enqueue", { params: { lr: 0.01 } }],
      ]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("the bundle is small, and names no other host", () => {
    const size = (file: string): number => gzipSync(readFileSync(join(dashboard.pages, file))).length;
    expect(size("app.js")).toBeLessThan(100_000);
    expect(size("app.css")).toBeLessThan(12_000);
    expect(readdirSync(dashboard.pages).sort()).toEqual([
      "LICENSES.txt",
      "app.css",
      "app.js",
      "icon.svg",
      "index.html",
    ]);
    const code = readFileSync(join(dashboard.pages, "app.js"), "utf8");
    const hosts = [...code.matchAll(/https?:\/\/[^"'`\s)]+/g)].map(([found]) => found);
    // Names of XML's languages are no addresses.
    expect(hosts.filter((host) => !host.startsWith("http://www.w3.org/"))).toEqual([]);
  });
});
