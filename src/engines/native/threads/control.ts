// How threads tell each other what to do: a few cells of shared memory. A step is divided into as many parts as there are
// threads; the first thread publishes it, each of the others claims its own part, and the first one takes back what
// nobody has claimed by the time that it is done with its own. So a thread that is late, asleep or gone costs nothing
// but its help, and what is computed never depends on who did it.
//
// A thread that is terminated inside native code aborts the process. So no thread is terminated: each ends by itself
// when asked to stop, and marks when it is in native code, so that the end of the process can wait for that.

/** Cells of all threads. */
const WAKE = 0;
const NUMBER = 1;
const PROGRAM = 2;
const STEP = 3;
const MESSAGES = 4;
const PAGES = 5;
const SLEEPERS = 6;
const FIRST_WAITS = 7;
const STOP = 8;
/** How many threads are asked to help, the first included; counted up when that changes, or all are to hear something. */
const ASKED = 9;
const CALLS = 10;

/** Values of STOP: the thread is to free what it has and end, or (the process ends) to run no more native code. */
const CLOSING = 1;
const EXITING = 2;

/**
 * Cells of one thread: what it has claimed, what it has done, whether that failed, and whether it is in native code.
 * They have a cache line each.
 */
const LINE = 16;
const CLAIMED = 0;
const DONE = 1;
const FAILED = 2;
const IN_NATIVE = 3;

/** A thread that finds nothing to do looks for it that long before it sleeps: the next step is often near. */
const SPIN_MS = 0.2;
const LOOKS_BETWEEN_CLOCKS = 64;
/** Asleep, the first thread looks whether a part is done, or its thread is gone, after that many milliseconds. */
const NAP_MS = 20;

export interface Published {
  readonly number: number;
  readonly program: number;
  readonly step: number;
}

interface Heard {
  readonly isAsked: boolean;
  readonly count: number;
}

/** Thrown instead of running native code once the threads are to stop. */
export class Stopping extends Error {
  constructor() {
    super("the threads of the engine are stopping");
  }
}

export class Control {
  readonly cells: Int32Array;

  constructor(cells: Int32Array) {
    this.cells = cells;
  }

  static create(threads: number): Control {
    const control = new Control(new Int32Array(new SharedArrayBuffer((threads + 1) * LINE * 4)));
    control.ask(threads);
    return control;
  }

  // For the first thread.

  /** Says which step is to be done. Its number is one more than the last one's. */
  publish(program: number, step: number): number {
    const number = (Atomics.load(this.cells, NUMBER) + 1) | 0;
    Atomics.store(this.cells, PROGRAM, program);
    Atomics.store(this.cells, STEP, step);
    Atomics.store(this.cells, NUMBER, number);
    this.#wake();
    return number;
  }

  /** Says that there is a message to read. */
  announce(): void {
    Atomics.add(this.cells, MESSAGES, 1);
    this.#wakeAll();
  }

  /** From now on so many threads are to help, the first included. The others sleep: the first one does their parts. */
  ask(threads: number): void {
    if (Atomics.exchange(this.cells, ASKED, threads) !== threads) this.#wakeAll();
  }

  setPages(pages: number): void {
    Atomics.store(this.cells, PAGES, pages);
  }

  /** Waits until a thread has done its part; false when it has not after so many milliseconds of waiting. */
  awaitDone(thread: number, number: number, limit: number): boolean {
    const cell = (thread + 1) * LINE + DONE;
    if (this.#spin(() => Atomics.load(this.cells, cell) === number)) return true;
    Atomics.store(this.cells, FIRST_WAITS, 1);
    try {
      // Counted in naps, not by a clock: a process that was stopped for an hour has not waited for it.
      for (let naps = 0; naps * NAP_MS <= limit; naps++) {
        const done = Atomics.load(this.cells, cell);
        if (done === number) return true;
        Atomics.wait(this.cells, cell, done, NAP_MS);
      }
      return false;
    } finally {
      Atomics.store(this.cells, FIRST_WAITS, 0);
    }
  }

  /** Tells the threads to free what they have and to end. */
  close(): void {
    Atomics.compareExchange(this.cells, STOP, 0, CLOSING);
    this.#wakeAll();
  }

  /** The process ends: returns once no thread is in native code, or will be; false if that takes too long. */
  awaitNoNative(limit: number): boolean {
    Atomics.store(this.cells, STOP, EXITING);
    this.#wakeAll();
    let naps = 0;
    for (let cell = 2 * LINE + IN_NATIVE; cell < this.cells.length; cell += LINE) {
      while (Atomics.load(this.cells, cell) !== 0) {
        if (naps++ * NAP_MS > limit) return false;
        Atomics.wait(this.cells, cell, 1, NAP_MS);
      }
    }
    return true;
  }

  hasFailed(thread: number): boolean {
    return Atomics.load(this.cells, (thread + 1) * LINE + FAILED) !== 0;
  }

  #wake(): void {
    Atomics.add(this.cells, WAKE, 1);
    if (Atomics.load(this.cells, SLEEPERS) > 0) Atomics.notify(this.cells, WAKE);
  }

