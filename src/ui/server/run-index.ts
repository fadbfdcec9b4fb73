// The runs below a directory, as the list shows them. Files are read again only when they have changed; nothing else is
// kept, so the server can be killed at any time.
import { hash } from "node:crypto";
import { dirname, sep } from "node:path";
import { setImmediate } from "node:timers/promises";
import { FORMATS } from "../../runs/layout.ts";
import { directories, isLoggedRun, nameFrom, pathFrom } from "../../runs/directories.ts";
import type { RunRow, RunsAnswer } from "../wire.ts";
import { readRunRow, rowNow, type KnownRun } from "./run-row.ts";

/** A run or a study, by the id that requests name it by. */
export const idOf = (root: string, dir: string): string =>
  hash("sha256", pathFrom(root, dir).replaceAll(sep, "/")).slice(0, 12);

export interface IndexedRun {
  readonly id: string;
  readonly dir: string;
  readonly study: string | null;
  readonly known: KnownRun;
  readonly row: RunRow;
  /** The index's revision when the row changed last. */
  readonly rev: number;
}

const MOST_NAMED = 10;
/** A longer turn would keep other requests waiting. */
const TURN_MS = 10;

export class RunIndex {
  readonly #root: string;
  readonly #runs = new Map<string, IndexedRun>();
  #studies: ReadonlyMap<string, string> = new Map();
  readonly #gone = new Map<string, number>();
  #unreadable: RunsAnswer["unreadable"] = { some: [], count: 0 };
  readonly #firstRev: number = Date.now();
  #rev: number = this.#firstRev;
  #scanning: Promise<void> | undefined;
  #scannedAt = -Infinity;
  /** How long the last scan took, in milliseconds of this thread. */
  #cost = 0;

  constructor(root: string) {
    this.#root = root;
  }

  get rev(): number {
    return this.#rev;
  }

  find(id: string): IndexedRun | undefined {
    return this.#runs.get(id);
  }

  /** Directories of studies by id. */
  get studies(): ReadonlyMap<string, string> {
    return this.#studies;
  }

  /** The rows that changed after that revision; all of them for a revision of another server. */
  answer(since: number | undefined): RunsAnswer {
    const isOurs = since !== undefined && since >= this.#firstRev && since <= this.#rev;
    const after = isOurs ? since : -Infinity;
    const rows = [...this.#runs.values()].filter(({ rev }) => rev > after).map(({ row }) => row);
    const gone = isOurs ? [...this.#gone].filter(([, rev]) => rev > after).map(([id]) => id) : [];
    return { rev: this.#rev, rows, gone, unreadable: this.#unreadable };
  }

  /** Searches the directory again, unless with a `maxAge` that was done within so many milliseconds, or takes long. */
  async scan(maxAge = 0): Promise<void> {
    const age = performance.now() - this.#scannedAt;
    if (maxAge > 0 && this.#runs.size > 0 && age < Math.max(maxAge, MOST_LOAD * this.#cost)) return;
    this.#scanning ??= this.#scan().finally(() => (this.#scanning = undefined));
    await this.#scanning;
  }

  async #scan(): Promise<void> {
    const found = new Set<string>();
    let cost = 0;
    let begin = performance.now();
    const studies = new Map<string, string>();
    const unreadable: string[] = [];
    for (const directory of directories(this.#root)) {
      const { dir, files } = directory;
      if (files.has(FORMATS.journal.file)) studies.set(idOf(this.#root, dir), dir);
      if (isLoggedRun(this.#root, directory)) {
        const id = idOf(this.#root, dir);
        const parent = studies.size > 0 && dir !== this.#root ? idOf(this.#root, dirname(dir)) : "";
        if (this.#update(id, dir, studies.has(parent) ? parent : null)) found.add(id);
        else unreadable.push(nameFrom(this.#root, dir));
      }
      if (performance.now() - begin < TURN_MS) continue;
      cost += performance.now() - begin;
      await setImmediate();
      begin = performance.now();
    }
    this.#studies = studies;
    for (const id of this.#runs.keys()) if (!found.has(id)) this.#forget(id);
    const now = { some: unreadable.slice(0, MOST_NAMED), count: unreadable.length };
    if (JSON.stringify(now) !== JSON.stringify(this.#unreadable)) this.#rev++;
    this.#unreadable = now;
    this.#cost = cost + performance.now() - begin;
    this.#scannedAt = performance.now();
  }

  /** Looks at the files of the runs that are running, and of these: a few system calls for each. */
  refresh(shown: ReadonlySet<string>): void {
    for (const { id, dir, study, known } of this.#runs.values()) {
      if (known.info.status !== "running" && !shown.has(id)) continue;
      if (!this.#update(id, dir, study)) this.#forget(id);
    }
  }

  #forget(id: string): void {
    this.#runs.delete(id);
    this.#gone.set(id, ++this.#rev);
  }

  /** False when there is no run any more. */
  #update(id: string, dir: string, study: string | null): boolean {
    const before = this.#runs.get(id);
    const known = readRunRow(dir, this.#root, id, study, before?.known);
    if (known === undefined) return false;
    // A file that is just being replaced by a copy tool, say: the next look will tell.
    if (known === "unreadable") return before !== undefined;
    // The state of a run that has ended does not change with time.
    if (known === before?.known && known.info.status !== "running") return true;
    const row = rowNow(known, Date.now());
    const isSame = before !== undefined && JSON.stringify(before.row) === JSON.stringify(row);
    const rev = isSame ? before.rev : ++this.#rev;
    this.#gone.delete(id);
    this.#runs.set(id, { id, dir, study, known, row, rev });
    return true;
  }
}

/** Scans take at most a twentieth of the time. */
const MOST_LOAD = 20;
