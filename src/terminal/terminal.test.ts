// Live lines and others' output, on a small terminal of our own.
import { EventEmitter } from "node:events";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Vt } from "../../tests/terminal/vt.ts";
import type { Write } from "./live-region.ts";
import { Terminal, terminal, type Live } from "./terminal.ts";

class FakeStream extends EventEmitter {
  readonly isTTY = true;
  readonly columns: number;
  readonly vt: Vt;
  writes = 0;

  constructor(vt: Vt) {
    super();
    this.vt = vt;
    this.columns = vt.columns;
  }

  write(chunk: string | Uint8Array, ...rest: unknown[]): boolean {
    this.writes++;
    this.vt.write(String(chunk));
    const done = rest.at(-1);
    if (typeof done === "function") done();
    return true;
  }
}

class FakeProcess extends EventEmitter {
  readonly pid = 1;
  readonly env = {};
  readonly stdout: FakeStream & { write: Write };
  readonly stderr = Object.assign(new EventEmitter(), { write: () => true });
  readonly kill = vi.fn();

  constructor(vt: Vt) {
    super();
    this.stdout = new FakeStream(vt);
  }
}

let vt: Vt;
let process: FakeProcess;
let screen: Terminal;
let lines: string[];
let live: Live;
/** Far enough apart for the live lines to come back at once. */
let now = 0;

beforeEach(() => {
  vi.spyOn(performance, "now").mockImplementation(() => (now += 20));
  vt = new Vt(20, 6);
  process = new FakeProcess(vt);
  screen = new Terminal(process);
  lines = ["one", "two"];
  live = screen.open(() => lines);
  return () => vi.restoreAllMocks();
});

const print = (text: string): boolean => process.stdout.write(text);

describe("live lines", () => {
  it("are drawn in place, however many they are, without a cursor", () => {
    expect([vt.text, vt.cursorShown]).toEqual(["one\ntwo", false]);
    lines = ["1", "2", "3"];
    live.draw();
    expect(vt.text).toBe("1\n2\n3");
    lines = ["I"];
    live.draw();
    expect(vt.text).toBe("I");
  });

  it("stay below what others print, in one write each", () => {
    const { writes } = process.stdout;
    print("hello\n");
    expect(process.stdout.writes - writes).toBe(1);
    screen.print("world\n");
    expect(vt.text).toBe("hello\nworld\none\ntwo");
  });

  it("let an unfinished line go on, also one that wraps", () => {
    print("a long");
    expect(vt.text).toBe("a long\none\ntwo");
    print(" line of more than 20 ");
    expect(vt.text).toBe("a long line of more\nthan 20\none\ntwo");
    print("columns\nnext");
    expect(vt.text).toBe("a long line of more\nthan 20 columns\nnext\none\ntwo");
    // Ours does not go on with theirs.
    screen.print("log\n");
    expect(vt.text).toBe("a long line of more\nthan 20 columns\nnext\nlog\none\ntwo");
  });

  it("leave others' output alone when they scroll with it", () => {
    for (let i = 0; i < 20; i++) print(`line ${i}\n`);
    lines = ["1", "2", "3"];
    live.draw();
    expect(vt.lines).toEqual([...Array.from({ length: 20 }, (_, i) => `line ${i}`), "1", "2", "3"]);
  });

  it("come back a moment later when others print too fast", async () => {
    now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    print("a\n");
    now = 5;
    print("b\n");
    expect(vt.text).toBe("a\nb");
    await expect.poll(() => vt.text).toBe("a\nb\none\ntwo");
  });

  it("are drawn again when the terminal changes its size", () => {
    lines = ["narrow"];
    process.stdout.emit("resize");
    expect(vt.text).toBe("narrow");
  });

  it("of several owners share the place, and each leaves its last word", () => {
    const other = screen.open(() => ["other"]);
    expect(vt.text).toBe("one\ntwo\nother");
    live.close(["done"]);
    expect(vt.text).toBe("done\nother");
    live.close(["again"]);
    live.draw();
    expect([vt.text, vt.cursorShown]).toEqual(["done\nother", false]);
    other.close();
    expect([vt.text, vt.cursorShown]).toEqual(["done", true]);
  });

  it("end below an unfinished line, and after what was held back", () => {
    const undo = screen.beforeLast(() => screen.print("held back\n"));
    print("unfinished");
    live.close(["done"]);
    undo();
    expect(vt.text).toBe("unfinished\nheld back\ndone");
  });
});

describe("the end", () => {
  const left = (): number =>
    ["SIGINT", "SIGTERM", "SIGHUP", "exit", "uncaughtExceptionMonitor"].reduce(
      (sum, event) => sum + process.listenerCount(event),
      process.stdout.listenerCount("resize"),
    );

  it("leaves nothing behind, and a next time is as the first", () => {
    expect(left()).toBe(6);
    live.close();
    expect([vt.text, vt.cursorShown, left()]).toEqual(["", true, 0]);
    expect(Object.hasOwn(process.stdout, "write")).toBe(false);
    live = screen.open(() => ["again"]);
    print("x\n");
    live.close(["over"]);
    expect([vt.text, left()]).toEqual(["x\nover", 0]);
  });

  it("of the process leaves what was drawn, and the cursor below it", () => {
    process.emit("exit");
    print("$ ");
    expect([vt.text, vt.cursorShown, left()]).toEqual(["one\ntwo\n$", true, 0]);
    live.draw();
    live.close(["too late"]);
    expect(vt.text).toBe("one\ntwo\n$");
  });

  it("is announced by whoever will tell of it", () => {
    expect(screen.isAnnounced).toBe(false);
    const undo = screen.announce();
    expect(screen.isAnnounced).toBe(true);
    undo();
    undo();
    expect(screen.isAnnounced).toBe(false);
  });
});

it("a write that fails is no event that nobody handles", () => {
  const failing = new FakeProcess(vt);
  failing.stdout.write = (_, done) => {
    (done as (error: Error) => void)(new Error("EIO"));
    return failing.stdout.emit("error", new Error("EIO"));
  };
  expect(() => new Terminal(failing).print("x")).not.toThrow();
});

it("there is one for the process, and it knows its width", () => {
  expect(terminal()).toBe(terminal());
  expect(terminal()!.columns).toBeGreaterThan(0);
});
