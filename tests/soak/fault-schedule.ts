// A random schedule of faults over one run directory: each is drawn from a seed, so that a failure can be repeated.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { breakLock } from "../../src/runs/lock.ts";
import { Rng } from "../../src/data/index.ts";
import { startNoting } from "../support/noting-child.ts";
import type { Training } from "../crash/training.ts";
import type { TrainingNote, TrainingOptions } from "../crash/training-child.ts";

/** A PID namespace of its own, which ends with the command. */
const CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
/** Milliseconds. The lock itself has no timeout: this is three times as long as a process waits for a lock that vanished. */
const STOP_MS = 3 * 200;
const DAY_MS = 86_400_000;

const FAULTS = ["kill", "stop", "intruder", "takeover", "fullDisk"] as const;
type Fault = (typeof FAULTS)[number];

type Counts = Record<Fault | "attempts" | "clockChanges" | "containers" | "refused" | "fenced", number>;

/** A disk of its own that can be filled up. */
export class SmallDisk {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
    mkdirSync(dir, { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", dir]);
  }

  fill(): void {
    try {
      writeFileSync(`${this.dir}/filler`, new Uint8Array(32 << 20));
    } catch {
      // Full: that is what it is for.
    }
  }

  free(): void {
    rmSync(`${this.dir}/filler`, { force: true });
  }

  remove(): void {
    execFileSync("umount", ["--lazy", this.dir]);
  }
}

type Size = Pick<TrainingOptions, "steps" | "features">;

export class FaultSchedule {
  readonly counts: Counts = {
    attempts: 0,
    clockChanges: 0,
    containers: 0,
    refused: 0,
    fenced: 0,
    kill: 0,
    stop: 0,
    intruder: 0,
    takeover: 0,
    fullDisk: 0,
  };
  readonly #home: string;
  readonly #disk: SmallDisk;
  readonly #rng: Rng;

  constructor(home: string, disk: SmallDisk, seed: number) {
    this.#home = home;
    this.#disk = disk;
    this.#rng = new Rng(seed);
  }

  /** Trains in a directory, with faults until `isOver`, and returns how the run ended. */
  async train(runDir: string, size: Size, isOver: () => boolean): Promise<TrainingNote> {
    const options = { runs: [{ runDir, resume: true }], logs: true, ...size };
    for (let next = this.#start(options); ;) {
      const child = next;
      await child.until("running", "result", "failed").catch(() => undefined);
      let successor: Training | undefined;
      for (let faults = isOver() ? 0 : 1 + this.#rng.int(3); faults > 0 && !successor && holdsLock(runDir); faults--) {
        await sleep(this.#rng.int(400));
        const fault = FAULTS[this.#rng.int(FAULTS.length)]!;
        successor = await this.#apply(fault, child, options);
        if (fault === "kill") break;
      }
      await child.exit;
      const ended = child.notes.findLast(({ note }) => note === "result");
      if (!successor && ended?.end?.status === "completed") return ended;
      next = successor ?? this.#start(options);
    }
  }

  /** Of a takeover, the process that has the directory now. */
  async #apply(fault: Fault, child: Training, options: TrainingOptions): Promise<Training | undefined> {
    const { runDir } = options.runs[0]!;
    if (fault === "kill") child.signal("SIGKILL");
    else if (fault === "fullDisk") {
      this.#disk.fill();
      await sleep(this.#rng.int(500));
      this.#disk.free();
    } else {
      this.#signal(child, "SIGSTOP");
      // The signal takes effect a moment later. Without a lock by then, the run has just ended by itself.
      await sleep(20);
      if (!holdsLock(runDir)) {
        this.#signal(child, "SIGCONT");
        return undefined;
      }
      this.counts[fault]++;
      if (fault === "takeover") return this.#takeOver(child, options);
      if (fault === "intruder") await this.#intrude(options);
      else await sleep(STOP_MS);
      this.#signal(child, "SIGCONT");
      return undefined;
    }
    this.counts[fault]++;
    return undefined;
  }

  /** A second process must be refused as long as the first one lives, also while that is stopped. */
  async #intrude(options: TrainingOptions): Promise<void> {
    const second = this.#start(options, CONTAINER);
    const { note, error } = await second.until("failed", "starting");
    second.signal("SIGKILL");
    await second.exit;
    if (note === "starting") throw new Error("two writers: a second process was let in");
    if (!error!.message.includes("uses the directory")) throw new Error(error!.message);
    this.counts.refused++;
  }

  /** The lock of a stopped process is broken by force and taken; woken up, it must notice and write nothing more. */
  async #takeOver(child: Training, options: TrainingOptions): Promise<Training> {
    breakLock(`${options.runs[0]!.runDir}/checkpoints`);
    const second = this.#start(options);
    const { note, error } = await second.until("starting", "failed");
    if (note === "failed") throw new Error(error!.message);
    await sleep(this.#rng.int(300));
    this.#signal(child, "SIGCONT");
    await child.exit;
    const ended = child.notes.findLast((each) => each.note === "failed" || each.note === "result");
    if (ended?.note !== "failed" || !JSON.stringify(ended.error).includes("LockLostError"))
      throw new Error(`a process without its lock ended otherwise: ${JSON.stringify(ended)} ${child.errors()}`);
    this.counts.fenced++;
    return second;
  }

  /** Each has a clock of its own, up to a day early or late. */
  #start(options: TrainingOptions, around?: readonly string[]): Training {
    const inContainer = around ?? (this.#rng.int(3) === 0 ? CONTAINER : []);
    const offset = this.#rng.int(3) === 0 ? 0 : this.#rng.int(2 * DAY_MS) - DAY_MS;
    this.counts.attempts++;
    if (offset !== 0) this.counts.clockChanges++;
    if (inContainer.length > 0) this.counts.containers++;
    const clock = `data:text/javascript,const now = Date.now; Date.now = () => now() + ${offset};`;
    const program = ["--import", clock, `${this.#home}/training-child.js`, JSON.stringify(options)];
    const [command, ...args] = [...inContainer, process.execPath, ...program];
    return startNoting<TrainingNote>(args, command);
  }

  /** To the program itself, which in a container is the only child of what started it. */
  #signal({ pid }: Training, name: "SIGSTOP" | "SIGCONT"): void {
    try {
      const isContainer = readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("unshare");
      const inner = isContainer ? readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim() : String(pid);
      process.kill(Number(inner), name);
    } catch {
      // It has ended.
    }
  }
}

function holdsLock(runDir: string): boolean {
  return existsSync(`${runDir}/checkpoints/.lock`);
}
