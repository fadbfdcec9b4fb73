// The files of live control: what a sender may put into the inbox, what a reader sees, and what a journal says.
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS, checkArgs, checkCommand } from "./commands.ts";
import { ControlError } from "./control-error.ts";
import { ControlInbox, type Hello } from "./inbox.ts";
import { appliedHistory, ControlJournal, type ControlLine, readJournal } from "./journal.ts";
import { readControl } from "./read-control.ts";
import { cancelCommand, sendCommand } from "./send-command.ts";
import type { Command, JournalLine } from "./types.ts";

const newDir = (): string => mkdtempSync(join(tmpdir(), "control-"));

const HELLO: Hello = {
  run: "3f9c01aa",
  part: 1_760_000_000_000,
  worldSize: 1,
  state: "running",
  step: 10,
  lr: [0.1],
  scheduledLr: [0.2],
  accumulate: 1,
  allow: Object.keys(COMMANDS),
  bounds: { lr: [0.01, 10], accumulate: [1, 1024] },
  hooks: [],
  checkpoints: true,
  evals: true,
};

function listen(dir: string, hello: Partial<Hello> = {}): { inbox: ControlInbox; warnings: string[] } {
  const warnings: string[] = [];
  const inbox = new ControlInbox(dir, (message) => warnings.push(message));
  inbox.sayHello({ ...HELLO, ...hello });
  return { inbox, warnings };
}

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof ControlError ? error.code : `no ControlError: ${String(error)}`;
};

test("a command is sent, seen, taken, and can be cancelled only until then", async () => {
  const dir = newDir();
  const { inbox } = listen(dir);
  const first = await sendCommand(dir, { verb: "setLr", args: { factor: 0.5 }, why: "plateau" });
  const second = await sendCommand(dir, { verb: "pause" });
  expect(first).toMatchObject({ v: 1, run: HELLO.run, part: HELLO.part, verb: "setLr", expires: 60, why: "plateau" });
  expect(inbox.list().map(({ command }) => command)).toEqual([first, second]);
  const { hello, listener, commands } = await readControl(dir);
  expect(hello).toMatchObject({ ...HELLO, pid: process.pid });
  expect(listener).toBe("alive");
  expect(commands.map(({ verb, state }) => [verb, state])).toEqual([
    ["pause", "waiting"],
    ["setLr", "waiting"],
  ]);
  expect(inbox.take(inbox.list()[0]!.name)).toMatch(/\.taken$/);
  expect(await cancelCommand(dir, first.id)).toBe(false);
  expect(await cancelCommand(dir, second.id)).toBe(true);
  expect(await cancelCommand(dir, second.id)).toBe(false);
  expect(inbox.list().map(({ command }) => command.id)).toEqual([first.id]);
  inbox.remove(inbox.list()[0]!.name);
  expect(readdirSync(inbox.path)).toEqual([]);
});

test("a sender learns at once what would be refused, and why", async () => {
  const dir = newDir();
  expect(await codeOf(sendCommand(dir, { verb: "pause" }))).toBe("not-controllable");
  const { inbox } = listen(dir);
  const send = (verb: string, args = {}, more = {}): Promise<string> =>
    codeOf(sendCommand(dir, { verb, args, ...more }));
  expect(await send("setLr", { lr: 0.2 * 11 })).toBe("bounds");
  expect(await send("setLr", { factor: 0.001 })).toBe("bounds");
  expect(await send("setLr", { lr: 1, factor: 2 })).toBe("bad-command");
  expect(await send("setLr", { lr: -1 })).toBe("bad-command");
  expect(await send("setAccumulate", { n: 2000 })).toBe("bounds");
  expect(await send("setAccumulate", {})).toBe("bad-command");
  expect(await send("hook", { name: "ema", enable: false })).toBe("bad-command");
  expect(await send("note", { text: "x".repeat(1001) })).toBe("bad-command");
  expect(await send("shutdown")).toBe("not-allowed");
  expect(await send("pause", {}, { part: 5 })).toBe("part-over");
  expect(await send("pause", {}, { id: "../../x" })).toBe("bad-command");
  expect(await send("pause", {}, { why: "x".repeat(20_000) })).toBe("bad-command");
  inbox.sayHello({ ...HELLO, allow: ["pause"] });
  expect(await send("stop")).toBe("not-allowed");
  inbox.sayHello({ ...HELLO, allow: ["spin"] });
  expect(await send("spin", { fast: "x".repeat(17_000) })).toBe("bad-command");
  for (let i = 0; i < 100; i++) await sendCommand(dir, { verb: "spin", args: { fast: i } });
  expect(await send("spin")).toBe("full");
  inbox.sayHello({ ...HELLO, state: "ended" });
  expect(await send("pause")).toBe("not-controllable");
  const gone = { ...JSON.parse(readFileSync(join(dir, "control/hello.json"), "utf8")), state: "running", started: "1" };
  writeFileSync(join(dir, "control/hello.json"), JSON.stringify(gone));
  expect(await send("pause")).toBe("not-controllable");
  expect((await readControl(dir)).listener).toBe("dead");
});

