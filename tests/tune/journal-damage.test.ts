// A study's journal that was damaged is refused with its file and line; one that was only torn by a crash is continued.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Hook } from "../../src/core/hook.ts";
import { readLines } from "../../src/tune/journal-format.ts";
import { openJournal, readJournal } from "../../src/tune/journal.ts";
import { StudyError } from "../../src/tune/study-errors.ts";
import { tempDir } from "../support/temp-dir.ts";
import { oldStudy } from "./old-study.ts";

const OLD = "tests/tune/fixtures/study-52d9aba/journal.jsonl";

const stopAfter = (trial: number): Hook => ({
  name: "stop",
  onTrialComplete: ({ trial: { number }, stop }) => void (number === trial && stop("enough")),
});

/** A journal with trials of every kind, and the directory it lies in. */
async function written(): Promise<{ dir: string; file: string; bytes: Buffer }> {
  const dir = tempDir();
  await oldStudy(dir, { hooks: [stopAfter(4)] }).run();
  const file = `${dir}/journal.jsonl`;
  return { dir, file, bytes: readFileSync(file) };
}

const linesOf = (bytes: Buffer): string[] => bytes.toString().trimEnd().split("\n");
const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

const MESSAGE =
  /^StudyError: Study: .*journal\.jsonl:(\d+) (?:is damaged: .*\. Restore the file from a copy|was written by a newer hookline .*\. Update hookline), or give the study another `dir`\.$/;

/** The line that the error names; its message must say what to do. */
function lineOfError(open: () => unknown): number {
  try {
    open();
  } catch (error) {
    const [, line] = MESSAGE.exec(String(error)) ?? [];
    if (error instanceof StudyError && line !== undefined) return Number(line);
    throw new Error(`another error: ${String(error)}`, { cause: error });
  }
  throw new Error("there was no error");
}

/** The same of a study with this journal, which must be left as it is. */
function damagedLine(dir: string, content: Buffer | string): number {
  const file = `${dir}/journal.jsonl`;
  writeFileSync(file, content);
  const line = lineOfError(() => openJournal(dir).close());
  expect(readFileSync(file).equals(Buffer.from(content))).toBe(true);
  return line;
}

