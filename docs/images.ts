// Writes the pictures of the README: runs the demo in a terminal, and takes one of its screen and one of its curves.
// Run it with `npm run docs:images`, on a machine that has tmux and nothing else to do.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readRun } from "hookline/runs";
import { hasTmux, Screen } from "../tests/terminal/tmux.ts";
import { curveSvg } from "./lib/curve-svg.ts";
import { terminalSvg } from "./lib/terminal-svg.ts";

const COLUMNS = 96;
const beside = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

async function screenOf(dir: string): Promise<string> {
  const command = [process.execPath, "--import", "tsx", beside("../examples/mnist/train.ts")];
  const terminal = new Screen(command, { columns: COLUMNS, rows: 24, env: { INIT_CWD: dir } });
  try {
    // Late enough for a curve in the bar's sparkline.
    await terminal.until(/epoch 5\/6/, 120);
    const screen = terminal.text({ colors: true });
    await terminal.until(/\[exit 0\]/, 120);
    return screen;
  } finally {
    terminal.close();
  }
}

async function curvesOf(dir: string): Promise<string> {
  const run = await readRun(join(dir, "runs/mnist"));
  const accuracy = run.get("test/accuracy").values[0]!;
  return curveSvg(`Loss of the demo: MNIST, ${(100 * accuracy).toFixed(1)} % on the test set`, [
    { name: "training", color: "#1f6feb", ...run.get("loss") },
    { name: "validation", color: "#bc4c00", marked: true, ...run.get("val/loss") },
  ]);
}

if (!hasTmux) throw new Error("The pictures need tmux: apt-get install tmux");
const dir = mkdtempSync(join(tmpdir(), "hookline-images-"));
try {
  const pictures = {
    "demo.svg": terminalSvg(await screenOf(dir), COLUMNS, "npm run demo"),
    "loss.svg": await curvesOf(dir),
  };
  mkdirSync(beside("./images"), { recursive: true });
  for (const [name, text] of Object.entries(pictures)) writeFileSync(beside(`./images/${name}`), text);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
