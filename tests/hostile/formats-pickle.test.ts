// Hostile .pt files: all refused with one error class, for the right reason, at once, and nothing in them ever runs.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodePt } from "../../src/checkpoint/formats/torch/pt.ts";
import { CheckpointError } from "../../src/core/errors.ts";
import { peakOf, takesTooLong } from "./formats-measure.ts";

const python = "/usr/bin/python3";
const present = existsSync(python);
if (!present) console.warn("hostile .pt files are skipped: apt-get install python3");

const script = fileURLToPath(new URL("./formats-payloads.py", import.meta.url));
let folder = "";
let payloads: Record<string, string> = {};
const marker = () => join(folder, "MARKER");
const generate = (...more: string[]) => spawnSync(python, [script, folder, marker(), ...more], { encoding: "utf8" });
const read = (name: string): unknown => decodePt(readFileSync(join(folder, `${name}.pt`)), `${name}.pt`);

/** What is wrong with how a file is taken: one error class, the words expected, in good time. */
function problems(name: string, says: string): string[] {
  const file = readFileSync(join(folder, `${name}.pt`));
  let failure: unknown;
  const isSlow = takesTooLong(() => {
    try {
      failure = decodePt(file, `${name}.pt`);
    } catch (error) {
      failure = error;
    }
  });
  const slow = isSlow ? [`${name} takes too long`] : [];
  if (says === "") return failure instanceof Error ? [`${name} is sound: ${failure.message}`, ...slow] : slow;
  if (!(failure instanceof CheckpointError)) return [`${name} gives ${String(failure)}`, ...slow];
  const { message, file: named } = failure;
  if (named !== `${name}.pt` || !message.startsWith(`${name}.pt: `)) slow.push(`${name} is not named`);
  return says.split("|").some((words) => message.includes(words)) ? slow : [message, ...slow];
}

describe.skipIf(!present)("hostile .pt files", () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "payloads-"));
    const done = generate();
    if (done.status !== 0) throw new Error(done.stderr);
    payloads = JSON.parse(readFileSync(join(folder, "payloads.json"), "utf8")) as Record<string, string>;
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("are many, and beside them are sound ones made the same way", () => {
    const expectations = Object.values(payloads);
    expect(expectations.filter((says) => says !== "").length).toBeGreaterThanOrEqual(200);
    expect(expectations.filter((says) => says === "")).toHaveLength(4);
    expect(readdirSync(folder).filter((name) => name.endsWith(".pt"))).toHaveLength(expectations.length);
  });

  it("are refused for the right reason, in good time, and the sound ones load", () => {
    expect(Object.entries(payloads).flatMap(([name, says]) => problems(name, says))).toEqual([]);
  });

  it("take no more than twice the file's size in memory when they promise much", () => {
    for (const name of ["view-bomb", "view-bomb-in-parts", "zip-bomb", "text-4-gib", "laughs-text", "laughs-bytes"]) {
      const file = readFileSync(join(folder, `${name}.pt`));
      const peak = peakOf(() => {
        try {
          decodePt(file, name);
        } catch {
          // That it is refused is said above.
        }
      });
      // A few megabytes of garbage are no matter: these promise up to 4 GB.
      expect(peak, name).toBeLessThan(2 * file.length + 4_000_000);
    }
  });

  it("run nothing, though Python's own pickle would run them", () => {
    expect(existsSync(marker())).toBe(false);
    // The payloads work: with Python's pickle each of these leaves the marker.
    for (const name of ["call-posix.system", "call-builtins.exec", "call-subprocess.getoutput"]) {
      generate(name);
      expect(existsSync(marker()), name).toBe(true);
      rmSync(marker());
      expect(() => read(name)).toThrow(CheckpointError);
      expect(existsSync(marker()), name).toBe(false);
    }
  });
});