  #wakeAll(): void {
    this.#wake();
    Atomics.add(this.cells, CALLS, 1);
    Atomics.notify(this.cells, CALLS);
  }

  // For the others.

  /** Runs native code of a thread; throws `Stopping` if the threads are to stop, and the work is not part of that. */
  native<T>(thread: number, work: () => T, whileClosing = false): T {
    const cell = (thread + 1) * LINE + IN_NATIVE;
    // Set the mark before looking: the stopping side sets its flag first and then looks for the mark.
    Atomics.store(this.cells, cell, 1);
    try {
      const stop = Atomics.load(this.cells, STOP);
      if (stop === EXITING || (stop === CLOSING && !whileClosing)) throw new Stopping();
      return work();
    } finally {
      Atomics.store(this.cells, cell, 0);
      if (Atomics.load(this.cells, STOP) === EXITING) Atomics.notify(this.cells, cell);
    }
  }

  get messages(): number {
    return Atomics.load(this.cells, MESSAGES);
  }

  get pages(): number {
    return Atomics.load(this.cells, PAGES);
  }

  /** What a thread has heard so far, to wait for more than that; undefined once the threads are to stop. */
  heard(thread: number): Heard | undefined {
    // The counts are read first: what changes after that is news, and what changed before is seen below.
    const [calls, wakes] = [Atomics.load(this.cells, CALLS), Atomics.load(this.cells, WAKE)];
    if (Atomics.load(this.cells, STOP) !== 0) return undefined;
    const isAsked = thread < Atomics.load(this.cells, ASKED);
    return { isAsked, count: isAsked ? wakes : calls };
  }

  /** Returns when there is something new since then. A thread that is not asked to help leaves its core to others. */
  awaitNews({ isAsked, count }: Heard): void {
    if (!isAsked) {
      Atomics.wait(this.cells, CALLS, count);
      return;
    }
    if (this.#spin(() => Atomics.load(this.cells, WAKE) !== count)) return;
    Atomics.add(this.cells, SLEEPERS, 1);
    Atomics.wait(this.cells, WAKE, count);
    Atomics.sub(this.cells, SLEEPERS, 1);
  }

  /** May be of the past by now: only what can be claimed is to be done. */
  get published(): Published {
    const number = Atomics.load(this.cells, NUMBER);
    return { number, program: Atomics.load(this.cells, PROGRAM), step: Atomics.load(this.cells, STEP) };
  }

  reportDone(thread: number, number: number, failed: boolean): void {
    const line = (thread + 1) * LINE;
    if (failed) Atomics.store(this.cells, line + FAILED, 1);
    Atomics.store(this.cells, line + DONE, number);
    if (Atomics.load(this.cells, FIRST_WAITS) !== 0) Atomics.notify(this.cells, line + DONE);
  }

  // For all.

  /**
   * Takes a thread's part of a step. Every part of every step is taken once and in order, so a thread with an old
   * number finds that it is gone.
   */
  claim(thread: number, number: number): boolean {
    const before = (number - 1) | 0;
    return Atomics.compareExchange(this.cells, (thread + 1) * LINE + CLAIMED, before, number) === before;
  }

  #spin(isOver: () => boolean): boolean {
    const begun = performance.now();
    do {
      for (let i = 0; i < LOOKS_BETWEEN_CLOCKS; i++) if (isOver()) return true;
    } while (performance.now() - begun < SPIN_MS);
    return false;
  }
}
