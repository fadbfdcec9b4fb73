// run.json: replaced as a whole, and read with care.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { runEnd, runFacts } from "../../tests/support/logger-facts.ts";
import { readRunJson, writeRunBegin, writeRunEnd } from "./run-json.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

const FACTS = runFacts({ startedAt: 5, hparams: { lr: 0.1 } });

describe("run.json", () => {
  it("says how the run ended, and is read back", () => {
    const begun = writeRunBegin(fs, dir, FACTS);
    expect(readRunJson(fs, dir)).toEqual(begun);
    const metrics = { loss: 0.5, worst: -Infinity, ["__proto__"]: 1 };
    writeRunEnd(fs, dir, begun, runEnd({ status: "error", reason: "NaN", step: 3, compileSeconds: 0.5, metrics }));
    expect(readRunJson(fs, dir)).toMatchObject({
      status: "error",
      step: 3,
      compileSeconds: 0.5,
      metrics: { loss: 0.5, worst: "-Infinity" },
    });
    expect(readdirSync(dir)).toEqual(["run.json"]);
  });

  it("follows no link where it writes", () => {
    const elsewhere = join(dir, "elsewhere");
    writeFileSync(elsewhere, "mine");
    symlinkSync(elsewhere, join(dir, "run.json"));
    symlinkSync(elsewhere, join(dir, "run.json.tmp"));
    writeRunBegin(fs, dir, FACTS);
    expect(fs.readFileSync(elsewhere, "utf8")).toBe("mine");
    expect(readRunJson(fs, dir)).toMatchObject({ id: "id-1" });
  });

  it.each(["", "{", "null", "[]", `{"schema":"other"}`])("is undefined when the file is something else: %j", (text) => {
    writeFileSync(join(dir, "run.json"), text);
    expect(readRunJson(fs, dir)).toBeUndefined();
    expect(writeRunBegin(fs, dir, { ...FACTS, resumedAt: 3 })).toMatchObject({ startedAt: 5, resumedAt: 3 });
  });

  it("says what is in the way", () => {
    expect(readRunJson(fs, dir)).toBeUndefined();
    mkdirSync(join(dir, "run.json/sub"), { recursive: true });
    expect(() => writeRunBegin(fs, dir, FACTS)).toThrow(
      /run\.json: a directory stands where the file should be \(EISDIR\)/,
    );
  });
});