describe("damage", () => {
  test("every byte changed is found in its line", async () => {
    const { file, bytes } = await written();
    const wrong: string[] = [];
    let line = 1;
    for (let i = 0; i < bytes.length; i++) {
      // Another digit or letter, no text, and a line break.
      for (const changed of [bytes[i]! ^ 1, 0xff, 10]) {
        if (changed === bytes[i]) continue;
        const damaged = Buffer.from(bytes);
        damaged[i] = changed;
        // Compared by hand: so many calls of expect take longer than the rest.
        const found = lineOfError(() => readLines(damaged, file));
        if (found !== line) wrong.push(`byte ${i} became ${changed}: line ${found} was named, not ${line}`);
      }
      if (bytes[i] === 10) line++;
    }
    expect(wrong).toEqual([]);
  });

  test("every line dropped, repeated, swapped or truncated is found at its place", async () => {
    const { dir, bytes } = await written();
    const lines = linesOf(bytes);
    for (const [i, line] of lines.entries()) {
      const isLast = i === lines.length - 1;
      const place = i + 1;
      if (!isLast) expect(damagedLine(dir, textOf(lines.toSpliced(i, 1)))).toBe(place);
      expect(damagedLine(dir, textOf(lines.toSpliced(i, 0, line)))).toBe(place + 1);
      if (!isLast) expect(damagedLine(dir, textOf(lines.toSpliced(i, 2, lines[i + 1]!, line)))).toBe(place);
      for (const length of [0, 1, line.length >> 1, line.length - 1])
        expect(damagedLine(dir, textOf(lines.with(i, line.slice(0, length))))).toBe(place);
    }
  });

  test("an empty file, another format, a foreign line and lines of another study", async () => {
    const { dir, bytes } = await written();
    const lines = linesOf(bytes);
    expect(damagedLine(dir, "")).toBe(1);
    expect(damagedLine(dir, "\n")).toBe(1);
    expect(damagedLine(dir, Buffer.from([0, 1, 2, 3, 255, 254]))).toBe(1);
    expect(damagedLine(dir, Buffer.from("\u{feff}hello\nworld\n", "utf16le"))).toBe(1);
    expect(damagedLine(dir, Buffer.concat([bytes, Buffer.from([0, 1, 2])]))).toBe(lines.length + 1);
    expect(damagedLine(dir, textOf([...lines, '{"step":1,"loss":0.5}']))).toBe(lines.length + 1);
    expect(damagedLine(dir, textOf([...lines, "null"]))).toBe(lines.length + 1);
    const other = linesOf((await written()).bytes);
    expect(damagedLine(dir, textOf(lines.with(5, other[5]!)))).toBe(6);
    expect(damagedLine(dir, textOf([...lines, other.at(-1)!]))).toBe(lines.length + 1);
    expect(damagedLine(dir, textOf([lines[0]!.replace('"version":2', '"version":3').replace(/,"crc".*/, "}")]))).toBe(
      1,
    );
  });

  test("a journal that is a link to nothing or a pipe is refused; one that is gone, too, where trials are", async () => {
    const { dir, file } = await written();
    renameSync(file, `${dir}/aside`);
    expect(() => oldStudy(dir).ask()).toThrow(
      `${dir}/trial-000 exists, but ${file} does not know this trial: the journal, or the end of it, is missing. Restore it`,
    );
    symlinkSync(`${dir}/nothing`, file);
    expect(() => openJournal(dir)).toThrow(`${file} is a link that leads to no file. Restore`);
    rmSync(file);
    expect(spawnSync("bash", ["-c", 'mkfifo "$0"', file]).status).toBe(0);
    expect(() => openJournal(dir)).toThrow(`${file} is not a file. Restore`);
  });

  test("lines missing at the end are found where their trials have directories", async () => {
    const { dir, file, bytes } = await written();
    const lines = linesOf(bytes);
    const last = lines.findLastIndex((line) => line.includes('"suggested"'));
    writeFileSync(file, textOf(lines.slice(0, last)));
    expect(() => oldStudy(dir).ask()).toThrow(`${dir}/trial-004 exists, but ${file} does not know this trial`);
  });
});

test("a controller whose lock another one has taken writes nothing more", () => {
  const dir = tempDir();
  const [first, second] = [oldStudy(dir), oldStudy(dir)];
  expect(first.ask()!.number).toBe(0);
  // Somebody has unlocked the directory by hand.
  rmSync(`${dir}/.lock`);
  expect(second.ask()!.number).toBe(0);
  const before = readFileSync(`${dir}/journal.jsonl`, "utf8");
  expect(() => first.tell(0, { loss: 1 })).toThrow(/lock/);
  expect(readFileSync(`${dir}/journal.jsonl`, "utf8")).toBe(before);
  second.tell(0, { loss: 2 });
  second.close();
  expect(readJournal(dir).filter(({ type }) => type === "completed")).toMatchObject([{ result: { loss: 2 } }]);
});

