// `hookline ui` as it is started in a terminal, a second one beside it, and `train --ui`.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { installHookline, type Installed } from "./installed.ts";
import { CONFIG, tinyProject } from "./tiny-project.ts";

let installed: Installed;
beforeAll(async () => void (installed = await installHookline()));
afterAll(() => installed.remove());

const LINK = /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/;

/** Resolves to the first link that a command prints. */
const linkOf = (child: ReturnType<Installed["start"]>): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = "";
    const hear = (chunk: unknown): void => {
      text += String(chunk);
      const found = LINK.exec(text);
      if (found) resolve(found[0]);
    };
    child.stdout!.on("data", hear);
    child.stderr!.on("data", hear);
    child.on("exit", () => reject(new Error(`It ended without a link: ${text}`)));
  });

/** Opens a link as a browser does; resolves to what the list of runs has. */
async function open(link: string): Promise<{ readonly name: string; readonly state: string }[]> {
  const opened = await fetch(link, { redirect: "manual" });
  const cookie = opened.headers.get("set-cookie")!.split(";")[0]!;
  const answer = await fetch(new URL("/api/v1/runs", link), { headers: { cookie } });
  return ((await answer.json()) as { rows: { name: string; state: string }[] }).rows;
}

test("shows the runs of a directory; a second one prints a link to the first; Ctrl-C ends it", async () => {
  const dir = installed.project(tinyProject());
  expect((await installed.hookline(dir, "ui")).code).toBe(2);
  await installed.hookline(dir, "train");
  const ui = installed.start(dir, "ui", "--port", "0");
  const link = await linkOf(ui);
  expect(await open(link)).toMatchObject([{ name: "tiny", state: "completed" }]);
  const second = await installed.hookline(dir, "ui", "--json");
  const { link: another, started } = JSON.parse(second.stdout) as { link: string; started: boolean };
  expect([second.code, started, new URL(another).port]).toEqual([0, false, new URL(link).port]);
  expect(await open(another)).toMatchObject([{ name: "tiny" }]);
  ui.kill("SIGINT");
  expect((await ui.ended).code).toBe(0);
  expect(existsSync(join(dir, "runs/.hookline-ui/server.json"))).toBe(false);
});

test("train --ui prints a link, and its server ends with the training", async () => {
  const dir = installed.project(tinyProject(`${CONFIG}  - { use: ./parts.mjs#slow, ms: 300 }\n`));
  const training = installed.start(dir, "train", "--ui");
  // Until then nobody listens to signals.
  const isTraining = new Promise<void>((resolve) =>
    training.stderr!.on("data", (chunk) => String(chunk).includes("one step is done") && resolve()),
  );
  const link = await linkOf(training);
  const rows = await open(link);
  expect(rows.length).toBeLessThanOrEqual(1);
  await isTraining;
  training.kill("SIGINT");
  expect((await training.ended).code).toBe(130);
  await vi.waitFor(() => expect(existsSync(join(dir, "runs/.hookline-ui/server.json"))).toBe(false), 300_000);
});
