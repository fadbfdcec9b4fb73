// The tutorial, to its end, from an empty folder: with a tarball of the package; in `npm run soak` with the one that
// `npm pack` makes of a clone, and with a git URL.
import { execFile, execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installHookline } from "../cli/installed.ts";
import { isSoak } from "../support/repetitions.ts";
import { root } from "../support/sources.ts";
import { Reader, stepsOf } from "./follow-page.ts";

const home = realpathSync(mkdtempSync(join(tmpdir(), "hookline-tutorial-")));
const clone = join(home, "clone");
afterAll(() => rmSync(home, { recursive: true, force: true }));

const run = async (cwd: string, command: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd, maxBuffer: 1 << 26 })).stdout;

/** A clone of the working tree as it is, with what is not committed yet. */
async function makeClone(): Promise<void> {
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  for (const file of files.trim().split("\n")) {
    if (!existsSync(join(root, file))) continue; // git lists it until its deletion is committed
    mkdirSync(dirname(join(clone, file)), { recursive: true });
    copyFileSync(join(root, file), join(clone, file));
  }
  const git = ["-c", "user.name=test", "-c", "user.email=test@example.org"];
  await run(clone, "git", "init", "--quiet");
  await run(clone, "git", "add", "--all");
  await run(clone, "git", ...git, "commit", "--quiet", "--message", "the working tree");
}
if (isSoak) beforeAll(makeClone);

/** Of the package that the tests have built, or of a clone, which builds it. */
async function tarball(): Promise<string> {
  const pack = ["pack", "--pack-destination", home, "--silent"];
  if (isSoak) {
    symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
    const name = (await run(clone, "npm", ...pack)).trim();
    rmSync(join(clone, "node_modules"));
    return join(home, name);
  }
  const installed = await installHookline();
  const name = (await run(installed.package, "npm", ...pack, "--ignore-scripts")).trim();
  installed.remove();
  return join(home, name);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const registry = await run(home, "npm", "view", "vega-datasets@3.2.1", "version", "--prefer-offline").then(
  () => true,
  () => false,
);
if (!registry) console.warn("The tutorial is not followed: npm's registry cannot be reached.");

/** Returns what the last program of the tutorial has printed. */
async function followTutorial(folder: string, source: string): Promise<string> {
  mkdirSync(join(home, folder));
  const reader = new Reader(join(home, folder));
  const port = String(await freePort());
  const page = readFileSync(join(root, "docs/tutorial.md"), "utf8");
  try {
    return await reader.follow(stepsOf(page), (commands) =>
      commands
        .replace(
          "npm install git+https://github.com/hookline/hookline.git",
          `npm install --prefer-offline --no-audit --no-fund ${source}`,
        )
        .replaceAll("8000", port),
    );
  } finally {
    await reader.close();
  }
}

const timeout = 900_000;
/** Of the last program; npm may have printed warnings before. */
const ANSWERS = /^Small 0\.\d+\nMedium 0\.\d+\nLarge 0\.\d+$/m;

test.runIf(registry)("with the packed tarball", { timeout }, async () => {
  expect(await followTutorial("tarball", await tarball())).toMatch(ANSWERS);
});

// npm installs everything that hookline is developed with: a part of `npm run soak`.
test.runIf(registry && isSoak)("with a git URL", { timeout }, async () => {
  expect(await followTutorial("git", `git+file://${clone}`)).toMatch(ANSWERS);
});