describe("a crash", () => {
  test("cut anywhere in its last line, or followed by zeros, a journal is repaired and continued", async () => {
    const { dir, file, bytes } = await written();
    const lines = linesOf(bytes);
    const start = bytes.lastIndexOf(10, bytes.length - 2) + 1;
    for (let end = start; end < bytes.length; end++) {
      for (const zeros of [0, 7]) {
        writeFileSync(file, Buffer.concat([bytes.subarray(0, end), Buffer.alloc(zeros)]));
        expect(readJournal(dir)).toHaveLength(lines.length - 1);
        const journal = openJournal(dir);
        expect(journal.lines).toHaveLength(lines.length - 1);
        journal.append({ type: "ended", status: "stopped", reason: "once more", at: 1 });
        journal.close();
        expect(readJournal(dir).at(-1)).toMatchObject({ reason: "once more" });
      }
    }
  });

  test("what a crash left of a new journal is replaced", () => {
    const dir = tempDir();
    mkdirSync(dir, { recursive: true });
    writeFileSync(`${dir}/journal.jsonl.new`, '{"type":"stu');
    expect(oldStudy(dir).ask()!.number).toBe(0);
    expect(readJournal(dir)).toHaveLength(3);
  });

  test("a line that could not be written whole does not stand before the next one", () => {
    const dir = tempDir();
    const child = spawnSync(
      "bash",
      ["-c", `ulimit -f 1; exec "$0" --import tsx tests/tune/full-journal-child.ts "$1"`, process.execPath, dir],
      { encoding: "utf8" },
    );
    expect(child.stderr).toBe("");
    expect(JSON.parse(child.stdout)).toEqual({ refused: true });
    expect(readJournal(dir).at(-1)).toMatchObject({ type: "ended", reason: "short" });
  });
});

describe("a journal of commit 52d9aba", () => {
  const oldCopy = (): { dir: string; file: string; bytes: Buffer } => {
    const dir = tempDir();
    mkdirSync(dir, { recursive: true });
    const file = `${dir}/journal.jsonl`;
    cpSync(OLD, file);
    return { dir, file, bytes: readFileSync(file) };
  };

  test("is continued, with checksums from there on, as if it had never been interrupted", async () => {
    const { dir, file, bytes } = oldCopy();
    const { status, trials } = await oldStudy(dir).run();
    const whole = await oldStudy(tempDir()).run();
    expect(status).toBe("completed");
    const facts = (all: typeof trials) => all.map((each) => [each.status, each.params, each.result, each.stash]);
    expect(facts(trials)).toEqual(facts(whole.trials));
    expect(trials[5]!.attempts).toBe(2);
    const now = readFileSync(file);
    expect(now.subarray(0, bytes.length).equals(bytes)).toBe(true);
    const added = linesOf(now.subarray(bytes.length));
    expect(added.length).toBeGreaterThan(5);
    for (const line of added) expect(line).toMatch(/,"crc":"[0-9a-f]{8}"\}$/);
    expect((await oldStudy(dir).run()).trials).toEqual(trials);
    // Its old lines are covered by the first checksum.
    const first = linesOf(bytes).length + 1;
    expect(damagedLine(dir, now.toString().replace("0.1607948956079781", "0.1607948956079782"))).toBe(first);
    expect(damagedLine(dir, textOf(linesOf(now).toSpliced(4, 1)))).toBe(first - 1);
  });

  test("is refused where a line is none, or its header is missing", () => {
    const { dir, bytes } = oldCopy();
    const lines = linesOf(bytes);
    expect(damagedLine(dir, textOf(lines.slice(1)))).toBe(1);
    expect(damagedLine(dir, textOf(lines.toSpliced(1, 1)))).toBe(2);
    expect(damagedLine(dir, textOf(lines.toSpliced(3, 0, lines[0]!)))).toBe(4);
    expect(damagedLine(dir, textOf(lines.toSpliced(3, 0, '{"type":"report","trial":0,"at":1}')))).toBe(4);
    expect(damagedLine(dir, textOf(lines.toSpliced(3, 0, '{"hello":1}')))).toBe(4);
    expect(damagedLine(dir, textOf([lines[0]!.replace('"version":1', '"version":3'), ...lines.slice(1)]))).toBe(1);
  });

  test("torn in its last line, is repaired", () => {
    const { dir, file, bytes } = oldCopy();
    truncateSync(file, bytes.length - 9);
    expect(oldStudy(dir).ask()!.number).toBe(5);
  });
});
