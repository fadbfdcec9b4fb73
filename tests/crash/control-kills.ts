// Sends commands to a training that is killed again and again: between the journal's line and the verb, between the verb
// and the end of the command's file, during a pause, or at any moment. Each command is carried out once or not at all, and
// its line in the journal tells which.
import { mkdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Rng } from "../../src/data/index.ts";
import { readControl, sendCommand } from "../../src/runs/index.ts";
import { appliedHistory, readJournal } from "../../src/runs/control/journal.ts";
import type { JournalLine } from "../../src/runs/control/types.ts";
import { startNoting, type NotingChild } from "../support/noting-child.ts";
import { compiled } from "../support/programs.ts";
import { tempDir } from "../support/temp-dir.ts";
import type { ControlNote, TallyArgs } from "./control-child.ts";

export interface ControlKills {
  readonly kills: number;
  readonly sent: number;
  readonly applied: number;
  /** Still waiting when the process was killed: their sender learns that. */
  readonly expired: number;
  /** Applied, but not in the result; in the result twice; or in another order than the journal's. */
  readonly lost: number;
  readonly twice: number;
  readonly inOrder: boolean;
}

export const CHILD = new URL("./control-child.ts", import.meta.url);

export async function killControlled(kills: number, perKill: number): Promise<ControlKills> {
  const runDir = `${tempDir()}/run`;
  mkdirSync(runDir, { recursive: true });
  const rng = new Rng(kills);
  const ids = new Map<string, number>();
  let n = 0;
  const start = async (isFirst: boolean): Promise<NotingChild<ControlNote>> => {
    const child = startNoting<ControlNote>([compiled(CHILD), runDir]);
    // Without a checkpoint a new run would begin, with a journal of its own.
    if (isFirst) await child.until("saved");
    let isOver = false;
    void child.exit.then(() => (isOver = true));
    while ((await readControl(runDir)).hello?.pid !== child.pid) {
      if (isOver) throw new Error(`The training ended before it listened. ${child.errors()}`);
      await sleep(5);
    }
    return child;
  };
  const tally = async (args: Omit<TallyArgs, "n"> = {}): Promise<void> => {
    const { id } = await sendCommand(runDir, { verb: "tally", args: { n: ++n, ...args } });
    ids.set(id, n);
  };
  for (let kill = 0; kill < kills; kill++) {
    const child = await start(kill === 0);
    for (let i = 1; i < perKill; i++) await tally();
    const way = ["before", "after", "paused", "any"][kill % 4]!;
    if (way === "before" || way === "after") await tally({ kill: way });
    else {
      if (way === "paused") await sendCommand(runDir, { verb: "pause" }).then(() => child.until("paused"));
      await tally();
      await sleep(rng.next() * 30);
      child.signal("SIGKILL");
    }
    const { signal } = await child.exit;
    if (signal !== "SIGKILL") throw new Error(`kill ${kill} (${way}): the training ended. ${child.errors()}`);
  }
  const child = await start(kills === 0);
  // The last part repeats what the killed ones did up to here.
  const last = Math.max(...(await readControl(runDir)).commands.map(({ step = 0 }) => step));
  await sendCommand(runDir, { verb: "stop", why: "done", at: { step: last + 5 } });
  const { seen = [], status } = await child.until("result");
  if (status !== "stopped") throw new Error(`The training ${status}.`);
  const { lines } = readJournal(`${runDir}/control.jsonl`);
  const decided = lines.filter((line): line is JournalLine => line.state !== "part" && ids.has(line.id));
  const first = new Map(decided.filter(({ replayOf }) => replayOf === undefined).map((line) => [line.id, line.state]));
  const wanted = appliedHistory(lines).flatMap(({ id }) => ids.get(id) ?? []);
  const undecided = [...ids.keys()].filter((id) => !first.has(id)).length;
  return {
    kills,
    sent: ids.size,
    applied: [...first.values()].filter((state) => state === "applied").length,
    expired: [...first.values()].filter((state) => state === "expired").length,
    lost: undecided + wanted.filter((each) => !seen.includes(each)).length,
    twice: seen.length - new Set(seen).size,
    inOrder: seen.join() === wanted.join(),
  };
}
