// Kills a saving process at random moments and looks at what is left: npx tsx tests/crash/random-kills.ts [kills = 1000]
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { filesOf, newDisk } from "./scenario.ts";
import { compile, newFolder } from "./strace.ts";

const kills = Number(process.argv[2] ?? 1000);
const home = newFolder();
const root = `${home}/checkpoints`;
await compile(home, "tests/crash/loop-child.ts", "src/checkpoint/stores/disk-worker.ts");

/** Runs the child until a random moment after it has opened the store; returns the last step that it said was saved. */
async function runAndKill(): Promise<number> {
  const child = spawn(process.execPath, [`${home}/loop-child.js`, root], { stdio: ["ignore", "pipe", "inherit"] });
  let saved = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [word, step] = line.split(" ");
    saved = Number(step);
    if (word === "open") setTimeout(() => child.kill("SIGKILL"), Math.random() * 60);
  });
  const signal = await new Promise((resolve) => child.on("close", (_, signal) => resolve(signal)));
  if (signal !== "SIGKILL") throw new Error("The child ended by itself: see its error above.");
  return saved;
}

let saves = 0;
for (let kill = 1; kill <= kills; kill++) {
  const saved = await runAndKill();
  if (saved === 0) continue;
  const { checkpoint, files, skipped } = newDisk(root).load();
  const isWhole = Object.entries(filesOf(checkpoint.step, 60_000)).every(
    ([file, bytes]) => Buffer.compare(bytes, files[file]!) === 0,
  );
  if (skipped.length > 0 || !isWhole) throw new Error(`Kill ${kill}: torn: ${JSON.stringify(skipped)}`);
  if (checkpoint.step < saved) throw new Error(`Kill ${kill}: step ${saved} was saved and is lost`);
  saves = checkpoint.step;
  if (kill % 100 === 0) console.log(`${kill} kills, ${saves} saves`);
}
rmSync(home, { recursive: true, force: true });
console.log(`${kills} kills during ${saves} saves: 0 torn, 0 lost`);
