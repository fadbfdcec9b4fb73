// A random schedule of faults over one study with workers: its controller and workers are killed, stopped for three times the
// lock and continued, Redis is killed, clocks change, and a second controller comes from another PID namespace. The schedule
// depends on the seed and on the study's progress, not on the machine's speed.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Rng } from "../../src/data/random.ts";
import { startNoting, type NotingChild } from "../support/noting-child.ts";
import { compiled } from "../support/programs.ts";
import { startRedis, type RedisServer } from "../support/redis-server.ts";
import { startWorker, type TrialWorker } from "../support/trial-worker.ts";
import { checkStudy } from "./bullmq-kills.ts";

export interface SoakController {
  readonly dir: string;
  readonly redis: string;
  readonly name: string;
  readonly trials: number;
}

interface Ended {
  readonly note: "ended";
  readonly status: string;
}

const FAULTS = [
  "controller killed",
  "worker killed",
  "controller stopped",
  "worker stopped",
  "Redis killed",
  "second controller refused",
] as const;
type Fault = (typeof FAULTS)[number];

export interface SoakTally extends Readonly<Record<Fault, number>> {
  readonly trials: number;
  readonly lost: number;
  readonly resumed: number;
}

/** Seconds. */
export const SOAK_LOCK = 2;
const STUDY = "soak";
const DAY = 86_400_000;
const CONTAINER = ["--pid", "--fork", "--mount-proc", "--kill-child"];
/** Bytes of the journal between two faults, at most: a trial writes about 1.5 kB. */
const MOST_BYTES = 6000;

const hasToHold = (isTrue: boolean, what: string): void => {
  if (!isTrue) throw new Error(what);
};

export async function soakStudy(seconds: number, seed: number): Promise<SoakTally> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-soak-"));
  const soak = new StudySoak(dir, await startRedis(), new Rng(seed));
  try {
    return await soak.run(seconds);
  } finally {
    await soak.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

class StudySoak {
  readonly #dir: string;
  readonly #redis: RedisServer;
  readonly #rng: Rng;
  readonly #workers: TrialWorker[];
  readonly #tally = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>;
  #controller: NotingChild<Ended>;

  constructor(dir: string, redis: RedisServer, rng: Rng) {
    this.#dir = dir;
    this.#redis = redis;
    this.#rng = rng;
    this.#workers = [0, 1].map(() => this.#startWorker());
    this.#controller = this.#startController(1e6);
  }

  async run(seconds: number): Promise<SoakTally> {
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      await this.#progress(1 + this.#rng.int(MOST_BYTES));
      const fault = FAULTS[this.#rng.int(FAULTS.length)]!;
      await this.#cause(fault);
      this.#tally[fault]++;
    }
    this.#controller.signal("SIGTERM");
    await this.#controller.exit;
    const trials = this.#journal().filter(({ type }) => type === "suggested").length;
    this.#controller = this.#startController(trials);
    const { status } = await this.#controller.until("ended");
    hasToHold(status === "completed", `the study was ${status}`);
    return { ...this.#tally, trials, ...checkStudy(this.#dir, trials, true) };
  }

  async close(): Promise<void> {
    this.#controller.signal("SIGKILL");
    for (const worker of this.#workers) worker.signal("SIGKILL");
    await Promise.all([this.#controller.exit, ...this.#workers.map(({ exit }) => exit)]);
    await this.#redis.stop();
  }

  async #cause(fault: Fault): Promise<void> {
    const which = this.#rng.int(this.#workers.length);
    const worker = this.#workers[which]!;
    const long = 3000 * SOAK_LOCK;
    switch (fault) {
      case "controller killed":
        this.#controller.signal("SIGKILL");
        await this.#controller.exit;
        this.#controller = this.#startController(1e6);
        return;
      case "worker killed":
        worker.signal("SIGKILL");
        await worker.exit;
        this.#workers[which] = this.#startWorker();
        return;
      case "controller stopped":
        this.#controller.signal("SIGSTOP");
        await Promise.all([sleep(long), this.#secondController()]);
        this.#controller.signal("SIGCONT");
        return;
      case "worker stopped":
        worker.signal("SIGSTOP");
        await sleep(long);
        worker.signal("SIGCONT");
        return;
      case "Redis killed":
        await this.#redis.kill();
        await sleep(this.#rng.int(500));
        return this.#redis.start();
      default:
        return this.#secondController();
    }
  }

  /** In a PID namespace of its own, on the same directory and Redis. */
  async #secondController(): Promise<void> {
    const before = this.#size();
    const args = this.#controllerArgs({ dir: this.#dir, redis: this.#redis.url, name: STUDY, trials: 1e6 });
    const second = startNoting<Ended>([...CONTAINER, process.execPath, ...args], "unshare");
    const { code } = await second.exit;
    hasToHold(code === 1, `the second controller ended with ${code}: ${second.errors()}`);
    hasToHold(/another controller is at work/.test(second.errors()), second.errors());
    hasToHold(this.#size() >= before, "the second controller has shortened the journal");
  }

  /** Clocks of processes differ by up to a day, and those of the next ones by something else. */
  #startWorker(): TrialWorker {
    return startWorker(this.#redis.url, STUDY, 2, [], this.#clock());
  }

  #startController(trials: number): NotingChild<Ended> {
    const controller = { dir: this.#dir, redis: this.#redis.url, name: STUDY, trials };
    return startNoting<Ended>(
      [`CLOCK_OFFSET_MS=${this.#clock()}`, process.execPath, ...this.#controllerArgs(controller)],
      "env",
    );
  }

  #controllerArgs(controller: SoakController): string[] {
    const [clock, file] = ["clock-module", "soak-controller-child"].map((name) =>
      compiled(new URL(`./${name}.ts`, import.meta.url)),
    );
    return ["--import", clock!, file!, JSON.stringify(controller)];
  }

  #clock(): number {
    return this.#rng.int(2 * DAY) - DAY;
  }

  /** Until the journal has so many bytes more. */
  async #progress(bytes: number): Promise<void> {
    const wanted = this.#size() + bytes;
    let isOver = false as boolean;
    void this.#controller.exit.then(() => (isOver = true));
    while (this.#size() < wanted) {
      hasToHold(!isOver, `the controller has ended by itself: ${this.#controller.errors()}`);
      await sleep(5);
    }
  }

  #size(): number {
    return statSync(`${this.#dir}/journal.jsonl`, { throwIfNoEntry: false })?.size ?? 0;
  }

  #journal(): { readonly type: string }[] {
    const lines = readFileSync(`${this.#dir}/journal.jsonl`, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as { type: string });
  }
}

/** Whether this machine lets a test make PID namespaces. */
export const hasNamespaces = spawnSync("unshare", [...CONTAINER, "true"]).status === 0;