test("a hostile inbox is read in bounded pieces: links, directories, large and foreign files are removed", async () => {
  const dir = newDir();
  const { inbox, warnings } = listen(dir);
  const nameOf = (i: number): string => `17600000${String(i).padStart(5, "0")}-${crypto.randomUUID()}.json`;
  writeFileSync(join(dir, "secret"), "keep me");
  symlinkSync(join(dir, "secret"), join(inbox.path, nameOf(1)));
  writeFileSync(join(inbox.path, nameOf(2)), "");
  mkdirSync(join(inbox.path, nameOf(4)));
  writeFileSync(join(inbox.path, nameOf(5)), "not json");
  writeFileSync(join(inbox.path, "README"), "left alone");
  expect(inbox.list()).toEqual([]);
  expect(warnings).toEqual([expect.stringMatching(/is not a command \(it is a link\), nor are 3 others: removed/)]);
  expect(readdirSync(inbox.path)).toEqual(["README"]);
  expect(readFileSync(join(dir, "secret"), "utf8")).toBe("keep me");
  const huge = join(inbox.path, nameOf(6));
  writeFileSync(huge, "");
  truncateSync(huge, 1e9);
  expect(inbox.list()).toEqual([]);
  expect(warnings.at(-1)).toContain("1000000000 bytes");
  expect(existsSync(huge)).toBe(false);
  for (let i = 0; i < 10_000; i++) linkSync(join(dir, "secret"), join(inbox.path, nameOf(i)));
  inbox.list();
  expect(readdirSync(inbox.path).length).toBe(10_001 - 100);
});

test("the directory of control must not be a link", () => {
  const dir = newDir();
  symlinkSync(newDir(), join(dir, "control"));
  expect(() => listen(dir)).toThrow(/control is a link/);
});

const line = (id: string, step: number, more: Partial<JournalLine> = {}): JournalLine => ({
  v: 1,
  id: id.padEnd(8, "0"),
  run: HELLO.run,
  part: HELLO.part,
  verb: "eval",
  args: {},
  by: "me",
  via: "test",
  sentAt: 1,
  expires: 60,
  state: "applied",
  step,
  epoch: 0,
  time: 1,
  ...more,
});

test("a journal survives a torn line, and that of another run is put aside", async () => {
  const dir = newDir();
  const journal = new ControlJournal(dir, "run-1", 5);
  journal.append(line("a", 3));
  journal.append(line("b", 4, { state: "refused", reason: "no" }));
  journal.close();
  const path = join(dir, "control.jsonl");
  const whole = readFileSync(path, "utf8");
  writeFileSync(path, `${whole}{"v":1,"id":"c`);
  expect(readJournal(path).lines.map(({ state }) => state)).toEqual(["applied", "refused"]);
  const again = new ControlJournal(dir, "run-1", 6);
  again.append(line("d", 5));
  again.close();
  expect(readJournal(path).lines.map((each) => (each as JournalLine).id[0])).toEqual(["a", "b", "d"]);
  expect((await readControl(dir)).commands.map(({ id, state }) => [id[0], state])).toEqual([
    ["d", "applied"],
    ["b", "refused"],
    ["a", "applied"],
  ]);
  new ControlJournal(dir, "run-2", 7).close();
  expect(readJournal(path)).toEqual({ run: "run-2", lines: [] });
  expect(readJournal(join(dir, "control.1.jsonl")).run).toBe("run-1");
});

test("the history of a run that was resumed has each command once, in the order in which it was last applied", () => {
  const part = (after: string | null, replay = true): ControlLine => ({
    state: "part",
    part: 1,
    step: 0,
    after: after?.padEnd(8, "0") ?? null,
    replay,
  });
  const again = (id: string, step: number): JournalLine => line(id, step, { replayOf: id.padEnd(8, "0") });
  const history = (...lines: ControlLine[]): string =>
    appliedHistory(lines)
      .map(({ id }) => id[0])
      .join("");
  expect(history(line("a", 1), line("b", 2))).toBe("ab");
  expect(history(line("a", 1), line("r", 1, { state: "refused" }), line("b", 2))).toBe("ab");
  // Killed after b, resumed after a; killed again before b was repeated, with c sent meanwhile.
  expect(history(line("a", 1), line("b", 9), part("a"), line("c", 5))).toBe("acb");
  expect(history(line("a", 1), line("b", 9), part("a"), line("c", 5), again("b", 9))).toBe("acb");
  expect(history(line("a", 1), line("b", 9), part("a"), again("b", 9), part(null), again("a", 1))).toBe("ab");
  expect(history(line("a", 1), line("b", 9), part("a", false), line("c", 12))).toBe("ac");
  expect(history(line("a", 1), part("x"), line("c", 12))).toBe("c");
});

test("a command has one form, and unknown arguments name the nearest", () => {
  const command: Command = { ...line("a", 1) };
  expect(checkCommand(command)).toBe(command);
  for (const wrong of [null, [], { ...command, v: 2 }, { ...command, id: "a/b" }, { ...command, at: { step: 0.5 } }])
    expect(() => checkCommand(wrong)).toThrow(ControlError);
  expect(() => checkArgs("rollback", { too: "step-1" }, HELLO)).toThrow(/Did you mean `to`/);
});
