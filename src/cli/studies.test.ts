// What `hookline studies` prints of studies on the disk.
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { onTerminal } from "../../tests/support/on-terminal.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { textWidth } from "../terminal/width.ts";
import { run } from "./studies.ts";

beforeEach(() => void vi.stubEnv("NO_COLOR", "1"));
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

function leaveStudy(dir: string): void {
  mkdirSync(dir, { recursive: true });
  cpSync("tests/tune/fixtures/study-52d9aba/journal.jsonl", `${dir}/journal.jsonl`);
}

async function printed(dir: string): Promise<{ out: string[]; said: string }> {
  const texts = { out: "", said: "" };
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((texts.out += String(text)), true));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => ((texts.said += String(text)), true));
  await run(dir, {});
  vi.restoreAllMocks();
  return { out: texts.out.trimEnd().split("\n"), said: texts.said };
}

test.each([40, 60, 80])("tables fit a terminal of %i columns", async (columns) => {
  const dir = tempDir();
  leaveStudy(`${dir}/a-study-with-a-long-name`);
  onTerminal(columns);
  for (const { out } of [await printed(dir), await printed(`${dir}/a-study-with-a-long-name`)]) {
    // Sentences beside them wrap.
    const tables = out.filter((line) => /^(?:study| trial|a-study| *\d+ )/.test(line));
    expect(tables.length).toBeGreaterThan(1);
    for (const line of tables) expect(textWidth(line)).toBeLessThan(columns);
  }
});

test("without a terminal they are whole", async () => {
  const dir = tempDir();
  leaveStudy(`${dir}/a`);
  expect((await printed(dir)).out[0]).toMatch(/^study +status +trials +of them +time +best$/);
});

test("a damaged study is named, and does not hide the others", async () => {
  const dir = tempDir();
  leaveStudy(`${dir}/a`);
  mkdirSync(`${dir}/b`);
  writeFileSync(`${dir}/b/journal.jsonl`, "");
  const { out, said } = await printed(dir);
  expect(out[1]).toMatch(/^a +killed +6 /);
  expect(said).toContain("b/journal.jsonl:1 is damaged: the file is empty. Restore the file from a copy");
});
