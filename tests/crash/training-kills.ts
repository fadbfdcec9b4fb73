// Kills a training process at random moments and starts it again, until the run is done; it must end as if nothing had
// happened. The tests do so a few times; for more: npx tsx tests/crash/training-kills.ts [kills = 200]
import { readdirSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { newFolder } from "./strace.ts";
import { compileTraining, intactCheckpoints, startTraining, train, type Training } from "./training.ts";

export interface Tally {
  readonly kills: number;
  /** Kills before the run had begun: while it started, found its checkpoint, swept. */
  readonly early: number;
  /** Kills while a checkpoint was being written. */
  readonly inSaves: number;
  readonly steps: number;
}

const hasToHold = (isTrue: boolean, what: string): void => {
  if (!isTrue) throw new Error(what);
};

/** Waits until some steps are done, by chance, or just for a while; then a little more. */
async function moment(child: Training, isEarly: boolean): Promise<void> {
  if (isEarly) return sleep(Math.random() * 700);
  const { step: from } = await child.until("starting");
  const to = from! + Math.random() * 25;
  for (let at = from!; at < to;) at = (await child.until("step")).step!;
  return sleep(Math.random() * 12);
}

/** Trains once without and once with kills, and compares. Throws when something is torn, lost or left behind. */
export async function trainWithKills(kills: number, tell: (message: string) => void = () => {}): Promise<Tally> {
  const home = newFolder();
  try {
    await compileTraining(home);
    // A kill lets some 13 steps pass, and half a dozen of them are lost.
    const steps = 80 + 12 * kills;
    const whole = (await train(home, { runs: [{ runDir: `${home}/whole` }], steps })).end!;
    const runDir = `${home}/killed`;
    const start = (): Training => startTraining(home, { runs: [{ runDir, resume: true }], steps, tellSteps: true });
    let newest = 0;
    let early = 0;
    let inSaves = 0;
    for (let kill = 1; kill <= kills; kill++) {
      const child = start();
      await moment(child, kill % 4 === 0);
      child.signal("SIGKILL");
      const { signal } = await child.exit;
      hasToHold(signal === "SIGKILL", `kill ${kill}: the child ended by itself. ${child.errors()}`);
      const begun = child.notes.find(({ note }) => note === "starting");
      if (begun) hasToHold(begun.step === newest, `kill ${kill}: it began at ${begun.step} instead of ${newest}`);
      else early++;
      if (child.notes.findLast(({ note }) => note === "saving" || note === "saved")?.note === "saving") inSaves++;

      const found = (await intactCheckpoints(runDir)).at(-1)?.step ?? 0;
      const said = child.notes.findLast(({ note }) => note === "saved")?.step ?? newest;
      hasToHold(found >= said, `kill ${kill}: step ${said} was saved, and step ${found} is the newest`);
      newest = found;
      if (kill % 20 === 0) tell(`${kill} kills, at step ${newest} of ${steps}`);
    }
    const { end } = await start().until("result");
    hasToHold(end!.resumedAt === newest, `the last one began at ${end!.resumedAt} instead of ${newest}`);
    hasToHold(end!.digest === whole.digest, `the parameters are others than those of the run without kills`);
    hasToHold(end!.warnings.length === 0, end!.warnings.join("\n"));
    const left = readdirSync(`${runDir}/checkpoints`).sort().join(", ");
    hasToHold(left === whole.checkpoints.join(", "), `there is ${left} instead of ${whole.checkpoints.join(", ")}`);
    await intactCheckpoints(runDir);
    return { kills, early, inSaves, steps };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { kills, early, inSaves, steps } = await trainWithKills(Number(process.argv[2] ?? 200), console.log);
  console.log(
    `${kills} kills in ${steps} steps, ${early} of them at the start and ${inSaves} during a save: 0 torn, 0 lost, ` +
      `the same parameters and checkpoints in the end`,
  );
}
